"""Run the command lines of the shipped files."""

import http.client
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.servers import free_port, inherited_environment, stop


@contextmanager
def started(command: Sequence[str], environment: dict[str, str]) -> Iterator[int]:
    """Run a shipped command line with a local program, survey and port; yield the port."""
    port = free_port()
    program = str(Path(sys.executable).parent / "ldp-collector")
    words = [program, *command]
    words[words.index("--bind") + 1] = f"127.0.0.1:{port}"
    process = subprocess.Popen(
        words, env=inherited_environment() | environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert "/v1/surveys/sleep" in (process.stdout.readline() if process.stdout else "")
        yield port
    finally:
        stop(process)


def request_status(port: int, page: str, token: str = "") -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", page, headers={"Authorization": f"Bearer {token}"} if token else {})
        return connection.getresponse().status
    finally:
        connection.close()


def is_ready(port: int) -> bool:
    return request_status(port, "/readyz") == 200
