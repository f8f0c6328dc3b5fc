"""Checks that the rows of a new epoch are new, and that no person spends more than epsilon."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from encoders.errors import TokenError
from ldp_client.errors import BudgetError
from ldp_client.silo.ledger import Epoch, EpochError, NewEpoch, read_epochs, read_key
from ldp_client.silo.rows_file import FileDigest

PERSON_HASH_BYTES = 16


class RepeatedPersonsError(Exception):
    """Persons have too many rows over all epochs; never shown to anybody, because it holds their names.

    Attributes
    ----------
    names : set of str
    """

    def __init__(self, names: set[str]) -> None:
        super().__init__()
        self.names = names


def require_same_file(known: Epoch, file: FileDigest) -> None:
    """Raise EpochError if an epoch was reported with another file."""
    if known.file != file:
        raise EpochError(
            f"epoch {known.name} was recorded with another file, and its message stays as it is. Give new "
            "rows an epoch of their own. Rows that were only corrected are not new: do not report them again"
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
            f"earlier epochs named the persons in column {max(columns)!r}: name the column so in this file "
            "too, with the same names of persons",
            "other-person-column",
        )
    if not new.rows_are_new:
        raise EpochError(
            "a later epoch must hold new rows only, of persons whose rows were not counted before. Name the "
            "column of the persons in every epoch (person), so that the ledger checks it, or state it "
            "(new_rows)",
            "rows-not-stated-new",
        )


def sum_epsilon(epochs: Sequence[Epoch]) -> Fraction:
    """Return the most that the messages spend of one person's budget.

    A person's rows are in the epochs of a family at most `rows_per_person` times, so a family counts once.
    """
    largest: dict[tuple[str, str], Fraction] = {}
    for epoch in epochs:
        family = (epoch.family, epoch.signer or epoch.origin)
        largest[family] = max(largest.get(family, Fraction(0)), Fraction(epoch.epsilon))
    return sum(largest.values(), Fraction(0))


def require_total(connection: sqlite3.Connection, epoch: Epoch, max_total: Fraction | None) -> None:
    """Raise BudgetError if a new epoch would make a person spend more, and in all more than the total.

    An epoch of a family that has spent as much already adds nothing, because each row is in one epoch.
    """
    epochs = read_epochs(connection)
    spent, total = sum_epsilon(epochs), sum_epsilon([*epochs, epoch])
    if max_total is not None and spent < total > max_total:
        raise BudgetError(
            f"with epsilon {epoch.epsilon} of this survey a person would spend {float(total):g} in all, but "
            f"the limit is {float(max_total):g}, and {float(spent):g} are already spent",
            "total-epsilon-spent",
        )


def require_unused_token(earlier: Sequence[Epoch], message_id: bytes) -> None:
    """Raise TokenError if a message of an earlier epoch has this id: the collector would refuse another."""
    for epoch in earlier:
        if epoch.message_id == message_id:
            raise TokenError(f"was used for epoch {epoch.name}: each message needs a token of its own")


def add_persons(connection: sqlite3.Connection, survey: str, family: str, new: NewEpoch, most: int) -> None:
    """Add each person's number of rows.

    A person may have `most` rows over all epochs of a survey, and rows in one survey of a family: messages of
    two surveys may have noise of different scales.

    Raises
    ------
    RepeatedPersonsError
        If a person has more rows.
    """
    key = read_key(connection)
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("CREATE TEMP TABLE new_persons (hash BLOB PRIMARY KEY, rows INTEGER) WITHOUT ROWID")
    connection.executemany("INSERT INTO new_persons VALUES (?, ?)", _hash_persons(key, family, new.persons))
    repeated = connection.execute(
        "SELECT new.hash FROM new_persons new LEFT JOIN silo_persons old USING (hash) "
        "WHERE new.rows + coalesce(old.rows, 0) > ? OR old.survey <> ?",
        (most, survey),
    )
    if hashes := {each for (each,) in repeated}:
        found = _hash_persons(key, family, new.persons)
        names = zip(found, new.persons, strict=True)
        raise RepeatedPersonsError({name for (each, _), name in names if each in hashes})
    connection.execute(
        "INSERT INTO silo_persons (hash, survey, rows) SELECT hash, ?, rows FROM new_persons WHERE true "
        "ON CONFLICT (hash) DO UPDATE SET rows = silo_persons.rows + excluded.rows",
        (survey,),
    )
    connection.execute("DROP TABLE new_persons")  # a journal in memory keeps its connection


def _hash_persons(key: bytes, family: str, persons: Counter[str]) -> Iterator[tuple[bytes, int]]:
    start = hashlib.blake2b(
        family.encode() + b"\0", digest_size=PERSON_HASH_BYTES, key=key, person=b"silo person"
    )
    for name, rows in persons.items():
        state = start.copy()
        state.update(name.encode("utf-8", "surrogatepass"))
        yield state.digest(), rows
