"""The ledger of a silo: its epochs, and the persons whose rows were counted, whom no epoch counts again.

It is a part of the journal, and as secret as the rows. Files and persons are recorded by keyed hashes.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from importlib.resources import files
from typing import Any

from encoders.errors import Reason, TokenError
from encoders.report import MAX_MESSAGE_BYTES, pack, unpack
from ldp_client.errors import BudgetError, ClientError, PlanError
from ldp_client.journal.table import find_entry
from ldp_client.receipt import State
from ldp_client.survey_identity import SurveyIdentity
from ldp_silo.count_rows import CountedRows
from ldp_silo.rows_file import KEY_BYTES, FileDigest

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
    counted: CountedRows
    person_column: str
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
    for statement in files(__package__).joinpath("silo_ledger.sql").read_text("utf-8").split(";"):
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


PERSON_HASH_BYTES = 20


class RepeatedPersonsError(Exception):
    """Persons have too many rows over all epochs; never shown to anybody, because it holds their names."""

    def __init__(self, names: set[str]) -> None:
        super().__init__()
        self.names = names


def require_same_file(known: Epoch, file: FileDigest) -> None:
    if known.file != file:
        raise EpochError(
            f"epoch {known.name} was recorded with another file, and its message is final. Report new rows "
            "as a new epoch (--epoch). Do not report corrected rows again"
        )


def require_new_rows(earlier: Sequence[Epoch], new: NewEpoch) -> None:
    """Raise EpochError unless the rows of a new epoch are new, as far as the ledger knows."""
    if not earlier:
        return
    columns = {epoch.person_column for epoch in earlier}
    if new.person_column and columns == {new.person_column}:
        return
    if new.person_column and columns - {"", new.person_column}:
        raise EpochError(
            f"earlier epochs identified people by column {max(columns)!r}: use the same column name and the "
            "same ids in this file",
            "other-person-column",
        )
    if not new.rows_are_new:
        raise EpochError(
            "a later epoch may contain only rows of people who were not counted before. Give the column of "
            "people's ids in every epoch (--person, or person=), so that the ledger can check this, or "
            "confirm it (--new-rows, or new_rows=True)",
            "rows-not-stated-new",
        )


def sum_epsilon(epochs: Sequence[Epoch]) -> Fraction:
    """Return the most that the messages spend of one person's budget.

    A person spends epsilon once in epochs that all match each other. The epochs are divided into such groups,
    each of which counts once. The sum can be too large, because another division may be better.
    """
    groups: list[list[Epoch]] = []
    for epoch in epochs:
        for group in groups:
            if all(map(epoch.matches, group)):
                group.append(epoch)
                break
        else:
            groups.append([epoch])
    return sum((max(Fraction(each.epsilon) for each in group) for group in groups), Fraction(0))


def require_total(connection: sqlite3.Connection, epoch: Epoch, max_total: Fraction | None) -> None:
    """Raise BudgetError if a new epoch would make a person spend more, and in all more than the total."""
    epochs = read_epochs(connection)
    spent, total = sum_epsilon(epochs), sum_epsilon([*epochs, epoch])
    if max_total is not None and spent < total > max_total:
        raise BudgetError(
            f"with epsilon {epoch.epsilon} of this survey a person would spend {float(total):g} in all, but "
            f"max_total_epsilon is {float(max_total):g}, and {float(spent):g} are already spent",
            "total-epsilon-spent",
        )


def require_one_plan(earlier: Sequence[Epoch], epoch: Epoch) -> None:
    """Raise PlanError if an earlier epoch of the survey has another plan, and so perhaps other noise."""
    if any(each.survey == epoch.survey and each.digest != epoch.digest for each in earlier):
        raise PlanError(
            "an earlier epoch was reported with another plan of this survey, and a survey keeps its plan: "
            "run `ldp-silo status`, and use the plan that it shows"
        )


def require_unused_token(connection: sqlite3.Connection, message_id: bytes) -> None:
    """Raise TokenError if a message of this journal has this id, or had it: the collector refuses another."""
    found = connection.execute(
        "SELECT epoch FROM silo_epochs WHERE message_id = :id "
        "UNION SELECT epoch FROM silo_epochs JOIN silo_former_ids USING (number) WHERE id = :id",
        {"id": message_id},
    ).fetchone()
    if found:
        raise TokenError(f"was used for epoch {found[0]}: each message needs a separate token")


def add_persons(
    connection: sqlite3.Connection, earlier: Sequence[Epoch], epoch: Epoch, new: NewEpoch, most: int
) -> None:
    """Add each person's rows in a new epoch.

    A person may have `most` rows over this and all `earlier` epochs, and rows in one survey of a family:
    messages of two surveys may have noise of different scales.

    A person has one hash for each family, origin and signer. It is looked up for the origin and signer of
    each earlier epoch, and the rows found are added. One hash for the origin and one for the signer would
    count a row twice if both match. A hash for the family alone would reveal to a stranger's survey of that
    family who was counted.
    Raises RepeatedPersonsError if a person has more rows; roll the transaction back.
    """
    names = list(new.counted.persons)
    start_hash = partial(
        hashlib.blake2b, digest_size=PERSON_HASH_BYTES, key=read_key(connection), person=b"silo person"
    )
    scopes = dict.fromkeys(json.dumps([each.family, each.origin, each.signer]) for each in (epoch, *earlier))
    starts = [start_hash(scope.encode()) for scope in scopes]
    connection.executemany(
        "INSERT INTO silo_persons (hash, survey, rows) VALUES (?, ?, ?) "
        "ON CONFLICT (hash) DO UPDATE SET rows = rows + excluded.rows",
        ((_hash_name(starts[0], name), epoch.survey, rows) for name, rows in new.counted.persons.items()),
    )
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("CREATE TEMP TABLE sought (person INTEGER, hash BLOB)")
    connection.executemany(
        "INSERT INTO sought VALUES (?, ?)",
        ((index, _hash_name(start, name)) for start in starts for index, name in enumerate(names)),
    )
    repeated = connection.execute(
        "SELECT person FROM sought JOIN silo_persons USING (hash) GROUP BY person "
        "HAVING sum(rows) > ? OR max(survey <> ?)",
        (most, epoch.survey),
    ).fetchall()
    connection.execute("DROP TABLE sought")  # a journal in memory keeps its connection
    if repeated:
        raise RepeatedPersonsError({names[index] for (index,) in repeated})


def _hash_name(start: hashlib.blake2b, name: str) -> bytes:
    state = start.copy()
    state.update(name.encode("utf-8", "surrogatepass"))
    return state.digest()
