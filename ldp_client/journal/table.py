"""The journal's table: the entry of each survey, the consent in it, and the queries that find it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.relay import LAST_TIME
from ldp_client.errors import ConsentError, JournalError, PlanError
from ldp_client.journal.standing import TABLE
from ldp_client.receipt import CODE_REFUSALS, HELD_BY_RELAY, LEFT_RELAY, State
from ldp_client.survey_identity import SurveyIdentity

_UNANSWERED = (State.READY, State.NO_CONSENT)

_VERSION = 8
"""Stored in the file as SQLite's `user_version`."""
_WITHOUT_RELAYS, _WITH_CLEAR_REPORTS, _WITHOUT_WAVES, _WITHOUT_SERIES = 4, 5, 6, 7
"""Versions of journals that are extended: without the column `sealed`; with the report beside the sealed
message, and without the column `closes`; without the columns `wave` and `wave_name`; without series."""
_MESSAGES = "CREATE INDEX messages ON surveys (closes) WHERE sealed IS NOT NULL"
_TABLES = (
    """
    CREATE TABLE surveys (
        survey    TEXT NOT NULL,
        origin    TEXT NOT NULL,
        family    TEXT NOT NULL,
        url       TEXT NOT NULL,
        digest    TEXT NOT NULL,
        signer    TEXT NOT NULL DEFAULT '',
        epsilon   TEXT NOT NULL DEFAULT '0',
        state     TEXT NOT NULL,
        reason    TEXT NOT NULL DEFAULT '',
        closed_at REAL,
        plan      BLOB,
        report    BLOB,
        sealed    BLOB,
        closes    INTEGER,
        wave      INTEGER,
        wave_name TEXT,
        series    TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (survey, origin)
    )
    """,
    "CREATE INDEX families ON surveys (family)",
    "CREATE INDEX waiting ON surveys (survey) WHERE state = 'queued'",
    _MESSAGES,
    TABLE,
)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    survey: str
    origin: str
    """The entry's key: the survey's id, and scheme, host and port of `url`."""
    family: str
    url: str
    digest: str
    """`family`, `url` and `digest`: what the person agreed to: the survey's family, the URL that the
    report is sent to, the plan's digest."""
    signer: str
    """The public key with which the plan's signature was verified; empty if it was not verified."""
    epsilon: str
    """The epsilon that was spent: "0" until there is a report."""
    state: State
    reason: str
    """Why the report was rejected or has expired; "closed-once" while it waits after the collector said
    that the survey is closed."""
    plan: bytes | None
    report: bytes | None
    """Stored until the report is delivered or deleted; None in a survey with a relay."""
    sealed: bytes | None = None
    """In a survey with a relay, the message that contains the report. It stays after the relay has taken it,
    so that the person can withdraw it; see `MESSAGE_SECONDS`."""
    closes: int | None = None
    """When the relay ends the survey or the wave, in seconds since 1970 (UTC); None without a relay."""
    wave: int | None = None
    """Index of the wave in which the person is asked, or -1 for the one that is open; None without waves."""
    wave_name: str | None = None
    """The name of the wave of the report; None without one."""
    series: str = ""
    """Name and key of the plan's series; empty without one."""

    @property
    def post(self) -> tuple[str, bytes]:
        """The URL and the body of the post that sends the report."""
        if self.closes is not None:
            wave = f"/{self.wave_name}" if self.wave_name else ""
            return f"{self.url}/{self.digest}{wave}", self.sealed or b""
        return f"{self.url}/reports", self.report or b""

    @property
    def why(self) -> str:
        """What an outcome means in a survey with a relay, as a sentence; empty if there is nothing to say."""
        if self.closes is not None and self.state is State.SENT:
            return HELD_BY_RELAY if self.sealed else LEFT_RELAY
        return CODE_REFUSALS.get(self.reason, "")

    @property
    def identity(self) -> SurveyIdentity:
        return SurveyIdentity(self.survey, self.origin, self.signer)

    @property
    def is_answered(self) -> bool:
        """Whether this device has made its one report for the survey."""
        return self.state not in _UNANSWERED


_SELECT = (
    "SELECT survey, origin, family, url, digest, signer, epsilon, state, reason, plan, report, sealed, "
    "closes, wave, wave_name, series FROM surveys"
)


def require_consent(entry: JournalEntry | None, failed_grant: str = "") -> JournalEntry:
    """Return `entry`, the survey's journal entry, if the person has agreed; otherwise raise ConsentError."""
    if entry is None or entry.state is State.NO_CONSENT:
        raise ConsentError(
            f"the person has not agreed to this survey: call grant() when they agree{failed_grant}"
        )
    return entry


def require_pinned_plan(entry: JournalEntry | None, plan: AnyPlan) -> None:
    """Raise PlanError if `plan` is not the plan of the survey that this device is bound to."""
    if entry and entry.digest != plan.digest:
        raise PlanError(
            f"the plan has digest {plan.digest}, but this device is bound to {entry.digest}, which it saw "
            "first: give the changed survey a new id"
        )


def read_entries(connection: sqlite3.Connection) -> list[JournalEntry]:
    return [_parse_row(row) for row in connection.execute(f"{_SELECT} ORDER BY survey, origin")]


def find_survey_entries(connection: sqlite3.Connection, identity: SurveyIdentity) -> list[JournalEntry]:
    """Return the entries of a survey at all origins.

    An application that no longer pins the author's key finds its entry by origin. The key in that entry leads
    to the entries at other origins.
    """
    known = _select_entries(connection, [identity], "survey", identity.survey)
    publishers = [identity, *(entry.identity for entry in known)]
    return _select_entries(connection, publishers, "survey", identity.survey)


def find_entry(connection: sqlite3.Connection, identity: SurveyIdentity) -> JournalEntry | None:
    """Return a survey's entry; of several entries the answered one, otherwise the entry of this origin."""
    entries = find_survey_entries(connection, identity)
    return min(
        entries, key=lambda entry: (not entry.is_answered, entry.origin != identity.origin), default=None
    )


def get_entry(connection: sqlite3.Connection, identity: SurveyIdentity) -> JournalEntry:
    entry = find_entry(connection, identity)
    assert entry is not None
    return entry


def find_family_entries(
    connection: sqlite3.Connection, identity: SurveyIdentity, family: str
) -> list[JournalEntry]:
    """Return the entries of a family: of the publisher of one survey, and of publishers its entries name."""
    publishers = [identity, *(entry.identity for entry in find_survey_entries(connection, identity))]
    return _select_entries(connection, publishers, "family", family)


def find_answered_entry(
    connection: sqlite3.Connection, identity: SurveyIdentity, family: str
) -> JournalEntry | None:
    """Return the entry of the answered survey of a family; None if the person has answered none."""
    entries = find_family_entries(connection, identity, family)
    return next((entry for entry in entries if entry.is_answered), None)


def _select_entries(
    connection: sqlite3.Connection,
    publishers: Sequence[SurveyIdentity],
    column: Literal["survey", "family"],
    name: str,
) -> list[JournalEntry]:
    """Return the entries whose `column` is `name`, with the origin or the author's key of a publisher."""
    # as SurveyIdentity.matches
    query = f"{_SELECT} WHERE {column} = ? AND (origin = ? OR (signer = ? AND signer <> ''))"
    asked = dict.fromkeys((name, each.origin, each.signer) for each in publishers)
    rows = [row for values in asked for row in connection.execute(query, values)]
    return [_parse_row(row) for row in dict.fromkeys(rows)]


def _parse_row(row: Sequence[Any]) -> JournalEntry:
    entry = JournalEntry(*row)
    try:
        return replace(entry, state=State(entry.state))
    except ValueError:
        raise JournalError(
            "the journal was edited, or another version wrote it: use that version, or another file"
        ) from None


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the journal's tables in an empty file; JournalError if it is no journal of this version."""
    if _read_version(connection) == _VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    with connection:  # commits, or rolls back
        version = _read_version(connection)
        if version == _VERSION:  # another process was faster
            return
        if _WITHOUT_RELAYS <= version < _VERSION:
            _extend(connection, version)
            return
        if version:
            raise JournalError(
                f"the journal has version {version}, and only {_VERSION} is supported: use the release that "
                "wrote it, or another file"
            )
        if connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise JournalError("this file is another application's database: give another path")
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_VERSION}")


def _extend(connection: sqlite3.Connection, version: int) -> None:
    """Change a journal of an earlier version into one of this version."""
    if version < _WITHOUT_WAVES:
        _add_closing_times(connection, version)
    waves = ("wave INTEGER", "wave_name TEXT") if version < _WITHOUT_SERIES else ()
    for column in (*waves, "series TEXT NOT NULL DEFAULT ''"):
        connection.execute(f"ALTER TABLE surveys ADD COLUMN {column}")
    connection.execute(TABLE)
    connection.execute(f"PRAGMA user_version = {_VERSION}")


def _add_closing_times(connection: sqlite3.Connection, version: int) -> None:
    """Replace the report of each survey with a relay by the time at which the relay stops."""
    if version == _WITHOUT_RELAYS:
        connection.execute("ALTER TABLE surveys ADD COLUMN sealed BLOB")
    connection.execute("ALTER TABLE surveys ADD COLUMN closes INTEGER")
    connection.execute(_MESSAGES)
    rows = connection.execute("SELECT survey, origin, plan FROM surveys WHERE sealed IS NOT NULL")
    for survey, origin, plan in rows.fetchall():
        # without the plan, it is unknown when the relay stops: the message stays until it is withdrawn
        closes = json.loads(plan)["relay"]["closes"] if plan else LAST_TIME
        connection.execute(
            "UPDATE surveys SET report = NULL, closes = ? WHERE survey = ? AND origin = ?",
            (closes, survey, origin),
        )


def _read_version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)
