"""Several processes, or a Dask cluster, give the totals, rejections and warnings of one process."""

import gzip
import os
import signal
import sys
import time
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection

import pytest

from benchmarks.synthetic_archives import make_reports
from encoders.survey import Plan
from ldp_aggregator.reports.archives import ArchiveError
from ldp_aggregator.reports.archives.parts import open_workers
from tests.ldp_aggregator.reports.archives.test_equality import body
from tests.support.servers import wait_for


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        yield cluster.scheduler_address


def bodies(plan: Plan) -> list[bytes]:
    """Return archives with everything that can be wrong, one of them compressed, and the last one cut."""
    pieces = body(plan, 1, count=400)
    whole = [b"".join(pieces[part::5]) for part in range(5)]
    return [*whole, gzip.compress(whole[0] + whole[3]), b"".join(make_reports(plan, 9, seed=5))[:-5]]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["here", "cluster"])
def test_the_totals_are_those_of_one_process(plan, read, narrow, request, where):
    workers = request.getfixturevalue("scheduler") if where == "cluster" else 2
    narrow(1 << 20, section=2000)
    messages, other_messages = [], []
    alone = read(plan, *bodies(plan), warn=messages.append)
    together = read(plan, *bodies(plan), warn=other_messages.append, workers=workers)
    assert together.to_json() == alone.to_json()
    assert {"id-reused", "malformed", "incomplete-body", "wrong-plan"} <= together.rejections.keys()
    assert other_messages == messages
    assert len(messages) == 1


@pytest.mark.slow
def test_an_error_of_a_worker_names_the_file(plan, read, scheduler):
    good = b"".join(make_reports(plan, 9))
    with pytest.raises(ArchiveError, match="archive-1: is neither a snapshot nor an archive of reports"):
        read(plan, good, b"no reports", good, workers=scheduler)


@pytest.mark.slow
def test_an_unreachable_cluster_is_named(plan, read, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("ldp_aggregator.reports.archives.parts._TIMEOUT_SECONDS", 0.2)
    with pytest.raises(ArchiveError, match=r"Dask cluster tcp://127.0.0.1:9 cannot be reached"):
        read(plan, make_reports(plan, 1)[0], workers="tcp://127.0.0.1:9")


def test_without_dask_the_extra_is_named(plan, read, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ArchiveError, match=r"pip install 'ldp-bayes\[dask\]'"):
        read(plan, make_reports(plan, 1)[0], workers="tcp://127.0.0.1:9")


@pytest.mark.slow
def test_a_worker_that_is_killed_is_an_error():
    with pytest.raises(ArchiveError, match="was killed: each needs 300 MB"), open_workers(2) as run:
        list(run(os._exit, [1]))


def work_for_long(connection: Connection) -> None:
    with open_workers(2) as run:
        connection.send(next(run(_process, [0])))
        list(run(time.sleep, [60] * 9))


def _process(_: int) -> int:
    return os.getpid()


@pytest.mark.slow
def test_no_worker_outlives_its_parent():
    ours, theirs = get_context("spawn").Pipe()
    parent = get_context("spawn").Process(target=work_for_long, args=(theirs,))
    parent.start()
    worker = ours.recv()
    assert parent.pid
    os.kill(parent.pid, signal.SIGKILL)
    parent.join()
    wait_for(lambda: not is_running(worker))


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
