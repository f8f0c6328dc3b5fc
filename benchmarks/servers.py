"""Servers for benchmarks.collector: Redis, and our collector with and without a store.

`python -m benchmarks.servers STORE` serves the survey below on a store's URL, or on "none": the same
application decodes, checks and responds, but keeps nothing. `uncounted` after it switches the counts of
requests off.
"""

from __future__ import annotations

import functools
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from flask import Flask

from encoders.survey import Plan, read_survey
from ldp_aggregator.collector import create_app
from ldp_aggregator.collector.serving.server import serve
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.collector.startup import PublishedSurveys
from ldp_aggregator.snapshot import counter_names
from ldp_aggregator.stores import Batch, MarksById, MemoryStore, Store, StorePolicy, open_store

SIZES = (2, 3, 4, 8, 16, 32)
"""Numbers of values of the survey's features; each is asked with a label of two classes."""

_HEAD = '[survey]\nid = "bench"\nepsilon = 1.0\n[label]\nname = "label"\nvalues = ["yes", "no"]\n'


@functools.cache
def survey() -> Plan:
    """Return the plan that all servers serve."""
    features = [f"[features.f{size}]\nvalues = {[str(value) for value in range(size)]}\n" for size in SIZES]
    return read_survey(_HEAD + "".join(features)).compile()


class NoStore(MemoryStore):
    """A store that keeps a survey's plan and no reports."""

    def record(self, batches: Sequence[Batch]) -> list[MarksById]:
        return [{} for _ in batches]


@contextmanager
def redis_server() -> Iterator[str]:
    """Run a Redis that syncs every write before it responds, and yield its URL."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "redis.sock")
        options = {"--port": "0", "--unixsocket": str(path), "--dir": directory, "--logfile": "redis.log"}
        options |= {"--appendonly": "yes", "--appendfsync": "always", "--save": ""}
        with _running(["redis-server", *(word for option in options.items() for word in option)]):
            while not path.exists():
                time.sleep(0.01)
            yield f"unix://{path}"


@contextmanager
def redis_cluster(nodes: int) -> Iterator[str]:
    """Run a Redis Cluster of primaries that sync every write before they respond, and yield its URL."""
    with ExitStack() as stack:
        ports = [free_port() for _ in range(nodes)]
        for port in ports:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            options = {
                "--port": str(port),
                "--bind": "127.0.0.1",
                "--dir": folder,
                "--cluster-enabled": "yes",
            }
            options |= {"--cluster-port": str(free_port()), "--appendonly": "yes", "--appendfsync": "always"}
            stack.enter_context(
                _running(["redis-server", *(word for item in options.items() for word in item)])
            )
        addresses = [f"127.0.0.1:{port}" for port in ports]
        for port in ports:
            _until_responds(port, "PING", b"PONG")
        subprocess.run(
            ["redis-cli", "--cluster", "create", *addresses, "--cluster-yes"], check=True, capture_output=True
        )
        for port in ports:
            _until_responds(port, "CLUSTER INFO", b"cluster_state:ok")
        yield f"redis+cluster://{addresses[0]}"


def free_port() -> int:
    """Return a port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _until_responds(port: int, command: str, expected: bytes) -> None:
    """Repeat a command until the response of the Redis server contains the expected bytes."""
    words = ["redis-cli", "-p", str(port), *command.split()]
    while expected not in subprocess.run(words, check=False, capture_output=True).stdout:
        time.sleep(0.05)


@contextmanager
def sqlite_file() -> Iterator[str]:
    """Yield the URL of a new SQLite store."""
    with tempfile.TemporaryDirectory() as directory:
        yield f"sqlite:///{directory}/ldp.db"


@contextmanager
def collector(store: str, *options: str) -> Iterator[str]:
    """Run the collector on a store with one worker, and yield the URL for its survey's reports."""
    with _running([sys.executable, "-m", "benchmarks.servers", store, *options]) as server:
        assert server.stdout is not None
        yield f"{server.stdout.readline().strip()}/v1/surveys/{survey().id}/reports"


@contextmanager
def _running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    # without the collector's log, which would mix with the table's lines
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


def _open(url: str) -> Store:
    store = NoStore() if url == "none" else open_store(url)
    # as a collector does: from now on the settings are read at every acknowledgement
    store.check_durability(StorePolicy())
    store.publish(survey().id, survey().json, counter_names(survey()))
    return store


class BenchmarkSurveys(PublishedSurveys):
    """Published surveys on a store that may be "none"."""

    def make_app(self) -> Flask:
        return create_app(self.settings, _open(self.settings.store))


class UncountedSurveys(BenchmarkSurveys):
    """Published surveys whose requests are not counted."""

    def make_app(self) -> Flask:
        app = super().make_app()
        app.wsgi_app = Flask.wsgi_app.__get__(app)  # type: ignore[method-assign]
        return app


def main(store: str, option: str = "") -> None:
    settings = CollectorSettings(store=store, bind="127.0.0.1:0", workers=1, threads=16)
    kind = UncountedSurveys if option == "uncounted" else BenchmarkSurveys
    published = kind(settings=settings, plans=[survey()], signatures={}, guarantee="")
    serve(published, lambda: published, lambda addresses: print(addresses[0], flush=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
