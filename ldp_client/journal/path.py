"""The name of a person who shares a device or a process, and the path of their journal."""

from __future__ import annotations

import os
import re

from ldp_client.errors import JournalError

_NAME = re.compile("[A-Za-z0-9_-]{1,64}")


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
    if not isinstance(person, str) or not _NAME.fullmatch(person):
        raise JournalError(
            "person must be 1 to 64 of the characters A-Z, a-z, 0-9, '-' and '_'", "bad-person"
        )
    return person


def path_of_person(default: str, person: str) -> str:
    """Return the path of a person's journal, in a folder beside the default journal.

    An upper-case letter is written as "+" and its lower-case letter: "Ann" and "ann" are two people, but one
    name on a file system that ignores case. The prefix avoids the names that Windows reserves, like "con".
    """
    name = re.sub("[A-Z]", lambda letter: f"+{letter[0].lower()}", person)
    return os.path.join(f"{default}.people", f"person-{name}.db")
