"""Counts archives on a Dask cluster: one worker reads each archive, one worker counts each part of the ids.

Between the two steps is a shuffle: the reader of an archive splits its reports by parts of the ids, and the
counter of a part receives its records from every archive, in the order of the archives. So the totals equal
those of one process that reads the archives one after the other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from operator import add, itemgetter
from typing import TYPE_CHECKING

from encoders.late_imports import LateImport
from encoders.progress import ShowProgress, hide_progress
from encoders.survey import Plan
from encoders.survey.any_survey import ANY_PLANS
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.reports.archives.dedup import Partition, count_distinct
from ldp_aggregator.reports.archives.reader import (
    READING,
    ArchiveError,
    ArchiveResult,
    read_archive,
    total_bytes,
)
from ldp_aggregator.reports.record_format import Records
from ldp_aggregator.snapshot import AnySnapshot, Total, make_snapshot

if TYPE_CHECKING:
    from distributed import Client, Future

_DASK = LateImport("distributed", "dask", "--dask", ArchiveError)
_LOCAL = "local"
_PART_BYTES = 128 << 20
"""Approximate size of the archives per part."""
_MAX_PARTS = 4096
_TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class _PartRecords:
    """An archive's records in one part of the ids. `repr` omits them, because workers log arguments."""

    pieces: list[tuple[int, Records]] = field(repr=False)


_ArchiveParts = tuple[ArchiveResult | ArchiveError, list[_PartRecords]]
"""The outcome of reading one archive: its result, and its records of every part."""


@dataclass(frozen=True)
class _PartTotals:
    """A snapshot without its plan, which need not be sent."""

    totals: Mapping[str, Total]
    rejections: Mapping[str, int]


def count_on_cluster(
    plan: Plan | SiloPlan, paths: Sequence[str], scheduler: str, show: ShowProgress = hide_progress
) -> tuple[AnySnapshot, list[ArchiveResult]]:
    """Count the reports of archives, each once across all of them.

    Parameters
    ----------
    plan : Plan or SiloPlan
    paths : sequence of str
        Every worker must see the same files under these paths, and must have memory for the ids and
        payloads of one of them.
    scheduler : str
        The cluster's address, or "local" for processes of this machine.
    show : callable
        Shows the progress, see :data:`~encoders.progress.ShowProgress`.

    Raises
    ------
    ArchiveError
        If Dask is not installed, the cluster cannot be reached or fails, or a file cannot be read.
    """
    files = [os.path.abspath(path) for path in paths]
    with _connect(scheduler) as client:
        try:
            return _run(client, plan, files, show)
        except ArchiveError:
            raise
        except Exception as error:  # of any kind: a lost worker, a missing package, a failure of the cluster
            raise ArchiveError(
                f"the Dask cluster failed ({type(error).__name__}): its workers need this version of "
                "ldp-bayes[train,dask], and memory for the ids and payloads of one archive each"
            ) from error


def _run(
    client: Client, plan: Plan | SiloPlan, files: Sequence[str], show: ShowProgress
) -> tuple[AnySnapshot, list[ArchiveResult]]:
    threads = sum(client.nthreads().values())
    parts = max(threads, total_bytes(files) // _PART_BYTES + 1)
    partition = Partition(min(parts, _MAX_PARTS))
    # never pure: Dask would reuse the result of a file of the same name, which may have changed
    archives = [client.submit(_read, plan.json, file, partition, pure=False) for file in files]
    outcomes = [client.submit(itemgetter(0), each, pure=False) for each in archives]
    _wait(outcomes, show, READING, "archives")
    results = client.gather(outcomes)
    for result in results:
        if isinstance(result, ArchiveError):
            raise result
    counts = []
    for part in range(partition.parts):
        shares = [client.submit(_take_part, each, part, pure=False) for each in archives]
        counts.append(client.submit(_count, plan.json, shares, pure=False))
    _wait(counts, show, "counting reports", "parts")
    snapshots = [make_snapshot(plan, each.totals, each.rejections) for each in client.gather(counts)]
    return reduce(add, snapshots), results


def _wait(futures: Sequence[Future], show: ShowProgress, task: str, unit: str) -> None:
    """Wait until all futures are finished, or one has failed, and show how many are finished."""
    with show(task, len(futures), unit) as progress:
        for future in _DASK.load().as_completed(futures):
            if future.status != "finished":
                return  # gathering it raises its error
            progress.advance()


def _read(plan: bytes, path: str, partition: Partition) -> _ArchiveParts:
    """Read one archive; an error is returned as a value, since Dask would log a failure at length."""
    shares = [_PartRecords([]) for _ in range(partition.parts)]

    def split(question: int, records: Records) -> None:
        for share, part_records in zip(shares, partition.split(records), strict=True):
            if len(part_records):
                share.pieces.append((question, part_records))

    try:
        return read_archive(_load_plan(plan), path, split), shares
    except ArchiveError as error:
        return error, [_PartRecords([]) for _ in shares]


def _take_part(archive: _ArchiveParts, part: int) -> _PartRecords:
    return archive[1][part]


def _count(plan: bytes, shares: Sequence[_PartRecords]) -> _PartTotals:
    counted = count_distinct(_load_plan(plan), (piece for share in shares for piece in share.pieces))
    return _PartTotals(counted.totals, counted.rejections)


@lru_cache(maxsize=4)
def _load_plan(plan: bytes) -> Plan | SiloPlan:
    """Return a plan from its JSON, read once per worker because reading checks it."""
    return ANY_PLANS.from_json(plan)


@contextmanager
def _connect(scheduler: str) -> Iterator[Client]:
    dask = _DASK.load()
    if scheduler == _LOCAL:
        # threads would block each other outside numpy
        with (
            dask.LocalCluster(processes=True, threads_per_worker=1, dashboard_address=":0") as cluster,
            dask.Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = dask.Client(scheduler, timeout=_TIMEOUT_SECONDS)
    except (OSError, ValueError) as error:
        raise ArchiveError(f"the Dask cluster {scheduler} cannot be reached: {error}") from error
    with client:
        yield client
