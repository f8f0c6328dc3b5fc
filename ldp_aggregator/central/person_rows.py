"""Checks that no person has more rows than a curator states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ldp_aggregator.central.coded_rows import CentralError


def require_rows_per_person(people: Sequence[str], most: int, column: str) -> None:
    """Raise CentralError if a person has more than `most` rows; the message names the first row too many.

    Parameters
    ----------
    people : sequence of str
        Who each row belongs to. An empty cell is an error too: nobody can count that person's rows.
    most : int
    column : str
        The name of the column.
    """
    seen: Counter[str] = Counter()
    for number, person in enumerate(people, 1):
        if not person:
            raise CentralError(f"{column}: row {number}: the cell is empty, so the row belongs to nobody")
        seen[person] += 1
        if seen[person] > most:
            raise CentralError(
                f"{column}: row {number}: its person has more than {most} row{'s' if most > 1 else ''}: "
                "remove rows, or state more with --rows-per-person"
            )
