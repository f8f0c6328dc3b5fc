"""Fixtures of all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import ldp_client

if TYPE_CHECKING:
    from flask.testing import FlaskClient
    from playwright.sync_api import Browser

    from encoders.survey import Plan
    from ldp_aggregator.snapshot import Snapshot
    from ldp_aggregator.stores import MemoryStore
    from tests.support.servers import ClusterNode

# Test processes run side by side, one for each core: more threads for linear algebra only make them wait.
# The libraries read these variables when numpy is imported.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# Temporary folders are in memory if it has room for them. On a disk each commit of a store, a journal or a
# ledger waits, and no test cuts the power.
with suppress(OSError):
    _memory = os.statvfs("/dev/shm")
    if _memory.f_bavail * _memory.f_frsize > 1 << 30 and not _memory.f_flag & os.ST_NOEXEC:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/dev/shm")

pytest_plugins = ["ldp_client.testing"]

_STATISTICAL: set[Path] = set()
"""The files with tests of `make test-statistics`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that accepts changed texts."""
    parser.addoption("--golden", action="store_true", help="write the golden files instead of comparing")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Check that `make test-statistics` finds each of its tests: it collects the files with these words."""
    if item.get_closest_marker("statistics") and item.path not in _STATISTICAL:
        text = item.path.read_text("utf-8")
        if "small_and_full" not in text and "mark.statistics" not in text:
            raise pytest.UsageError(f"{item.nodeid} is not among the files of `make test-statistics`")
        _STATISTICAL.add(item.path)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let each worker, which gets a part of the list, begin with files that have slow tests.

    The last tests, for which all workers wait, are short then. Every other worker takes the slow files from
    the end: some wait for browsers while others compute.
    """
    if hasattr(config, "workerinput"):
        workers = config.workerinput["workercount"]
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        files = sorted(dict.fromkeys(item.path for item in items), key=lambda path: path not in slow)
        order = {}
        for at, path in enumerate(files):
            worker = at % workers
            order[path] = worker, path not in slow, at * (-1) ** worker
        items.sort(key=lambda item: order[item.path])


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Exclude the tests from garbage collection, which would visit all of them each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def compare_with_golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return a function that compares a text with the file golden/NAME.txt beside the test."""

    def compare(name: str, text: str) -> None:
        file = request.path.parent / "golden" / f"{name}.txt"
        if request.config.getoption("--golden"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, "utf-8")
        assert text == file.read_text("utf-8"), "after reading the difference, accept it with --golden"

    return compare


@pytest.fixture(autouse=True)
def close_clients_after_the_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close the clients of each test, whose threads would send and log during later tests.

    `monkeypatch` is used so that it is undone later: until a client is closed, it sees what its test changed.
    """
    from tests.support.open_clients import close_clients

    monkeypatch.setattr(ldp_client, "_client", None)
    yield
    close_clients()


@pytest.fixture(autouse=True)
def patient_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `flush` and `close` wait for longer than on a device: a busy machine may be slow to send."""
    monkeypatch.setattr("ldp_client.client.Client.flush.__defaults__", (120.0,))
    monkeypatch.setattr("ldp_client.client.Client.close.__defaults__", (60.0,))


@pytest.fixture(autouse=True)
def unsynced_journals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out fsync of journals in the test's own process: it takes time, and no test cuts the power."""
    monkeypatch.setattr("ldp_client.journal.file._SYNCHRONOUS", "OFF")


@pytest.fixture(scope="session")
def plan() -> Plan:
    """Return the plan of the small survey of :func:`tests.support.surveys.survey_toml`."""
    from tests.support.surveys import make_plan

    return make_plan()


@pytest.fixture(scope="session")
def snapshot(plan: Plan) -> Snapshot:
    """Return 2,000 simulated reports of the small survey."""
    from tests.support.snapshots import make_snapshot  # late: numpy is not imported yet

    return make_snapshot(plan)


@pytest.fixture
def model(snapshot: Snapshot, tmp_path: Path) -> Path:
    """Return the file of a model trained on `snapshot`."""
    from tests.support.snapshots import train_model

    return train_model(tmp_path / "model.json", snapshot)


@pytest.fixture
def store(plan: Plan) -> MemoryStore:
    """Return a store in memory with the survey of `plan`."""
    from ldp_aggregator.stores import MemoryStore

    store = MemoryStore()
    store.publish(plan.id, plan.json)
    return store


@pytest.fixture
def collector_client(store: MemoryStore) -> FlaskClient:
    """Return a client of the collector's application, without HTTP, over `store`."""
    from ldp_aggregator.collector import create_app
    from ldp_aggregator.collector.settings import CollectorSettings

    return create_app(CollectorSettings(operator_token="the-token", max_body=50_000), store).test_client()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the directory of benchmark CSVs that LDP_DATA names, or skip the test."""
    directory = Path(os.environ.get("LDP_DATA", ""))
    if not os.environ.get("LDP_DATA") or not directory.is_dir():
        pytest.skip("set LDP_DATA to a directory of benchmark CSVs")
    return directory


@pytest.fixture(scope="session")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[ClusterNode]]:
    """Start one Redis Cluster for all tests: after its start a cluster serves nothing for two seconds."""
    from tests.support.servers import redis_nodes  # late: not every environment has redis-py

    with redis_nodes(tmp_path_factory.mktemp("cluster")) as nodes:
        yield nodes


@pytest.fixture
def cluster_nodes(shared_cluster: Sequence[ClusterNode]) -> Iterator[Sequence[ClusterNode]]:
    """Return the primaries of an empty Redis Cluster, with strong settings and new statistics."""
    from tests.support.servers import emptied

    with emptied(shared_cluster) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Start Chromium. Until it ends, no other test of this thread can run an event loop of asyncio."""
    from tests.support.browser import open_chromium

    with open_chromium() as browser:
        yield browser
