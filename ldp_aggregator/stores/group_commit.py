"""Group commit: requests that arrive together share one durable round trip of their store.

The reports of one question go as one batch, sorted by id, so that the store sees no order among them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from ldp_aggregator.stores.base import Batch, CounterError, MarksById, Store, StoreError, byte_rows, merge


class _Job:
    """What one request wants recorded, and what came of it."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self.batches = batches
        self.known: list[MarksById] | None = None
        self.error: StoreError | None = None


class GroupCommit:
    """Records for many threads at once.

    The first thread to come records at once; whoever comes meanwhile waits, and the next round trip carries
    all of them. So a lone request waits for nobody, and many wait for one sync of the disk.

    Parameters
    ----------
    store : Store
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[_Job] = []
        self._turn = threading.Condition()
        self._busy = False

    def record(self, batches: Sequence[Batch]) -> list[MarksById]:
        """See :meth:`Store.record`."""
        job = _Job(batches)
        with self._turn:
            self._waiting.append(job)
            while self._busy and job in self._waiting:
                self._turn.wait()
            if job in self._waiting:
                self._busy, mine, self._waiting = True, self._waiting, []
            else:
                mine = []
        if mine:
            self._lead(mine)
        with self._turn:
            while job.known is None and job.error is None:
                self._turn.wait()
        if job.known is not None:
            return job.known
        error, job.error = job.error, None
        assert error is not None
        try:
            raise error
        finally:
            del error  # the error keeps this frame: a reference back would keep both, and the reports

    def _lead(self, jobs: list[_Job]) -> None:
        """Record for all; where a batch is at fault, each by itself, so that one cannot fail the others."""
        try:
            try:
                self._share(jobs)
            except CounterError as error:
                if len(jobs) == 1:
                    jobs[0].error = error
                    return
                for job in jobs:
                    self._share_one(job)
            except StoreError as error:  # out of reach: to try it for each would only keep them waiting
                for job in jobs:
                    job.error = error
        finally:
            with self._turn:
                self._busy = False
                for job in jobs:
                    if job.known is None and job.error is None:
                        job.error = StoreError("the store failed unexpectedly")
                self._turn.notify_all()

    def _share(self, jobs: list[_Job]) -> None:
        known = iter(_record_merged(self._store, [batch for job in jobs for batch in job.batches]))
        for job in jobs:
            job.known = [next(known) for _ in job.batches]

    def _share_one(self, job: _Job) -> None:
        try:
            self._share([job])
        except StoreError as error:
            job.error = error


def _record_merged(store: Store, batches: Sequence[Batch]) -> list[MarksById]:
    """Record as :meth:`Store.record` does, with the batches of each counter merged into one.

    A merged batch with known ids changes nothing: its batches that hold such ids are answered, and the
    others are merged again.
    """
    found: list[MarksById] = [{} for _ in batches]
    left = list(range(len(batches)))
    while left:
        groups, left = _groups(batches, left)
        answers = store.record([merge([batches[place] for place in group]) for group in groups])
        for group, known in zip(groups, answers, strict=True):
            for place in group if known else ():
                ids = byte_rows(batches[place].ids)
                found[place] = {report_id: known[report_id] for report_id in ids if report_id in known}
                if not found[place]:
                    left.append(place)
        left.sort()
    return found


def _groups(batches: Sequence[Batch], places: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """Group places by counter; those whose ids an earlier place of the group has are left for later."""
    groups: dict[tuple[str, str], tuple[list[int], set[bytes]]] = {}
    later = []
    for place in places:
        batch = batches[place]
        group, seen = groups.setdefault((batch.survey, batch.counter), ([], set()))
        ids = byte_rows(batch.ids)
        if seen.isdisjoint(ids):
            group.append(place)
            seen.update(ids)
        else:
            later.append(place)
    return [group for group, _ in groups.values()], later
