"""Where a journal is: the default path, and the path of one person where several people share a device."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from ldp_client.errors import JournalError

_PERSON = re.compile("[A-Za-z0-9_-]{1,64}")


def check_person(person: str | None, path: object) -> str:
    """Return a person's name, or "" for none.

    Raises
    ------
    JournalError
        If the name is not valid, or there is a path of a journal too. The message does not hold the name.
    """
    if person is None:
        return ""
    if path is not None:
        raise JournalError("give person or journal, not both", "bad-person")
    if not isinstance(person, str) or not _PERSON.fullmatch(person):
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
    name = re.sub("[A-Z]", lambda letter: f"+{letter[0].lower()}", person)
    return os.path.join(f"{default}.people", f"person-{name}.db")


def absolute_path(path: str | os.PathLike[str]) -> str:
    """Resolve a path once: a changed directory or a second name must lead to the same journal."""
    try:
        return os.path.realpath(os.path.expanduser(path))
    except (OSError, ValueError) as error:
        raise JournalError(f"no path for a journal: {error}") from error


def default_path() -> Path:
    """Return ``$LDP_JOURNAL``, or the default in this platform's folder for application data."""
    try:
        if environment := os.environ.get("LDP_JOURNAL"):
            return Path(environment).expanduser()
        if sys.platform == "darwin":
            folder = Path.home() / "Library" / "Application Support"
        elif sys.platform == "win32":
            folder = Path(os.environ.get("LOCALAPPDATA") or Path.home())
        else:
            data_home = os.environ.get("XDG_DATA_HOME", "")
            # the XDG specification: a relative path is to be ignored
            folder = Path(data_home) if os.path.isabs(data_home) else Path.home() / ".local" / "share"
    except RuntimeError as error:
        raise JournalError("there is no home directory for the journal: set LDP_JOURNAL") from error
    return folder / "ldp-client" / "journal.db"
