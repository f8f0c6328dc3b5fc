"""Group commit: requests that arrive together share one durable round trip of their store."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from ldp_aggregator.stores.base import Batch, CounterError, Known, Store, StoreError


class _Job:
    """What one request wants recorded, and what came of it."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self.batches = batches
        self.known: list[Known] | None = None
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

    def record(self, batches: Sequence[Batch]) -> list[Known]:
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
        known = iter(self._store.record([batch for job in jobs for batch in job.batches]))
        for job in jobs:
            job.known = [next(known) for _ in job.batches]

    def _share_one(self, job: _Job) -> None:
        try:
            self._share([job])
        except StoreError as error:
            job.error = error
