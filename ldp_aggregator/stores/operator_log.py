"""The operator's log, who did what and when, and the tombstones of deleted surveys; nothing about people."""

from __future__ import annotations

import getpass
import json
import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import NamedTuple

from ldp_aggregator.stores.failure import StoreError, StoreFailure
from ldp_aggregator.stores.store import TEXTS, Store

BACKED_UP = "backed up"
_LOG = "log"
"""The kind of a store's notes that are entries of the log. Their times have nanoseconds: so they sort."""


class LogEntry(NamedTuple):
    time: str
    """In UTC, to the second."""
    who: str
    """The local account that ran a command, or the name of the token of a request."""
    what: str
    """A verb, such as "closed"."""
    survey: str
    """Id of the survey, or empty."""
    detail: str


def write_log(
    store: Store, who: str, what: str, survey: str = "", detail: str = "", *, daily: bool = False
) -> None:
    """Add an entry to the log of a store; if `daily`, in place of the same entry of the same day."""
    seconds, fraction = divmod(time.time_ns(), 10**9)
    now = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:09}Z"
    name = f"{now[:10]} {who} {what} {survey} {detail}" if daily else now
    store.set_note(_LOG, name, json.dumps(LogEntry(now, who, what, survey, detail)).encode())


def read_log(store: Store) -> list[LogEntry]:
    entries = sorted(LogEntry(*json.loads(data)) for data in store.notes(_LOG).values())
    return [each._replace(time=f"{each.time[:19]}Z") for each in entries]


def find_last_backup(store: Store) -> float | None:
    """Return the time of the last backup or, without one, of the first entry of the log, in Unix seconds."""
    entries = read_log(store)
    times = [each.time for each in entries if each.what == BACKED_UP] or [each.time for each in entries[:1]]
    return datetime.fromisoformat(times[-1]).timestamp() if times else None


def local_account() -> str:
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):  # a container need not have a name for its user
        return f"user {os.getuid()}"


DELETED = "deleted"
"""The kind of a store's notes that are tombstones, by survey id."""
_DATE = re.compile(r"(?<![\d-])\d{4}-\d\d-\d\d(?![\d-])", re.ASCII)


class DeletedSurveyError(StoreError):
    """The survey was deleted from the store; it cannot come back."""


class Tombstone(NamedTuple):
    digest: str
    time: int
    """When its deletion began, in Unix seconds."""
    complete: bool = False
    """Whether its data are deleted; otherwise the deletion was interrupted, or is running."""

    @property
    def date(self) -> str:
        return f"{datetime.fromtimestamp(self.time, UTC):%Y-%m-%d}"


def deleted_survey_error(survey: str, data: bytes) -> DeletedSurveyError:
    return DeletedSurveyError(
        f"survey {survey!r} was deleted from this store on {Tombstone(*json.loads(data)).date}, and its id "
        "cannot be used again: give a new survey another id",
        StoreFailure.SURVEY_MISSING,
    )


def read_tombstones(store: Store) -> dict[str, Tombstone]:
    return {survey: Tombstone(*json.loads(data)) for survey, data in store.notes(DELETED).items()}


def require_living(store: Store, survey: str, undo: Sequence[str] = ()) -> None:
    """Raise DeletedSurveyError for a survey whose deletion has begun; erase what was written under `undo`."""
    if data := store.notes(DELETED, survey).get(survey):
        for name in undo:
            store.erase(name)
        raise deleted_survey_error(survey, data)


def read_deletion_dates(store: Store) -> dict[str, date]:
    """Return the first date YYYY-MM-DD in each survey's `about.retention`, if there is one."""
    found = {}
    for survey, texts in store.notes(TEXTS).items():
        dates = []
        with suppress(ValueError, KeyError, TypeError):  # no texts, or no retention in them
            for text in _DATE.findall(json.loads(texts)["about"]["retention"]):
                with suppress(ValueError):  # a day that does not exist
                    dates.append(date.fromisoformat(text))
        if dates:
            found[survey] = min(dates)
    return found
