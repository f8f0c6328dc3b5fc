"""Real servers for tests: each on a free port or socket of its own, stopped by whoever started it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

TOKEN = "operator-token-of-the-tests"
_PATIENCE = 30.0


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """Start a redis-server on a Unix socket; yield its URL. Skips where there is no redis-server."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("needs redis-server (Debian: apt-get install redis-server)")
    place = folder / "redis.sock"
    command = [program, "--port", "0", "--unixsocket", str(place), "--dir", str(folder), "--save", ""]
    command += ["--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: answers(place))
        yield f"unix://{place}"
    finally:
        stop(process)


def answers(path: Path) -> bool:
    """Tell whether a server listens on a Unix socket; the file alone is there a moment earlier."""
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(str(path)) == 0


@contextmanager
def collector(
    surveys: Sequence[Path], store: str, *, workers: int = 2, token: str | None = TOKEN
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start ldp-collector on a free port; yield its base URL and its process."""
    command = [str(Path(sys.executable).parent / "ldp-collector"), "serve", *map(str, surveys)]
    command += ["--store", store, "--bind", "127.0.0.1:0", "--workers", str(workers)]
    environment = {name: value for name, value in os.environ.items() if name != "LDP_OPERATOR_TOKEN"}
    if token:
        environment["LDP_OPERATOR_TOKEN"] = token
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        seen = ""
        for line in process.stdout or ():
            seen += line
            if match := re.search(r"(http://[\d.:]+)/v1/surveys/", line):
                break
        else:
            raise AssertionError(f"the collector did not start:\n{seen}")
        yield match[1], process
    finally:
        stop(process)


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """Return the process ids of a collector's workers (Linux only)."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        pytest.skip("needs Linux's /proc to find the workers")
    return [int(child) for child in children.read_text().split()]


def stop(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    """End a process, politely at first."""
    process.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(10)
    process.kill()
    process.wait()
    if process.stdout:
        process.stdout.close()


def wait_for(condition: object) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + _PATIENCE
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
