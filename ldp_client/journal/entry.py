"""One survey's line in the journal, and the queries that find lines."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ldp_client.errors import JournalError
from ldp_client.journal.file import NEWER
from ldp_client.receipt import State
from ldp_client.survey_identity import SurveyIdentity

_UNANSWERED = (State.READY, State.NO_CONSENT)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One survey's line.

    Attributes
    ----------
    survey, origin : str
        The line's key: the survey's id, and scheme, host and port of `url`.
    family, url, digest : str
        What was agreed to: the survey's family, where reports go, which plan.
    signer : str
        The public key by which the plan's signature was checked, if it was.
    epsilon : str
        What was spent: "0" until there is a report.
    state : State
    reason : str
        Why it was rejected or has expired; "closed-once" while it waits after the collector said that the
        survey is closed.
    plan, report : bytes or None
        Until the report is delivered, or deleted.
    """

    survey: str
    origin: str
    family: str
    url: str
    digest: str
    signer: str
    epsilon: str
    state: State
    reason: str
    plan: bytes | None
    report: bytes | None

    @property
    def identity(self) -> SurveyIdentity:
        """The survey's identity on this device."""
        return SurveyIdentity(self.survey, self.origin, self.signer)

    @property
    def answered(self) -> bool:
        """Whether this device made its one report."""
        return self.state not in _UNANSWERED


_SELECT = (
    "SELECT survey, origin, family, url, digest, signer, epsilon, state, reason, plan, report FROM surveys"
)
_MATCHES = "(origin = ? OR (signer = ? AND signer <> ''))"  # as SurveyIdentity.matches


def read_all(connection: sqlite3.Connection) -> list[JournalEntry]:
    """Return all lines."""
    return [_entry(row) for row in connection.execute(f"{_SELECT} ORDER BY survey, origin")]


def matching(
    connection: sqlite3.Connection, identity: SurveyIdentity, column: Literal["survey", "family"], name: str
) -> list[JournalEntry]:
    """Return the lines of a survey or family, as far as the same origin or author publishes them."""
    rows = connection.execute(
        f"{_SELECT} WHERE {column} = ? AND {_MATCHES}", (name, identity.origin, identity.signer)
    )
    return [_entry(row) for row in rows]


def find_lines(connection: sqlite3.Connection, identity: SurveyIdentity) -> list[JournalEntry]:
    """Return all lines of a survey.

    An application that no longer pins the author's key finds its line by origin. The key in that line leads
    to the lines at other origins.
    """
    lines = matching(connection, identity, "survey", identity.survey)
    for known in tuple(lines):
        more = matching(connection, known.identity, "survey", identity.survey)
        lines += [each for each in more if each not in lines]
    return lines


def find(connection: sqlite3.Connection, identity: SurveyIdentity) -> JournalEntry | None:
    """Return a survey's line; of several the one that was answered, else the one of this origin."""
    lines = find_lines(connection, identity)
    return min(lines, key=lambda each: (not each.answered, each.origin != identity.origin), default=None)


def find_known(connection: sqlite3.Connection, identity: SurveyIdentity) -> JournalEntry:
    """Return the line of a survey that is known to have one."""
    entry = find(connection, identity)
    assert entry is not None
    return entry


def find_family(connection: sqlite3.Connection, identity: SurveyIdentity, family: str) -> list[JournalEntry]:
    """Return the lines of a family, by the publisher of a survey of it and by those that its lines name."""
    publishers = (identity, *(each.identity for each in find_lines(connection, identity)))
    found = (each for who in publishers for each in matching(connection, who, "family", family))
    return list(dict.fromkeys(found))


def find_answer(connection: sqlite3.Connection, identity: SurveyIdentity, family: str) -> JournalEntry | None:
    """Return the answered line of any survey of a family."""
    return next((each for each in find_family(connection, identity, family) if each.answered), None)


def _entry(row: Sequence[Any]) -> JournalEntry:
    entry = JournalEntry(*row)
    if entry.state not in list(State):
        raise JournalError(NEWER)
    return replace(entry, state=State(entry.state))
