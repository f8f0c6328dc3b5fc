"""The operator's log: who did what to a survey, and when. It never contains anything about people."""

from __future__ import annotations

import getpass
import json
import os
import time
from datetime import UTC, datetime
from typing import NamedTuple

from ldp_aggregator.stores.store import Store

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
