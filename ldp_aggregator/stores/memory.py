"""A store in the memory of one process, for tests."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from ldp_aggregator.arrays import ByteArray
from ldp_aggregator.stores.failure import MissingSurveyError
from ldp_aggregator.stores.losses import Loss
from ldp_aggregator.stores.store import (
    REPORTS_PER_READ,
    Batch,
    IdsAndMarks,
    MarksById,
    StorePolicy,
    Total,
    add_counters,
    arrays_from_entries,
    byte_rows,
    changed_plan_error,
    unknown_survey_error,
)
from ldp_aggregator.stores.tombstone import DELETED, deleted_survey_error


class MemoryStore:
    """Counters behind one lock; see :class:`~ldp_aggregator.stores.store.Store`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plans: dict[str, bytes] = {}
        self._texts: dict[str, bytes] = {}
        self._schedules: dict[str, bytes] = {}
        self._required: dict[str, bytes] = {}
        self._ids: dict[tuple[str, str], dict[bytes, bytes]] = {}
        self._totals: dict[str, dict[str, Total]] = {}
        self._rejections: dict[str, Counter[str]] = {}
        self._notes: dict[str, dict[str, bytes]] = {}

    def publish(self, survey: str, plan: bytes, counters: Sequence[str] = ()) -> None:
        """Keep or replace a plan in a dict; see :meth:`Store.publish`."""
        with self._lock:
            if tombstone := self.notes(DELETED).get(survey):
                raise deleted_survey_error(survey, tombstone)
            if self._plans.setdefault(survey, plan) != plan:
                if totals := self._totals.get(survey):
                    raise changed_plan_error(survey, totals)
                self._plans[survey] = plan
                self._texts.pop(survey, None)

    def plans(self) -> dict[str, bytes]:
        """Return a copy of the plans; see :meth:`Store.plans`."""
        return dict(self._plans)

    def set_texts(self, survey: str, texts: bytes) -> None:
        """Keep texts in memory; see :meth:`Store.set_texts`."""
        with self._lock:
            self._require_survey(survey)
            self._texts[survey] = texts

    def texts(self) -> dict[str, bytes]:
        """Return a copy of the texts; see :meth:`Store.texts`."""
        return dict(self._texts)

    def require_survey(self, survey: str, plan: bytes, counters: Sequence[str] = ()) -> None:
        """Refuse reports of the survey if the plan is missing; see :meth:`Store.require_survey`."""
        self._required[survey] = plan

    def set_schedule(self, survey: str, schedule: bytes) -> None:
        """Replace a schedule in memory; see :meth:`Store.set_schedule`."""
        with self._lock:
            self._require_survey(survey)
            self._schedules[survey] = schedule

    def schedules(self) -> dict[str, bytes]:
        """Return a copy of the schedules; see :meth:`Store.schedules`."""
        return dict(self._schedules)

    def _require_survey(self, survey: str) -> None:
        if survey not in self._plans:
            raise unknown_survey_error(survey, self._plans)

    def notes(self, kind: str) -> dict[str, bytes]:
        """Return a copy of the notes of a kind; see :meth:`Store.notes`."""
        return dict(self._notes.get(kind, {}))

    def set_note(self, kind: str, name: str, note: bytes, once: bool = False) -> None:
        """Keep a note in memory; see :meth:`Store.set_note`."""
        notes = self._notes.setdefault(kind, {})
        notes[name] = notes.get(name, note) if once else note

    def unpublish(self, survey: str) -> None:
        """Forget a plan; see :meth:`Store.unpublish`."""
        with self._lock:
            self._plans.pop(survey, None)

    def erase(self, survey: str) -> None:
        """Forget all else of a survey; see :meth:`Store.erase`."""
        with self._lock:
            for each in (self._texts, self._schedules, self._totals, self._rejections):
                each.pop(survey, None)
            self._ids = {key: ids for key, ids in self._ids.items() if key[0] != survey}

    def record(self, batches: Sequence[Batch]) -> list[MarksById]:
        """Count each batch under the lock; see :meth:`Store.record`."""
        with self._lock:
            self._require_published({batch.survey for batch in batches} & self._required.keys())
            return [self._record(batch) for batch in batches]

    def _record(self, batch: Batch) -> MarksById:
        recorded = self._ids.setdefault((batch.survey, batch.counter), {})
        entries = batch.entries()
        known = _find(recorded, [report_id for report_id, _ in entries])
        if not known:
            totals = self._totals.setdefault(batch.survey, {})
            old = totals.get(batch.counter, Total(0, np.zeros_like(batch.tally)))
            totals[batch.counter] = Total(old.n + len(entries), add_counters(old.cells, batch.tally))
            recorded.update(entries)
        return known

    def server_of(self, _batch: Batch) -> str:
        """Return an empty name, because all is in one process; see :meth:`Store.server_of`."""
        return ""

    def find_recorded(self, survey: str, ids: Mapping[str, ByteArray]) -> dict[str, MarksById]:
        """Look up ids in memory; see :meth:`Store.find_recorded`."""
        with self._lock:
            return {
                counter: _find(self._ids.get((survey, counter), {}), byte_rows(wanted))
                for counter, wanted in ids.items()
            }

    def totals(self, survey: str) -> dict[str, Total]:
        """Return copies of a survey's counters; see :meth:`Store.totals`."""
        with self._lock:
            return dict(self._totals.get(survey, {}))

    def report_ids(self, survey: str, counter: str) -> Iterator[IdsAndMarks]:
        """Yield the ids of a counter; see :meth:`Store.report_ids`."""
        with self._lock:
            entries = list(self._ids.get((survey, counter), {}).items())
        for start in range(0, len(entries), REPORTS_PER_READ):
            yield arrays_from_entries(dict(entries[start : start + REPORTS_PER_READ]))

    def find_losses(self, survey: str, thorough: bool = True) -> dict[str, Loss]:
        """Return nothing; see :meth:`Store.find_losses`."""
        return {}

    def add_rejections(self, survey: str, reason: str, count: int = 1) -> None:
        """Count rejections in memory; see :meth:`Store.add_rejections`."""
        with self._lock:
            if survey not in self.notes(DELETED):
                self._rejections.setdefault(survey, Counter())[reason] += count

    def rejections(self, survey: str) -> dict[str, int]:
        """Return a copy of the rejections by reason; see :meth:`Store.rejections`."""
        with self._lock:
            return dict(self._rejections.get(survey, {}))

    def check_ready(self) -> None:
        """Check that no required survey is missing; see :meth:`Store.check_ready`."""
        self._require_published(self._required.keys() - self.notes(DELETED).keys())

    def _require_published(self, surveys: Iterable[str]) -> None:
        if missing := [each for each in surveys if self._plans.get(each) != self._required[each]]:
            raise MissingSurveyError(missing)

    def space(self) -> dict[str, int]:
        """Return nothing: this process's memory is no limit; see :meth:`Store.space`."""
        return {}

    def check_durability(self, policy: StorePolicy) -> str:
        """Return that memory guarantees nothing, for any policy; see :meth:`Store.check_durability`."""
        return "all reports are lost when the process ends"

    def close(self) -> None:
        """Do nothing."""


def _find(recorded: Mapping[bytes, bytes], ids: Sequence[bytes]) -> MarksById:
    return {report_id: recorded[report_id] for report_id in ids if report_id in recorded}
