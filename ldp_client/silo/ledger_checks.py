"""Checks that the rows of a new epoch are new, and that no person spends more than epsilon."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

from encoders.errors import TokenError
from ldp_client.errors import BudgetError
from ldp_client.silo.ledger import Epoch, EpochError, NewEpoch, read_epochs, read_key

PERSON_HASH_BYTES = 16


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


def require_total(connection: sqlite3.Connection, epsilon: Decimal, max_total: Fraction | None) -> None:
    """Raise BudgetError if one more survey of this epsilon would exceed the total of a person."""
    spent = sum_epsilon(read_epochs(connection))
    if max_total is not None and spent + Fraction(epsilon) > max_total:
        raise BudgetError(
            f"the survey would spend epsilon {epsilon}, "
            f"but {float(spent):g} of {float(max_total):g} are already spent",
            "total-epsilon-spent",
        )


def require_unused_token(earlier: Sequence[Epoch], message_id: bytes) -> None:
    """Raise TokenError if a message of an earlier epoch has this id: the collector would refuse another."""
    for epoch in earlier:
        if epoch.message_id == message_id:
            raise TokenError(f"was used for epoch {epoch.name}: each message needs a token of its own")


def add_persons(connection: sqlite3.Connection, family: str, new: NewEpoch, most: int) -> None:
    """Add each person's number of rows; raise EpochError if a person has more than `most` over all epochs."""
    key = read_key(connection)
    connection.executemany(
        "INSERT INTO silo_persons (hash, rows) VALUES (?, ?) "
        "ON CONFLICT (hash) DO UPDATE SET rows = rows + excluded.rows",
        _hash_persons(key, family, new.persons),
    )
    (found,) = connection.execute("SELECT count(*) FROM silo_persons WHERE rows > ?", (most,)).fetchone()
    if found:
        raise EpochError(
            f"column {new.person_column!r} names {found} person{'s' * (found > 1)} with more than {most} "
            f"row{'s' * (most > 1)} over all epochs, the most that the survey allows (rows_per_person)",
            "too-many-rows-of-a-person",
        )


def _hash_persons(key: bytes, family: str, persons: Counter[str]) -> Iterator[tuple[bytes, int]]:
    start = hashlib.blake2b(
        family.encode() + b"\0", digest_size=PERSON_HASH_BYTES, key=key, person=b"silo person"
    )
    for name, rows in persons.items():
        state = start.copy()
        state.update(name.encode("utf-8", "surrogatepass"))
        yield state.digest(), rows
