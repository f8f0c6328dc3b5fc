"""The journal's entry of one survey, and the queries that find entries."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ldp_client.errors import JournalError
from ldp_client.journal.schema import NEWER_VERSION
from ldp_client.receipt import State
from ldp_client.survey_identity import SurveyIdentity

_UNANSWERED = (State.READY, State.NO_CONSENT)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """The entry of one survey.

    Attributes
    ----------
    survey, origin : str
        The entry's key: the survey's id, and scheme, host and port of `url`.
    family, url, digest : str
        What the person agreed to: the survey's family, where reports go, which plan.
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
    def is_answered(self) -> bool:
        """Whether this device made its one report."""
        return self.state not in _UNANSWERED


_SELECT = (
    "SELECT survey, origin, family, url, digest, signer, epsilon, state, reason, plan, report FROM surveys"
)
_SAME_PUBLISHER = "(origin = ? OR (signer = ? AND signer <> ''))"  # as SurveyIdentity.matches


def read_entries(connection: sqlite3.Connection) -> list[JournalEntry]:
    """Return all entries."""
    return [_parse_row(row) for row in connection.execute(f"{_SELECT} ORDER BY survey, origin")]


def find_survey_entries(connection: sqlite3.Connection, identity: SurveyIdentity) -> list[JournalEntry]:
    """Return all entries of a survey.

    An application that no longer pins the author's key finds its entry by origin. The key in that entry leads
    to the entries at other origins.
    """
    entries = _select_entries(connection, identity, "survey", identity.survey)
    for known in tuple(entries):
        others = _select_entries(connection, known.identity, "survey", identity.survey)
        entries += [entry for entry in others if entry not in entries]
    return entries


def find_entry(connection: sqlite3.Connection, identity: SurveyIdentity) -> JournalEntry | None:
    """Return a survey's entry; of several the answered one, else the one of this origin."""
    entries = find_survey_entries(connection, identity)
    return min(
        entries, key=lambda entry: (not entry.is_answered, entry.origin != identity.origin), default=None
    )


def get_entry(connection: sqlite3.Connection, identity: SurveyIdentity) -> JournalEntry:
    """Return the entry of a survey that has one."""
    entry = find_entry(connection, identity)
    assert entry is not None
    return entry


def find_family_entries(
    connection: sqlite3.Connection, identity: SurveyIdentity, family: str
) -> list[JournalEntry]:
    """Return the entries of a family, by the publisher of a survey of it and by those its entries name."""
    identities = (identity, *(entry.identity for entry in find_survey_entries(connection, identity)))
    entries = (entry for each in identities for entry in _select_entries(connection, each, "family", family))
    return list(dict.fromkeys(entries))


def find_answered_entry(
    connection: sqlite3.Connection, identity: SurveyIdentity, family: str
) -> JournalEntry | None:
    """Return the answered entry of any survey of a family."""
    entries = find_family_entries(connection, identity, family)
    return next((entry for entry in entries if entry.is_answered), None)


def _select_entries(
    connection: sqlite3.Connection, identity: SurveyIdentity, column: Literal["survey", "family"], name: str
) -> list[JournalEntry]:
    """Return the entries of a survey or family, as far as the same origin or author publishes them."""
    rows = connection.execute(
        f"{_SELECT} WHERE {column} = ? AND {_SAME_PUBLISHER}", (name, identity.origin, identity.signer)
    )
    return [_parse_row(row) for row in rows]


def _parse_row(row: Sequence[Any]) -> JournalEntry:
    entry = JournalEntry(*row)
    if entry.state not in list(State):
        raise JournalError(NEWER_VERSION)
    return replace(entry, state=State(entry.state))
