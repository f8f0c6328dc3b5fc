"""The privacy statement of a curator's model: the promise, and what each step of the training spent."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ldp_aggregator.codec import require

ADD_REMOVE, REPLACE = "add-remove", "replace"
MAX_EPSILON = 1000
_MAX_STEPS = 100


@dataclass(frozen=True)
class Spending:
    """What one step of a training spends."""

    step: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)


@dataclass(frozen=True, kw_only=True)
class CuratorPrivacy:
    """What a curator promises. Amounts are exact fractions; the amounts of the steps add up to the total."""

    adjacency: str
    rows_per_person: int
    epsilon: Fraction
    delta: Fraction
    steps: tuple[Spending, ...]
    expected_rows: int
    are_rows_public: bool
    """Whether the expected number of rows is the survey's, and not a noisy number."""

    def check_entries(self) -> None:
        """Raise ValueError unless the steps add up to what is promised."""
        require(self.adjacency in (ADD_REMOVE, REPLACE), "adjacency: is unknown")
        require(1 <= len(self.steps) <= _MAX_STEPS, f"needs 1 to {_MAX_STEPS} steps")
        is_sum = self.epsilon == sum(each.epsilon for each in self.steps) <= MAX_EPSILON
        require(is_sum, "the epsilon of the steps does not add up")
        is_sum = self.delta == sum(each.delta for each in self.steps) <= 1
        require(is_sum, "the delta of the steps does not add up")
        for name in ("rows_per_person", "expected_rows"):
            require(getattr(self, name) > 0, f"{name}: needs a whole number of at least 1")
