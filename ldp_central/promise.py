"""The privacy that a training promises to a person; the share of each step is in the module of the step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from ldp_aggregator.privacy_statement import ADD_REMOVE, MAX_CURATOR_EPSILON, REPLACE, Spending
from ldp_central.coded_rows import CentralError

MIN_ROW_EPSILON = Fraction(1, 10**6)
_PARTS = 1 << 10
_MAX_EXPONENT = 700
"""e^x of a larger exponent may not be a double."""


@dataclass(frozen=True)
class Promise:
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    adjacency: str = ADD_REMOVE
    """"add-remove": two neighbouring data sets differ by the rows of one person. "replace": they differ in
    the content of these rows."""
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= MAX_CURATOR_EPSILON:
            raise CentralError(f"epsilon must be above 0 and at most {MAX_CURATOR_EPSILON}")
        if not 0 <= self.delta < 1:
            raise CentralError("delta must be at least 0 and below 1")
        if self.adjacency not in (ADD_REMOVE, REPLACE):
            raise CentralError(f'adjacency is "{ADD_REMOVE}" or "{REPLACE}"')
        if self.rows_per_person < 1:
            raise CentralError("rows_per_person must be at least 1")
        if self.row_epsilon < MIN_ROW_EPSILON:
            raise CentralError(
                f"epsilon is below {float(MIN_ROW_EPSILON):g} for each row: nothing would be learnt. Give a "
                "larger epsilon, or fewer rows per person"
            )

    @property
    def group(self) -> int:
        """Number of rows that are added or removed between two neighbours, one after the other."""
        return self.rows_per_person * (2 if self.adjacency == REPLACE else 1)

    @property
    def row_epsilon(self) -> Fraction:
        """The epsilon of one row that is added or removed."""
        return self.epsilon / self.group

    @property
    def row_delta(self) -> Fraction:
        """The delta of one row: a group of g has (g epsilon, g e^((g - 1) epsilon) delta)-privacy."""
        return self.delta / self.delta_growth if self.delta else self.delta

    @property
    def delta_growth(self) -> Fraction:
        """An upper bound on g e^((g - 1) epsilon)."""
        exponent = float((self.group - 1) * self.row_epsilon)
        if exponent > _MAX_EXPONENT:
            raise CentralError(
                "epsilon is too large for a delta above 0 and several rows per person: give a smaller "
                "epsilon, or delta 0"
            )
        growth = math.exp(exponent)
        return self.group * Fraction(math.ceil(growth * _PARTS) + 1, _PARTS)

    def for_group(self, spending: Spending) -> Spending:
        """Return a step's epsilon for this promise's neighbours, from its epsilon for one row."""
        delta = spending.delta * self.delta_growth if spending.delta else spending.delta
        return Spending(spending.step, spending.epsilon * self.group, delta)
