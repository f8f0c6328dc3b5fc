"""Copies all surveys of a store to a new SQLite file while collectors count.

Each counter is read with its ids in one step. Its copy has all reports that were acknowledged before the
backup began, and each of them once. The file is marked as a backup, which no collector serves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from ldp_aggregator.atomic_file import sync_folder
from ldp_aggregator.collector.invitations import token_namespace
from ldp_aggregator.stores import Batch, Store, StoreError, StoreFailure, open_store
from ldp_aggregator.stores.losses import require_whole
from ldp_aggregator.stores.schedule import require_complete_import
from ldp_aggregator.stores.store import IdsAndMarks

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
        The time of the backup, in Unix seconds.

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
            for survey, plan in source.plans().items():
                schedule = require_complete_import(source, survey)
                target.publish(survey, plan)
                marked = replace(schedule, backup=schedule.backup or started)
                target.set_schedule(survey, marked.to_json())
                _copy_survey(source, target, survey, progress)
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


def _copy_survey(source: Store, target: Store, survey: str, progress: Callable[[int], object]) -> None:
    if texts := source.texts().get(survey):
        target.set_texts(survey, texts)
    for name in (survey, token_namespace(survey)):
        require_whole(name, source.find_losses(name))
        for counter in source.totals(name):
            total, parts = source.read_counter(name, counter)
            no_ids = np.empty((0, 16), np.uint8), np.empty((0, 8), np.uint8)
            target.record([Batch(name, counter, *no_ids, total.cells)])
            for part in parts:
                _record_ids(target, name, counter, part, len(total.cells))
            progress(total.n if name == survey else 0)
    for reason, count in source.rejections(survey).items():
        target.add_rejections(survey, reason, count)


def _record_ids(target: Store, name: str, counter: str, ids_and_marks: IdsAndMarks, width: int) -> None:
    ids, marks = ids_and_marks
    for start in range(0, len(ids), _REPORTS_PER_WRITE):
        rows = slice(start, start + _REPORTS_PER_WRITE)
        target.record([Batch(name, counter, ids[rows], marks[rows], np.zeros(width, np.int64))])
