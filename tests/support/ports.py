"""The clients in other languages, in `clients/`, behind programs with one interface for all of them."""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from benchmarks.port_client import ADAPTERS, CLIENTS
from tests.support.java import require_java_client
from tests.support.javascript import find_node


class Port(NamedTuple):
    """A client in another language."""

    name: str
    """Of its folder."""
    require: Callable[[], object]
    """Skips the test unless the client can be run."""
    previews: Sequence[str]
    """Prints the previews of all cases in files of vectors."""

    @contextmanager
    def serve_adapter(self) -> Iterator[str]:
        """Serve the adapter, and return its URL."""
        self.require()
        command = [*ADAPTERS[self.name], "--port", "0"]
        with subprocess.Popen(command, cwd=CLIENTS / self.name, stdout=subprocess.PIPE, text=True) as served:
            assert served.stdout is not None
            try:
                yield served.stdout.readline().strip()
            finally:
                served.terminate()

    def run(self, command: Sequence[str], *arguments: str) -> str:
        """Run a program of the client, and return its output; fail if it fails."""
        self.require()
        run = subprocess.run(
            [*command, *arguments], cwd=CLIENTS / self.name, capture_output=True, text=True, timeout=300
        )
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout


PORTS = [
    pytest.param(Port("javascript", find_node, ("node", "tests/previews.js")), id="javascript"),
    pytest.param(
        Port("java", require_java_client, (*ADAPTERS["java"][:-1], "ldpbayes.Previews")),
        id="java",
        marks=pytest.mark.clients,
    ),
]
