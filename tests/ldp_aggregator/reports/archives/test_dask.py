"""On a Dask cluster totals and rejections equal those of one process."""

import gzip
import sys
from collections.abc import Iterator

import pytest

from benchmarks.synthetic_archives import make_reports
from ldp_aggregator.reports.archives import ArchiveError
from tests.ldp_aggregator.reports.archives.test_equality import body


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.slow
def test_the_totals_are_those_of_one_process(plan, read, scheduler):
    pieces, messages, cluster_messages = body(plan, 1, count=400), [], []
    bodies = [b"".join(pieces[part::5]) for part in range(5)]
    bodies += [gzip.compress(bodies[0] + bodies[3]), b"".join(make_reports(plan, 9, seed=5))[:-5]]
    here = read(plan, *bodies, warn=messages.append)
    there = read(plan, *bodies, warn=cluster_messages.append, scheduler=scheduler)
    assert there.to_json() == here.to_json()
    assert {"id-reused", "malformed", "incomplete-body", "wrong-plan"} <= there.rejections.keys()
    assert cluster_messages == messages
    assert len(cluster_messages) == 1


@pytest.mark.slow
def test_an_error_of_a_worker_names_the_file(plan, read, scheduler):
    good = b"".join(make_reports(plan, 9))
    with pytest.raises(ArchiveError, match="archive-1: is neither a snapshot nor an archive of reports"):
        read(plan, good, b"no reports", good, scheduler=scheduler)


@pytest.mark.slow
def test_an_unreachable_cluster_is_named(plan, read, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("ldp_aggregator.reports.archives.dask._TIMEOUT_SECONDS", 0.2)
    with pytest.raises(ArchiveError, match=r"Dask cluster tcp://127.0.0.1:9 cannot be reached"):
        read(plan, make_reports(plan, 1)[0], scheduler="tcp://127.0.0.1:9")


def test_without_dask_the_extra_is_named(plan, read, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ArchiveError, match=r"pip install 'ldp-bayes\[dask\]'"):
        read(plan, make_reports(plan, 1)[0], scheduler="local")
