"""Finds a person's journal, and whether it contains their consent, without loading the client."""

from __future__ import annotations

import os
import sys
from contextlib import closing, suppress

from ldp_client.errors import BAD_OPTION, JournalError, TransportError
from ldp_client.opt_out import find_prohibition

DAMAGED_SUFFIX = ".damaged"
_PERSON_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def has_consent(
    survey: str | None = None, *, journal: str | os.PathLike[str] | None = None, person: str | None = None
) -> bool:
    """Return whether the person agrees to a survey on this device: without it, a client does nothing.

    Ask it when the application starts: it loads neither client nor network. It returns False after a
    withdrawal, and while an environment variable such as ``DO_NOT_TRACK`` forbids reports.

    Parameters
    ----------
    survey : str, optional
        The survey's URL, by default ``LDP_SURVEY_URL``.
    journal, person
        As for :class:`~ldp_client.client.Client`.
    """
    url = survey or os.environ.get("LDP_SURVEY_URL")
    if not isinstance(url, str) or "://" not in url:
        raise TransportError("give the survey's URL, https://host/v1/surveys/ID", BAD_OPTION)
    check_person(person, journal)
    path = "" if journal is None else absolute_path(getattr(journal, "path", journal))
    if find_prohibition()[0]:
        return False
    try:
        path = path or journal_path(person or "")
    except JournalError:  # the device has no place for a journal
        return False
    if os.path.exists(path + DAMAGED_SUFFIX) or not os.path.exists(path):
        return False
    import sqlite3  # late: on most devices there is no journal

    query = "SELECT 1 FROM surveys WHERE url = ? AND state NOT IN ('no_consent', 'withdrawn')"
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
        return connection.execute(query, [url.rstrip("/")]).fetchone() is not None
    return False


def check_person(person: str | None, path: object) -> str:
    """Return the name of the person whose journal is meant, or "" without a name.

    Raises JournalError if the name is not valid, or a journal's path is given too. The message does not
    contain the name.
    """
    if person is None:
        return ""
    if path is not None:
        raise JournalError("give person or journal, not both", "bad-person")
    if not isinstance(person, str) or not (0 < len(person) <= 64 and _PERSON_CHARACTERS.issuperset(person)):
        raise JournalError(
            "person must be 1 to 64 of the characters A-Z, a-z, 0-9, '-' and '_'", "bad-person"
        )
    return person


def journal_path(person: str) -> str:
    """Return the absolute path of the default journal, or of a person's journal in a folder beside it.

    An upper-case letter is written as "+" and its lower-case letter: "Ann" and "ann" are two people, but one
    name on a file system that ignores case. The prefix avoids the names that Windows reserves, like "con".
    """
    default = absolute_path(default_path())
    if not person:
        return default
    name = "".join(f"+{each.lower()}" if each.isupper() else each for each in person)
    return os.path.join(f"{default}.people", f"person-{name}.db")


def absolute_path(path: str | os.PathLike[str]) -> str:
    """Return the absolute path, without symbolic links, so that two names of a file lead to one journal."""
    try:
        return os.path.realpath(os.path.expanduser(path))
    except (OSError, TypeError, ValueError) as error:
        raise JournalError(f"this path cannot be a journal's: {error}") from error


def default_path() -> str:
    """Return ``$LDP_JOURNAL``, or the default in this platform's folder for application data."""
    folder = os.environ.get("XDG_DATA_HOME", "")
    if sys.platform == "darwin":
        folder = "~/Library/Application Support"
    elif sys.platform == "win32":
        folder = os.environ.get("LOCALAPPDATA") or "~"
    elif not os.path.isabs(folder):  # the XDG specification: a relative path is to be ignored
        folder = "~/.local/share"
    path = os.environ.get("LDP_JOURNAL") or os.path.join(folder, "ldp-client", "journal.db")
    if (path := os.path.expanduser(path)).startswith("~"):
        raise JournalError("there is no home directory for the journal: set LDP_JOURNAL")
    return path
