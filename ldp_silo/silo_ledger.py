"""The ledger of a silo: the tables of its epochs, and of the persons whose rows were counted.

It is a part of the journal, and as secret as the rows. Files and persons are recorded by keyed hashes.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from encoders.errors import Reason
from encoders.report import MAX_MESSAGE_BYTES, pack, unpack
from ldp_client.errors import ClientError
from ldp_client.journal.table import find_entry
from ldp_client.receipt import State
from ldp_client.survey_identity import SurveyIdentity
from ldp_silo.rows_file import KEY_BYTES, FileDigest

_TABLES = (
    "CREATE TABLE IF NOT EXISTS silo_key (key BLOB NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS silo_epochs (
        number        INTEGER PRIMARY KEY,
        survey        TEXT NOT NULL,
        origin        TEXT NOT NULL,
        signer        TEXT NOT NULL,
        family        TEXT NOT NULL,
        epoch         TEXT NOT NULL,
        url           TEXT NOT NULL,
        digest        TEXT NOT NULL,
        epsilon       TEXT NOT NULL,
        rows          INTEGER NOT NULL,
        file_size     INTEGER NOT NULL,
        file_digest   BLOB NOT NULL,
        person_column TEXT NOT NULL,
        state         TEXT NOT NULL,
        reason        TEXT NOT NULL DEFAULT '',
        closed_at     REAL,
        message_id    BLOB NOT NULL,
        message       BLOB,
        UNIQUE (survey, origin, epoch)
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS silo_persons (
        hash   BLOB PRIMARY KEY,
        survey TEXT NOT NULL,
        rows   INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS silo_counted_at (
        number INTEGER PRIMARY KEY,
        hour   INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS silo_former_ids (
        id     BLOB PRIMARY KEY,
        number INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
)
_COLUMNS = (
    "number, survey, origin, signer, family, epoch, url, digest, epsilon, rows, file_size, file_digest, "
    "person_column, state, reason, message_id, message"
)
_SELECT = (
    f"SELECT {_COLUMNS}, (SELECT hour FROM silo_counted_at AS counted "  # noqa: S608
    "WHERE counted.number = silo_epochs.number) FROM silo_epochs"
)


class EpochError(ClientError, reason="epoch-used"):
    """The rows of an epoch do not fit the ledger; nothing was drawn."""


@dataclass(frozen=True)
class NewEpoch:
    """What a silo wants to record as an epoch."""

    name: str
    """Chosen by the silo; the collector does not know it."""
    rows: int
    file: FileDigest
    person_column: str
    persons: Counter[str] = field(repr=False)
    """The number of rows of each person, by their name in Unicode NFC."""
    rows_are_new: bool
    """Whether the silo states that no row of the file, and no row of a person, was counted before."""
    earlier: tuple[int, ...]
    """Numbers of the epochs with which the file was compared while it was read."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch in the ledger: the rows that one message has counted."""

    number: int
    survey: str
    origin: str
    signer: str
    family: str
    name: str
    url: str
    digest: str
    """`survey`, `origin`, `signer`, `family`, `url` and `digest`: as of a
    :class:`~ldp_client.journal.table.JournalEntry`."""
    epsilon: str
    """What the message spends of the budget of each person in it."""
    rows: int
    file: FileDigest
    person_column: str
    state: State
    """QUEUED while the message waits, or its outcome."""
    reason: str
    message_id: bytes
    message: bytes | None = field(repr=False)
    """The bytes that are sent; None after they were withdrawn."""
    counted_at: int | None = None
    """The hour in which the collector acknowledged the message, in Unix seconds; None if it is unknown."""

    @property
    def identity(self) -> SurveyIdentity:
        return SurveyIdentity(self.survey, self.origin, self.signer)

    @property
    def is_token_reused(self) -> bool:
        """Whether the collector's final answer is that it has counted another message with the token."""
        return self.state is State.REJECTED and self.reason == Reason.ID_REUSED and self.message is not None

    def matches(self, other: Epoch) -> bool:
        """Return whether :func:`find_epochs` finds one of the epochs for the other."""
        is_related = self.survey == other.survey or self.family == other.family != ""
        return is_related and self.identity._replace(survey=other.survey).matches(other.identity)


def create_tables(connection: sqlite3.Connection) -> None:
    for statement in _TABLES:
        connection.execute(statement)


def read_key(connection: sqlite3.Connection) -> bytes:
    found = connection.execute("SELECT key FROM silo_key").fetchone()
    if found:
        return bytes(found[0])
    key = secrets.token_bytes(KEY_BYTES)
    connection.execute("INSERT INTO silo_key (key) VALUES (?)", (key,))
    return key


def find_epochs(connection: sqlite3.Connection, identity: SurveyIdentity, family: str = "") -> list[Epoch]:
    """Return the epochs of a survey and of its publisher's family: one origin, or one pinned author's key."""
    entry = find_entry(connection, identity)
    if entry and entry.signer and entry.origin == identity.origin:
        identity = identity._replace(signer=entry.signer)
    rows = connection.execute(
        f"{_SELECT} WHERE (survey = ? OR (family = ? AND family <> '')) "
        "AND (origin = ? OR (signer = ? AND signer <> '')) ORDER BY number",
        (identity.survey, family, identity.origin, identity.signer),
    )
    return [_parse_row(row) for row in rows]


def read_epochs(connection: sqlite3.Connection) -> list[Epoch]:
    rows = connection.execute(f"{_SELECT} ORDER BY number")
    return [_parse_row(row) for row in rows]


def find_named(epochs: Sequence[Epoch], survey: str, name: str) -> Epoch | None:
    return next((epoch for epoch in epochs if (epoch.survey, epoch.name) == (survey, name)), None)


def insert_epoch(connection: sqlite3.Connection, epoch: Epoch) -> Epoch:
    cursor = connection.execute(
        f"INSERT INTO silo_epochs ({_COLUMNS}) VALUES (NULL{', ?' * 16})",  # noqa: S608
        (
            *(epoch.survey, epoch.origin, epoch.signer, epoch.family, epoch.name, epoch.url, epoch.digest),
            *(epoch.epsilon, epoch.rows, epoch.file.size, epoch.file.digest, epoch.person_column),
            *(epoch.state, epoch.reason, epoch.message_id, epoch.message),
        ),
    )
    assert cursor.lastrowid is not None
    return replace(epoch, number=cursor.lastrowid)


def end_epoch(connection: sqlite3.Connection, epoch: Epoch, state: State, reason: str) -> None:
    """Record the outcome of a message that waits with this id; an earlier outcome stays unchanged."""
    connection.execute(
        "UPDATE silo_epochs SET state = ?, reason = ?, closed_at = NULL "
        "WHERE number = ? AND message_id = ? AND state = ?",
        (state, reason, epoch.number, epoch.message_id, State.QUEUED),
    )
    if state in (State.SENT, State.DUPLICATE):
        hour = int(time.time()) // 3600 * 3600
        connection.execute("INSERT OR IGNORE INTO silo_counted_at VALUES (?, ?)", (epoch.number, hour))


def change_message_id(connection: sqlite3.Connection, epoch: Epoch, message_id: bytes) -> Epoch:
    """Let the same noisy counts wait under another id; the former id stays used."""
    assert epoch.message is not None
    message = pack(replace(unpack(epoch.message, MAX_MESSAGE_BYTES), id=message_id))
    connection.execute("INSERT INTO silo_former_ids VALUES (?, ?)", (epoch.message_id, epoch.number))
    connection.execute(
        "UPDATE silo_epochs SET message_id = ?, message = ?, state = ?, reason = '' WHERE number = ?",
        (message_id, message, State.QUEUED, epoch.number),
    )
    return replace(epoch, message_id=message_id, message=message, state=State.QUEUED, reason="")


def withdraw_epochs(connection: sqlite3.Connection, epochs: Sequence[Epoch]) -> None:
    connection.executemany(
        "UPDATE silo_epochs SET state = ?, reason = '', message = NULL WHERE number = ? AND state = ?",
        [(State.WITHDRAWN, epoch.number, State.QUEUED) for epoch in epochs],
    )


def _parse_row(row: Sequence[Any]) -> Epoch:
    """Return the epoch in a row of `_SELECT`, whose columns have the order of its fields."""
    *before, size, digest, person_column, state = row[:14]
    return Epoch(*[*before, FileDigest(size, digest), person_column, State(state), *row[14:]])
