"""Copies one survey, or all in a backup, to another store, in which a counted report does not count again.

Only what the target lacks is written, so another run completes an interrupted copy. Until then the target
accepts no reports: its schedule names the run that has locked it. Of two concurrent runs, the later one
continues.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from secrets import token_hex

import numpy as np

from encoders.errors import LdpError
from encoders.explain.text import Counted
from encoders.survey.any_survey import ANY_PLANS
from ldp_aggregator.atomic_file import sync_folder
from ldp_aggregator.collector.service import SCHEDULE_TTL_SECONDS
from ldp_aggregator.damage import require_whole_survey
from ldp_aggregator.snapshot_entries import cell_counts, stored_counters
from ldp_aggregator.stores import Batch, Store, StoreError, StoreFailure, Total, open_store
from ldp_aggregator.stores.failure import Loss, compare_numbers, require_whole
from ldp_aggregator.stores.operator_log import require_living
from ldp_aggregator.stores.schedule import (
    Schedule,
    count_in_sums,
    format_time,
    read_schedule,
    require_no_backup,
)
from ldp_aggregator.stores.shards import fix_shards, read_shards, whole_counter
from ldp_aggregator.stores.sqlite_file import connect, remove_file
from ldp_aggregator.stores.store import (
    SCHEDULES,
    TEXTS,
    IdsAndMarks,
    byte_rows,
    count_reports,
    token_namespace,
    unknown_survey_error,
)

LOCK_VISIBLE_SECONDS = SCHEDULE_TTL_SECONDS + 1.0
"""After this time every collector has seen the lock of a survey, and all earlier reports are written."""

TotalsByCounter = Mapping[tuple[str, str], Total]
"""Totals by (name, counter); the name is that of the survey, or the namespace of its tokens."""


class MigrationError(LdpError):
    """A survey that cannot be copied; the source is unchanged."""


def migrate_survey(
    source: Store,
    target: Store,
    survey: str,
    progress: Callable[[int], object] = int,
    *,
    accept_loss: bool = False,
    backup: int | None = None,
) -> int:
    """Copy a survey with its texts, counters, report ids and tokens to another store.

    No report may be counted in the source during the copy, unless the copy is a `backup`, made at this time
    in Unix seconds. The target contains nothing of the survey except its plan, or an incomplete copy from
    this source. `progress` takes the number of reports copied since its last call. `accept_loss` copies what
    is left in a store that has lost reports, or restores a backup.

    Raises MigrationError if the target collects the survey itself, if another run has started, or if the
    source counts reports meanwhile. Raises StoreError if a store cannot be used or lacks the survey, or it
    was deleted from the target; running it again is safe. Either is raised if the source is a backup or has
    lost reports, unless the loss is accepted.
    """
    try:
        return _Migration(source, target, survey).run(progress, accept_loss, backup)
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

    def run(self, progress: Callable[[int], object], accept_loss: bool, backup: int | None) -> int:
        source, target, survey = self._source, self._target, self._survey
        plans = source.plans()
        schedule = read_schedule(source, survey)
        if survey not in plans:
            raise unknown_survey_error(survey, plans)
        if schedule.import_run:
            raise MigrationError(f"the import of {survey} into the source is incomplete: complete it first")
        if not accept_loss:
            self._require_whole(plans[survey], schedule)
        losses = source.find_losses(survey, stored_counters(source, survey, plans[survey]))
        totals = self._read_totals(source)
        if self._is_finished(plans[survey], schedule.after_import(losses, backup)):
            return count_in_sums(target, survey)
        self._lock_target(plans[survey])
        self._copy_cells(totals)
        for (name, counter), total in totals.items():
            for ids_and_marks in source.report_ids(name, counter) if total.n else ():
                self._record_ids(name, counter, ids_and_marks, len(total.cells))
                progress(len(ids_and_marks[0]) if name == survey else 0)
        if backup is None:
            self._verify_copy(totals)
        else:
            losses = self._find_late_reports(totals)
        missing_rejections = Counter(source.rejections(survey)) - Counter(target.rejections(survey))
        for reason, count in missing_rejections.items():
            target.add_rejections(survey, reason, count)
        self._require_lock()
        schedule = schedule.after_import(losses, backup)
        target.set_note(SCHEDULES, survey, schedule.to_json())
        return count_in_sums(target, survey)

    def _require_whole(self, plan: bytes, schedule: Schedule) -> None:
        require_whole_survey(self._source, self._survey, plan)
        if schedule.backup:
            raise MigrationError(
                f"the source is a backup of {format_time(schedule.backup)} UTC: reports that were "
                "acknowledged later are lost, and devices do not send them again. If the original store can "
                "be used, run collectors on that one. To restore the backup in its place, add --accept-loss"
            )

    def _read_totals(self, store: Store) -> TotalsByCounter:
        """Return all counters of the survey and of its tokens; n is the number of ids."""
        found: dict[tuple[str, str], Total] = {}
        for name in (self._survey, token_namespace(self._survey)):
            totals = store.totals(name)
            for counter, loss in store.find_losses(name).items():
                if counter not in totals:  # all its sums are lost; tokens have none
                    plan = ANY_PLANS.from_json(self._source.plans()[self._survey])
                    cells = cell_counts(plan).get(whole_counter(counter), 0) if name == self._survey else 0
                    totals[counter] = Total(0, np.zeros(cells, np.int64))
                totals[counter] = replace(totals[counter], n=totals[counter].n + loss.excess_ids)
            found |= {(name, counter): total for counter, total in totals.items()}
        return found

    def _lock_target(self, plan: bytes) -> None:
        target, survey, plans = self._target, self._survey, self._target.plans()
        served = survey in plans
        former = read_schedule(target, survey)
        shards, own = read_shards(self._source, survey), read_shards(target, survey)
        if served and own != shards:
            raise MigrationError(
                f"the source counts {survey} with {shards} sub-shards a question, and the target with {own}: "
                "import into a store without this survey"
            )
        fix_shards(target, survey, shards)
        counters = stored_counters(target, survey, plan)
        target.publish(survey, plan, counters)
        if counters:  # from now on, another plan that replaces this one stops the import
            target.require_survey(survey, plan, counters)
        target.set_note(SCHEDULES, survey, self._lock.to_json())
        if texts := self._source.notes(TEXTS).get(survey):
            target.set_note(TEXTS, survey, texts)
        if not served:
            return
        time.sleep(LOCK_VISIBLE_SECONDS)
        if self._lacks_reports(self._source, target):
            if not former.import_run:
                target.set_note(SCHEDULES, survey, former.to_json())  # it contains nothing of the source yet
            raise self._foreign_reports_error()

    def _is_finished(self, plan: bytes, schedule: Schedule) -> bool:
        plans, former = self._target.plans(), read_schedule(self._target, self._survey)
        if plans.get(self._survey, plan) != plan:
            raise MigrationError(
                f"the target has another plan of {self._survey}: import into a store without this survey"
            )
        if self._survey not in plans or former.import_run:
            return False
        counted = any(total.n for total in self._read_totals(self._source).values())
        if counted and not self._lacks_reports(self._target, self._source):
            here, there = self._count_reports(self._source), self._count_reports(self._target)
            if there > here and read_schedule(self._source, self._survey).backup:
                raise MigrationError(
                    f"the target is newer than the backup: it has all its {here:,} reports of {self._survey} "
                    f"and {there - here:,} more, so run collectors on it"
                )
            return True
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
        has_schedule = self._survey in self._target.notes(SCHEDULES)
        if has_schedule and former != schedule:
            raise MigrationError(
                f"the target has opening times for {self._survey}: import into a store without this survey"
            )
        return has_schedule

    def _count_reports(self, store: Store) -> int:
        return count_reports(store.totals(self._survey))

    def _lacks_reports(self, store: Store, other: Store) -> bool:
        return any(self._missing_reports(store, other))

    def _missing_reports(self, store: Store, other: Store) -> Iterator[int]:
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
        self._require_lock(lock_again=True)  # both may have added them, and the other one opened it

    def _record_ids(self, name: str, counter: str, ids_and_marks: IdsAndMarks, width: int) -> None:
        ids, marks = ids_and_marks
        (known,) = self._target.record([Batch(name, counter, ids, marks, np.zeros(width, np.int64))])
        new = np.array([report_id not in known for report_id in byte_rows(ids)])
        if known and new.any():
            self._record_ids(name, counter, (ids[new], marks[new]), width)

    def _find_late_reports(self, totals: TotalsByCounter) -> dict[str, Loss]:
        """Return the reports whose ids were copied, but which were counted after the sums had been read."""
        copied = self._read_totals(self._target)
        late = {key: compare_numbers(copied[key].n, total.n) for key, total in totals.items()}
        require_whole({self._survey: {counter: loss for (_, counter), loss in late.items() if loss.ids}})
        return {
            counter: loss for (name, counter), loss in late.items() if name == self._survey and loss.reports
        }

    def _verify_copy(self, totals: TotalsByCounter) -> None:
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

    def _require_lock(self, lock_again: bool = False) -> None:
        if read_schedule(self._target, self._survey) != self._lock:
            if lock_again:
                self._target.set_note(SCHEDULES, self._survey, self._lock.to_json())
            raise MigrationError(
                f"another import of {self._survey} has started: wait for its end, then run the same command "
                "again"
            )

    def _foreign_reports_error(self) -> MigrationError:
        return MigrationError(
            f"the target holds reports or tokens of {self._survey} that the source lacks: import into a "
            "store without it"
        )


def _comparable_totals(totals: TotalsByCounter) -> dict[tuple[str, str], tuple[int, bytes]]:
    return {key: (total.n, total.cells.tobytes()) for key, total in totals.items()}


def back_up(
    source: Store, path: Path, progress: Callable[[int], object] = int, left_out: Collection[str] = ()
) -> int:
    """Copy all surveys of a store to a new file, which only its owner can read.

    Until the new file is complete, its name ends with ``.part``. `progress` is called with the number of
    reports copied since its last call. The surveys in `left_out` are not copied. Returns the time of the
    backup, in Unix seconds: all reports that were acknowledged before are in its sums.
    Raises MigrationError or StoreError if a store cannot be used, has lost reports, or is a backup, or an
    import into it is incomplete. No file is left.
    """
    started, partial = int(time.time()), path.with_name(f"{path.name}.part")
    if path.exists():
        raise StoreError(f"{path} exists: give each backup a new name")
    remove_file(str(partial))  # of a backup that was killed
    try:
        with closing(open_store(f"sqlite:///{partial}")) as target:
            for survey in source.plans().keys() - left_out:
                require_no_backup(survey, read_schedule(source, survey))
                migrate_survey(source, target, survey, progress, backup=started)
        with closing(connect(str(partial), 0.0)) as connection, suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = DELETE")  # else a read-only medium could not be read
        if partial.with_name(f"{partial.name}-wal").exists():
            raise StoreError(f"{partial} is in use by another program: give another name")
        partial.rename(path)
        sync_folder(path.parent)
    except BaseException as error:
        remove_file(str(partial))
        if isinstance(error, StoreError) and error.reason is StoreFailure.DISK_FULL:
            raise StoreError(
                f"{path}: the disk is full: give a folder with more space", error.reason
            ) from error
        raise
    return started
