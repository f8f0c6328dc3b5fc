"""The cells of the comparison, which are measured one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

DATA_SETS = ("car", "chess", "mushroom", "connect-4")
EPSILONS = ("0.1", "0.25", "0.5", "1", "2", "3", "4", "5")
PAPER = ("DE", "SUE", "OUE", "SHE", "THE")
REAL_SHE = "SHE, real-valued noise as printed"
"""A simulation only: devices draw discrete noise, and real-valued noise cannot be drawn exactly."""
OURS = "ours"
VALIDATED = "ours, validated"
"""A fifth of the users validate the others' model, which keeps its most accurate features."""
LABEL = "label only"
"""Every user is asked for the label alone."""
OTHERS = (OURS, VALIDATED, LABEL)
NON_PRIVATE = "non-private"

POPULATIONS = {10_000: 20, 100_000: 10, 1_000_000: 10}
"""Numbers of users drawn from the training rows, and the maximum number of repeats of each."""
POPULATION_EPSILONS = ("0.5", "1")
POPULATION_WAYS = ("DE", "OUE", OURS, VALIDATED)


@dataclass(frozen=True)
class Cell:
    """One method on one data set.

    Attributes
    ----------
    data : str
        Name of the data set.
    way : str
        A mechanism of PAPER, REAL_SHE, OURS, VALIDATED, LABEL, or NON_PRIVATE, which has no epsilon.
    epsilon : str
    users : int
        Number of users, drawn with replacement from the training rows; 0 stands for these rows themselves.
    """

    data: str
    way: str
    epsilon: str = ""
    users: int = 0

    def repeats(self, wanted: int) -> int:
        """Return the number of repeats if `wanted` are requested."""
        return min(wanted, POPULATIONS[self.users]) if self.users else wanted


def cells(data_sets: Sequence[str]) -> Iterator[Cell]:
    """Yield all cells, ordered by data set."""
    for data in data_sets:
        yield Cell(data, NON_PRIVATE)
        for epsilon in EPSILONS:
            yield from (Cell(data, way, epsilon) for way in (*PAPER, REAL_SHE, OURS, VALIDATED, LABEL))
        for users in POPULATIONS:
            yield Cell(data, NON_PRIVATE, users=users)
            for epsilon in POPULATION_EPSILONS:
                yield from (Cell(data, way, epsilon, users) for way in POPULATION_WAYS)
