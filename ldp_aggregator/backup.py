"""Copies all surveys of a store to a new SQLite file while collectors count. No collector serves it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection
from contextlib import closing, suppress
from pathlib import Path

from ldp_aggregator.atomic_file import sync_folder
from ldp_aggregator.migrate import migrate_survey
from ldp_aggregator.stores import Store, StoreError, StoreFailure, open_store
from ldp_aggregator.stores.schedule import read_schedule, require_no_backup
from ldp_aggregator.stores.sqlite_file import connect, remove_file


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
