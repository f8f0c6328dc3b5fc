"""Copies all surveys of a store to a new SQLite file while collectors count.

The sums of a question are read before its ids. Therefore every report in the sums has its id in the copy, and
is never counted twice. Reports that are counted meanwhile may have an id, but are not in the sums; the copy
states their number, as those that are lost if it is restored. It is marked as a backup, which no collector
serves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from ldp_aggregator.atomic_file import sync_folder
from ldp_aggregator.collector.invitations import token_namespace
from ldp_aggregator.migrate import record_ids
from ldp_aggregator.stores import Batch, Store, StoreError, StoreFailure, open_store
from ldp_aggregator.stores.losses import NO_LOSS, Loss, compare_numbers, require_whole
from ldp_aggregator.stores.schedule import require_complete_import
from ldp_aggregator.stores.store import IdsAndMarks, arrays_from_entries, byte_rows

_REPORTS_PER_WRITE = 200_000


def back_up(source: Store, path: Path, progress: Callable[[int], object] = int) -> int:
    """Copy all surveys of a store to a new file, which only its owner can read.

    Parameters
    ----------
    source : Store
    path : Path
        The file, which must not exist. Until it is complete, its name ends with ``.part``.
    progress : callable
        Called with the number of reports copied since its last call.

    Returns
    -------
    int
        The time of the backup, in Unix seconds. All reports that were acknowledged before are in its sums.

    Raises
    ------
    StoreError
        If the source cannot be used or has lost reports, or the file cannot be written; no file is left.
    IncompleteImportError
        If a survey is being imported into the source.
    """
    started, partial = int(time.time()), path.with_name(f"{path.name}.part")
    if path.exists():
        raise StoreError(f"{path} exists: give each backup a new name")
    _remove(partial)  # of a backup that was killed
    try:
        with closing(open_store(f"sqlite:///{partial}")) as target:
            for survey in source.plans():
                _copy_survey(source, target, survey, started, progress)
        if partial.with_name(f"{partial.name}-wal").exists():
            raise StoreError(f"{partial} is in use by another program: give another name")
        partial.rename(path)
        sync_folder(path.parent)
    except BaseException as error:
        _remove(partial)
        if isinstance(error, StoreError) and error.reason is StoreFailure.DISK_FULL:
            raise StoreError(
                f"{path}: the disk is full: give a folder with more space", error.reason
            ) from error
        raise
    return started


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _copy_survey(
    source: Store, target: Store, survey: str, started: int, progress: Callable[[int], object]
) -> None:
    schedule = require_complete_import(source, survey)
    target.publish(survey, source.plans()[survey])
    if texts := source.texts().get(survey):
        target.set_texts(survey, texts)
    require_whole(survey, source.find_losses(survey))
    meanwhile = _copy_counters(source, target, survey, progress)
    _copy_counters(source, target, token_namespace(survey), int)
    for reason, count in source.rejections(survey).items():
        target.add_rejections(survey, reason, count)
    copied = replace(schedule.after_import(meanwhile), backup=schedule.backup or started)
    target.set_schedule(survey, replace(copied, restored=schedule.restored).to_json())


def _copy_counters(
    source: Store, target: Store, name: str, progress: Callable[[int], object]
) -> dict[str, Loss]:
    """Copy counters; return how many reports have an id but were counted too late for the sums."""
    no_ids, no_marks = np.empty((0, 16), np.uint8), np.empty((0, 8), np.uint8)
    losses = {}
    for counter, total in source.totals(name).items():
        target.record([Batch(name, counter, no_ids, no_marks, total.cells)])
        for part in _join_parts(source.report_ids(name, counter)):
            record_ids(target, name, counter, part, len(total.cells))
            progress(len(part[0]))
        ids = target.totals(name)[counter].n
        losses[counter] = compare_numbers(ids, total.n)
        if losses[counter].ids:  # the source has lost them meanwhile
            require_whole(name, losses)
    return {counter: loss for counter, loss in losses.items() if loss != NO_LOSS}


def _join_parts(parts: Iterator[IdsAndMarks]) -> Iterator[IdsAndMarks]:
    """Join parts to fewer ones, because each is written to most pages of the file; no id repeats in one."""
    entries: dict[bytes, bytes] = {}
    for ids, marks in parts:
        entries.update(zip(byte_rows(ids), byte_rows(marks), strict=True))
        if len(entries) >= _REPORTS_PER_WRITE:
            yield arrays_from_entries(entries)
            entries = {}
    if entries:
        yield arrays_from_entries(entries)
