"""Checks that the rows of a new epoch are new, and that no person spends more than epsilon."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from encoders.errors import TokenError
from ldp_client.errors import BudgetError, PlanError
from ldp_silo.rows_file import FileDigest
from ldp_silo.silo_ledger import Epoch, EpochError, NewEpoch, read_epochs, read_key

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
    names = list(new.persons)
    start_hash = partial(
        hashlib.blake2b, digest_size=PERSON_HASH_BYTES, key=read_key(connection), person=b"silo person"
    )
    scopes = dict.fromkeys(json.dumps([each.family, each.origin, each.signer]) for each in (epoch, *earlier))
    starts = [start_hash(scope.encode()) for scope in scopes]
    connection.executemany(
        "INSERT INTO silo_persons (hash, survey, rows) VALUES (?, ?, ?) "
        "ON CONFLICT (hash) DO UPDATE SET rows = rows + excluded.rows",
        ((_hash_name(starts[0], name), epoch.survey, rows) for name, rows in new.persons.items()),
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
