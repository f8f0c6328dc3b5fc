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
import redis

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


@contextmanager
def redis_cluster(folder: Path, nodes: int = 3) -> Iterator[str]:
    """Start a Redis Cluster of so many primaries; yield its URL. Skips where there is no redis-server."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("needs redis-server (Debian: apt-get install redis-server)")
    processes, clients = [], []
    try:
        for node in range(nodes):
            port = free_port()
            (folder / f"node-{node}").mkdir()
            command = [
                program,
                "--port",
                str(port),
                "--bind",
                "127.0.0.1",
                "--dir",
                str(folder / f"node-{node}"),
            ]
            command += [
                "--cluster-enabled",
                "yes",
                "--cluster-port",
                str(free_port()),
                "--requirepass",
                TOKEN,
            ]
            command += ["--masterauth", TOKEN, "--appendonly", "yes", "--appendfsync", "always", "--save", ""]
            command += ["--maxmemory-policy", "noeviction"]
            processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            clients.append(redis.Redis(port=port, password=TOKEN))
        for client in clients:
            wait_for(lambda client=client: answers_ping(client))
        _join(clients)
        yield f"redis+cluster://:{TOKEN}@127.0.0.1:{clients[0].connection_pool.connection_kwargs['port']}"
    finally:
        for client in clients:
            client.close()
        for process in processes:
            stop(process)


def _join(clients: Sequence[redis.Redis]) -> None:
    """Make one cluster of servers, each with an equal share of the slots."""
    for place, client in enumerate(clients):
        first, last = (16384 * each // len(clients) for each in (place, place + 1))
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last - 1)
        where = client.connection_pool.connection_kwargs["port"]
        bus = client.config_get("cluster-port")["cluster-port"]
        clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", where, bus)
    for client in clients:
        wait_for(lambda client=client: b"cluster_state:ok" in client.execute_command("CLUSTER", "INFO"))
        wait_for(lambda client=client: len(client.execute_command("CLUSTER", "SHARDS")) == len(clients))


def free_port() -> int:
    """Return a port that nobody listens on just now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def answers_ping(client: redis.Redis) -> bool:
    with suppress(redis.RedisError):
        return bool(client.ping())
    return False


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
