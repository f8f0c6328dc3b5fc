"""Copies a survey to another store, in which a report that was counted before does not count again.

Unlike a snapshot, a copy includes the reports' ids. Only what the target lacks is written, so another run
completes an interrupted copy. Until then the target accepts no reports: its schedule names the run that has
locked it. Of two concurrent runs, the later one continues.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from secrets import token_hex

import numpy as np

from encoders.errors import LdpError, SurveyError
from encoders.explain.text import Counted
from encoders.survey.any_survey import ANY_PLANS
from ldp_aggregator.collector.invitations import token_namespace
from ldp_aggregator.collector.service import SCHEDULE_TTL_SECONDS
from ldp_aggregator.snapshot import counter_names
from ldp_aggregator.stores import Batch, Store, StoreError, Total
from ldp_aggregator.stores.schedule import Schedule, read_schedule
from ldp_aggregator.stores.store import IdsAndMarks, byte_rows, count_reports, unknown_survey_error
from ldp_aggregator.stores.tombstone import require_living

LOCK_VISIBLE_SECONDS = SCHEDULE_TTL_SECONDS + 1.0
"""After this time every collector has seen the lock of a survey, and all earlier reports are written."""

TotalsByCounter = Mapping[tuple[str, str], Total]
"""Totals by (name, counter); the name is that of the survey, or the namespace of its tokens."""


class MigrationError(LdpError):
    """A survey that cannot be copied; the source is unchanged."""


def migrate_survey(source: Store, target: Store, survey: str, progress: Callable[[int], object] = int) -> int:
    """Copy a survey with its texts, counters, report ids and tokens to another store.

    Parameters
    ----------
    source : Store
        The store to read. No report may be counted in it during the copy.
    target : Store
        The store to write. It contains nothing of the survey except its plan, or an incomplete copy from
        this source.
    survey : str
    progress : callable
        Called with the number of reports copied since its last call.

    Returns
    -------
    int
        Number of reports that the copy contains.

    Raises
    ------
    MigrationError
        If the target collects the survey itself or has a complete copy, if another run has started, or if
        the source counts reports meanwhile.
    StoreError
        If a store cannot be used or lacks the survey, or it was deleted from the target. Running it again is
        safe.
    """
    try:
        return _Migration(source, target, survey).run(progress)
    except (MigrationError, StoreError):
        require_living(target, survey, undo=[survey, token_namespace(survey)])
        raise


class _Migration:
    """One run, which locks the survey in the target by a schedule that names it."""

    def __init__(self, source: Store, target: Store, survey: str) -> None:
        self._source = source
        self._target = target
        self._survey = survey
        self._lock = Schedule(import_run=token_hex(8))

    def run(self, progress: Callable[[int], object]) -> int:
        source, target, survey = self._source, self._target, self._survey
        plans = source.plans()
        schedule = read_schedule(source, survey)
        if survey not in plans:
            raise unknown_survey_error(survey, plans)
        if schedule.import_run:
            raise MigrationError(f"the import of {survey} into the source is incomplete: complete it first")
        totals = self._read_totals(source)
        self._lock_target(plans[survey])
        self._copy_cells(totals)
        for (name, counter), total in totals.items():
            for ids_and_marks in source.report_ids(name, counter) if total.n else ():
                self._record_ids(name, counter, ids_and_marks, len(total.cells))
                progress(len(ids_and_marks[0]) if name == survey else 0)
        self._verify_copy(totals)
        missing_rejections = Counter(source.rejections(survey)) - Counter(target.rejections(survey))
        for reason, count in missing_rejections.items():
            target.add_rejections(survey, reason, count)
        self._require_lock()
        target.set_schedule(survey, schedule.to_json())
        return sum(total.n for (name, _), total in totals.items() if name == survey)

    def _read_totals(self, store: Store) -> TotalsByCounter:
        """Return all counters of the survey and of its tokens."""
        names = self._survey, token_namespace(self._survey)
        return {(name, counter): total for name in names for counter, total in store.totals(name).items()}

    def _lock_target(self, plan: bytes) -> None:
        """Publish and lock the survey in the target, which must have no reports that the source lacks."""
        target, survey, plans = self._target, self._survey, self._target.plans()
        served = survey in plans
        if plans.get(survey, plan) != plan:
            raise MigrationError(
                f"the target has another plan of {survey}: import into a store without this survey"
            )
        former = read_schedule(target, survey)
        if served and not former.import_run:
            self._require_unused_target()
        counters = _counter_names(plan)
        target.publish(survey, plan, counters)
        if counters:  # from now on, another plan that replaces this one stops the import
            target.require_survey(survey, plan, counters)
        target.set_schedule(survey, self._lock.to_json())
        if texts := self._source.texts().get(survey):
            target.set_texts(survey, texts)
        if not served:
            return
        time.sleep(LOCK_VISIBLE_SECONDS)
        if self._lacks_reports(self._source, target):
            if not former.import_run:
                target.set_schedule(survey, former.to_json())  # it contains nothing of the source yet
            raise self._foreign_reports_error()

    def _require_unused_target(self) -> None:
        """Raise MigrationError if the target collects the survey itself, or has a complete copy."""
        counted = any(total.n for total in self._read_totals(self._source).values())
        if counted and not self._lacks_reports(self._target, self._source):
            raise MigrationError(
                f"{self._survey} was already imported completely: run its collectors on the new store only"
            )
        totals = self._read_totals(self._target)
        reports = self._count_reports(self._target)
        if totals and self._lacks_reports(self._source, self._target):
            own = sum(self._missing_reports(self._source, self._target))
            what = Counted(own, "report") if reports else "tokens"
            raise MigrationError(
                f"the target has {what} of {self._survey} of its own: import into a store without this survey"
            )
        if totals:
            raise MigrationError(
                f"the target holds a finished import of {Counted(reports, 'report')} of {self._survey}, and "
                f"the source now has {self._count_reports(self._source):,}: import into a new store, or run "
                "collectors on the source only"
            )
        if self._survey in self._target.schedules():
            raise MigrationError(
                f"the target has opening times for {self._survey}: import into a store without this survey"
            )

    def _count_reports(self, store: Store) -> int:
        return count_reports(store.totals(self._survey))

    def _lacks_reports(self, store: Store, other: Store) -> bool:
        """Return whether `store` lacks reports or tokens of `other`, or has others under their ids."""
        return any(self._missing_reports(store, other))

    def _missing_reports(self, store: Store, other: Store) -> Iterator[int]:
        """Yield, part by part, how many reports or tokens of `other` are not in `store`."""
        for (name, counter), total in self._read_totals(other).items():
            for ids, marks in other.report_ids(name, counter) if total.n else ():
                entries = zip(byte_rows(ids), byte_rows(marks), strict=True)
                found = store.find_recorded(name, {counter: ids})[counter]
                yield sum(found.get(report_id) != mark for report_id, mark in entries)

    def _copy_cells(self, totals: TotalsByCounter) -> None:
        """Make the target's cells equal to the source's; numbers of reports grow when ids are recorded."""
        target_totals = self._read_totals(self._target)
        missing = {
            key: total.cells - target_totals[key].cells if key in target_totals else total.cells
            for key, total in totals.items()
            if key not in target_totals or not np.array_equal(total.cells, target_totals[key].cells)
        }
        self._require_lock()
        if not missing:
            return
        no_ids, no_marks = np.empty((0, 16), np.uint8), np.empty((0, 8), np.uint8)
        self._target.record([Batch(*key, no_ids, no_marks, cells) for key, cells in missing.items()])
        if read_schedule(self._target, self._survey) != self._lock:
            # both runs may have added them, and the other one has opened the survey
            self._target.set_schedule(self._survey, self._lock.to_json())
            raise self._concurrent_run_error()

    def _record_ids(self, name: str, counter: str, ids_and_marks: IdsAndMarks, width: int) -> None:
        """Record ids of reports whose tallies the target has; skip ids that it has already."""
        ids, marks = ids_and_marks
        (known,) = self._target.record([Batch(name, counter, ids, marks, np.zeros(width, np.int64))])
        new = np.array([report_id not in known for report_id in byte_rows(ids)])
        if known and new.any():
            self._record_ids(name, counter, (ids[new], marks[new]), width)

    def _verify_copy(self, totals: TotalsByCounter) -> None:
        """Compare the target with the source; the error states what to do."""
        expected = _comparable_totals(totals)
        if expected != _comparable_totals(self._read_totals(self._source)):
            raise MigrationError(
                "the source changed during the import: stop its collectors, and run the same command again"
            )
        if expected == _comparable_totals(self._read_totals(self._target)):
            return
        self._require_lock()
        if self._lacks_reports(self._source, self._target):
            raise self._foreign_reports_error()
        raise MigrationError(
            f"the target and the source differ for {self._survey}: run the same command again, with no other "
            "import at the same time"
        )

    def _require_lock(self) -> None:
        """Raise an error if another run has locked the survey."""
        if read_schedule(self._target, self._survey) != self._lock:
            raise self._concurrent_run_error()

    def _concurrent_run_error(self) -> MigrationError:
        return MigrationError(
            f"another import of {self._survey} has started: wait for its end, then run the same command again"
        )

    def _foreign_reports_error(self) -> MigrationError:
        return MigrationError(
            f"the target holds reports or tokens of {self._survey} that the source lacks: import into a "
            "store without it"
        )


def _counter_names(plan: bytes) -> list[str]:
    """Return the counters of a plan, or none if another version made it."""
    try:
        return counter_names(ANY_PLANS.from_json(plan))
    except SurveyError:
        return []


def _comparable_totals(totals: TotalsByCounter) -> dict[tuple[str, str], tuple[int, bytes]]:
    return {key: (total.n, total.cells.tobytes()) for key, total in totals.items()}
