"""Group commit: concurrent requests share one durable round trip of their store.

Reports of one question are merged into one batch, sorted by id, so that the store does not see their order.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ldp_aggregator.arrays import ByteArray
from ldp_aggregator.stores.failure import CounterError, StoreError, StoreFailure
from ldp_aggregator.stores.store import Batch, MarksById, Store, byte_rows, merge_batches, positions_by_server


class _Job:
    def __init__(self, batches: Sequence[Batch]) -> None:
        self.batches = batches
        self.known: list[MarksById] | None = None
        self.error: StoreError | None = None


class GroupCommit:
    """Records batches for many threads.

    The first thread records immediately; threads that arrive meanwhile wait and share the next round trip.
    So a single request does not wait for others, and many requests share one sync of the disk. Each server of
    the store has its own round trips.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lanes: dict[str, _Lane] = {}

    def record(self, batches: Sequence[Batch]) -> list[MarksById]:
        known: list[MarksById] = [{} for _ in batches]
        for server, positions in positions_by_server(self._store, batches).items():
            lane = self._lane(server)
            with lane.trying():
                found = lane.record([batches[position] for position in positions])
            for position, marks in zip(positions, found, strict=True):
                known[position] = marks
        return known

    def find_recorded(self, survey: str, ids: Mapping[str, ByteArray]) -> dict[str, MarksById]:
        ids_by_server: dict[str, dict[str, ByteArray]] = {}
        for counter, each in ids.items():
            ids_by_server.setdefault(self._store.server_of(survey, counter), {})[counter] = each
        found: dict[str, MarksById] = {}
        for server, some in ids_by_server.items():
            with self._lane(server).trying():
                found |= self._store.find_recorded(survey, some)
        return found

    def _lane(self, server: str) -> _Lane:
        return self._lanes.get(server) or self._lanes.setdefault(server, _Lane(self._store))


class _Lane:
    """The round trips to one server that record batches, one at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[_Job] = []
        self._condition = threading.Condition()
        self._busy = False
        self._failure: tuple[str, StoreFailure] | None = None
        self._retry = threading.Lock()

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Use the server within this context.

        After a failure only one thread tries the server at a time, and the others fail at once, until a try
        succeeds: a server that hangs must not block all threads of a collector, which other servers need.
        """
        former = self._failure
        if former and not self._retry.acquire(blocking=False):
            raise StoreError(*former)
        try:
            yield
            self._failure = None
        except StoreError as error:
            self._failure = None if isinstance(error, CounterError) else (str(error), error.reason)
            raise
        finally:
            if former:
                self._retry.release()

    def record(self, batches: Sequence[Batch]) -> list[MarksById]:
        job = _Job(batches)
        with self._condition:
            self._waiting.append(job)
            while self._busy and job in self._waiting:
                self._condition.wait()
            if job in self._waiting:
                self._busy = True
                jobs, self._waiting = self._waiting, []
            else:
                jobs = []
        if jobs:
            self._record_all(jobs)
        with self._condition:
            while job.known is None and job.error is None:
                self._condition.wait()
        if job.known is not None:
            return job.known
        error, job.error = job.error, None
        assert error is not None
        try:
            raise error
        finally:
            del error  # the error refers to this frame: a cycle would keep both, and the reports, in memory

    def _record_all(self, jobs: list[_Job]) -> None:
        """Record all jobs; on a CounterError each separately, so that one cannot fail the others.

        If the server cannot be used, the jobs that wait fail too: another try would only delay their errors.
        """
        failure: StoreError | None = None
        try:
            try:
                self._record_jobs(jobs)
            except CounterError as error:
                if len(jobs) == 1:
                    jobs[0].error = error
                    return
                for job in jobs:
                    self._record_job(job)
            except StoreError as error:
                failure = error
        finally:
            with self._condition:
                self._busy = False
                if failure:
                    jobs, self._waiting = jobs + self._waiting, []
                for job in jobs:
                    if job.known is None and job.error is None:
                        job.error = failure or StoreError("the store failed unexpectedly: see the log")
                self._condition.notify_all()
            del failure  # as in `record`

    def _record_jobs(self, jobs: list[_Job]) -> None:
        known = iter(_record_merged(self._store, [batch for job in jobs for batch in job.batches]))
        for job in jobs:
            job.known = [next(known) for _ in job.batches]

    def _record_job(self, job: _Job) -> None:
        try:
            self._record_jobs([job])
        except StoreError as error:
            job.error = error


def _record_merged(store: Store, batches: Sequence[Batch]) -> list[MarksById]:
    """Record as :meth:`Store.record` does, with the batches of each counter merged into one.

    A merged batch with known ids is not counted: its batches with such ids get their result, and the others
    are merged and recorded again.
    """
    known_ids: list[MarksById] = [{} for _ in batches]
    remaining = list(range(len(batches)))
    while remaining:
        groups, remaining = _group_by_counter(batches, remaining)
        answers = store.record([merge_batches([batches[position] for position in group]) for group in groups])
        for group, known in zip(groups, answers, strict=True):
            for position in group if known else ():
                ids = byte_rows(batches[position].ids)
                known_ids[position] = {report_id: known[report_id] for report_id in ids if report_id in known}
                if not known_ids[position]:
                    remaining.append(position)
        remaining.sort()
    return known_ids


def _group_by_counter(
    batches: Sequence[Batch], positions: Sequence[int]
) -> tuple[list[list[int]], list[int]]:
    """Group positions by counter; defer those that share an id with an earlier position of their group."""
    groups: dict[tuple[str, str], tuple[list[int], set[bytes]]] = {}
    deferred = []
    for position in positions:
        batch = batches[position]
        group, group_ids = groups.setdefault((batch.survey, batch.counter), ([], set()))
        ids = byte_rows(batch.ids)
        if group_ids.isdisjoint(ids):
            group.append(position)
            group_ids.update(ids)
        else:
            deferred.append(position)
    return [group for group, _ in groups.values()], deferred
