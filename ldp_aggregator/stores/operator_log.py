"""The operator's log: who did what to a survey, and when. It never contains anything about people."""

from __future__ import annotations

import getpass
import json
import os
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from ldp_aggregator.stores.store import Store

LOG = "log"
"""The kind of a store's notes that are entries of the log. Their names sort them by time."""
MAX_ENTRIES = 10_000
"""When there are more, the oldest entries are deleted."""


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """One action of an operator."""

    time: str
    """In UTC, to the second."""
    who: str
    """The local account that ran a command, or the name of the token of a request."""
    what: str
    """A verb, such as "closed"."""
    survey: str = ""
    detail: str = ""


def write_log(
    store: Store, who: str, what: str, survey: str = "", detail: str = "", *, daily: bool = False
) -> None:
    """Add an entry to the log of a store.

    Parameters
    ----------
    store : Store
    who, what, survey, detail : str
        As in :class:`LogEntry`.
    daily : bool
        Whether the entry replaces the one of the same action on the same day, because programs repeat it.
    """
    seconds, fraction = divmod(time.time_ns(), 10**9)
    now = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
    name = f"{now[:10]} {who} {what} {survey}" if daily else f"{now} {fraction:09}"
    entry = LogEntry(time=now, who=who, what=what, survey=survey, detail=detail)
    store.set_note(LOG, name, json.dumps(asdict(entry)).encode())
    entries = sorted(store.notes(LOG))
    for old in entries[: max(0, len(entries) - MAX_ENTRIES)]:
        store.set_note(LOG, old, None)


def read_log(store: Store) -> list[LogEntry]:
    """Return the entries of the log of a store, the oldest first."""
    entries = [LogEntry(**json.loads(data)) for _, data in sorted(store.notes(LOG).items())]
    return sorted(entries, key=lambda entry: entry.time)


def local_account() -> str:
    """Return the name of the account that runs this process, or that ran sudo."""
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):  # a container need not have a name for its user
        return f"user {os.getuid()}"
