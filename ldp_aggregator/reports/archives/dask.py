"""Archives spread over a Dask cluster: each is read by one worker, each part of the ids counted by one.

Between the two lies a shuffle: whoever read an archive has split its reports by parts of the ids, and a
part's counter gets its share of every archive, in the order of the archives. So the totals are those of
one process that read them one after the other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from operator import add
from typing import TYPE_CHECKING

from encoders.extras import needs_extra
from encoders.survey import Plan
from ldp_aggregator.reports.archives.dedup import Partition, count_once
from ldp_aggregator.reports.archives.reader import ArchiveError, Outcome, read_archive
from ldp_aggregator.reports.record_format import Records
from ldp_aggregator.snapshot import Snapshot, Total

if TYPE_CHECKING:
    from distributed import Client

LOCAL = "local"
_PART_BYTES = 128 << 20
"""About how much of the archives falls into one part."""
_MOST_PARTS = 4096
_TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class _Share:
    """An archive's reports of one part. Workers log what a failing task was given: not these."""

    pieces: list[tuple[int, Records]] = field(repr=False)


@dataclass(frozen=True)
class _Counted:
    """A snapshot on its way: a plan is not sent back and forth."""

    totals: Mapping[str, Total]
    rejections: Mapping[str, int]


def read_on_cluster(plan: Plan, paths: Sequence[str], scheduler: str) -> tuple[Snapshot, list[Outcome]]:
    """Count the reports of archives, each once across all of them.

    Parameters
    ----------
    plan : Plan
    paths : sequence of str
        Every worker must see the same files under these paths, and must have memory for the ids and
        payloads of one of them.
    scheduler : str
        The cluster's address, or "local" for processes of this machine.

    Raises
    ------
    ArchiveError
        If Dask is not installed, the cluster is out of reach or fails, or a file cannot be read.
    """
    files = [os.path.abspath(path) for path in paths]
    with _connected(scheduler) as client:
        try:
            return _run(client, plan, files)
        except ArchiveError:
            raise
        except Exception as error:  # of any kind: a worker's loss, a missing package, its own failure
            raise ArchiveError(
                f"the Dask cluster failed ({type(error).__name__}): its workers need this version of "
                "ldp-bayes[train,dask], and memory for the ids and payloads of one archive each"
            ) from error


def _run(client: Client, plan: Plan, files: Sequence[str]) -> tuple[Snapshot, list[Outcome]]:
    threads = sum(client.nthreads().values())
    partition = Partition.fresh(min(max(threads, _size(files) // _PART_BYTES + 1), _MOST_PARTS))
    # never pure: a task's name would tell of its arguments only, and files of the same name change
    read = [client.submit(_read, plan.json, file, partition, pure=False) for file in files]
    outcomes = client.gather([client.submit(_outcome, each, pure=False) for each in read])
    for outcome in outcomes:
        if isinstance(outcome, ArchiveError):
            raise outcome
    counted = []
    for part in range(partition.parts):
        shares = [client.submit(_share, each, part, pure=False) for each in read]
        counted.append(client.submit(_count, plan.json, shares, pure=False))
    snapshots = [Snapshot(plan, each.totals, each.rejections) for each in client.gather(counted)]
    return reduce(add, snapshots), outcomes


def _size(files: Sequence[str]) -> int:
    """Return what the files take, as far as they can be seen from here; their reader says if it cannot."""
    return sum(os.path.getsize(file) for file in files if os.path.exists(file))


def _read(plan: bytes, path: str, partition: Partition) -> tuple[Outcome | ArchiveError, list[_Share]]:
    """Read one archive; an error is told as a value, since Dask would log a failure at length."""
    shares = [_Share([]) for _ in range(partition.parts)]

    def split(question: int, records: Records) -> None:
        for share, chosen in zip(shares, partition.split(records), strict=True):
            if len(chosen):
                share.pieces.append((question, chosen))

    try:
        return read_archive(_plan(plan), path, split), shares
    except ArchiveError as error:
        return error, [_Share([]) for _ in shares]


def _outcome(read: tuple[Outcome | ArchiveError, list[_Share]]) -> Outcome | ArchiveError:
    return read[0]


def _share(read: tuple[Outcome | ArchiveError, list[_Share]], part: int) -> _Share:
    return read[1][part]


def _count(plan: bytes, shares: Sequence[_Share]) -> _Counted:
    counted = count_once(_plan(plan), (piece for share in shares for piece in share.pieces))
    return _Counted(counted.totals, counted.rejections)


@lru_cache(maxsize=4)
def _plan(plan: bytes) -> Plan:
    """Read a plan once per worker: it is proved anew each time."""
    return Plan.from_json(plan)


@contextmanager
def _connected(scheduler: str) -> Iterator[Client]:
    with needs_extra("dask", "--dask", ArchiveError):
        from distributed import Client, LocalCluster
    if scheduler == LOCAL:
        # threads would wait for each other in whatever is not numpy
        with (
            LocalCluster(processes=True, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = Client(scheduler, timeout=_TIMEOUT_SECONDS)
    except (OSError, ValueError) as error:
        raise ArchiveError(f"the Dask cluster {scheduler} is out of reach: {error}") from error
    with client:
        yield client
