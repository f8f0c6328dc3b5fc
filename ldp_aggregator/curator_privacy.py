"""The privacy statement of a curator's model: the promise, and what each step of the training spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from encoders.survey.decimals import parse_amount
from encoders.survey.plan_checks import CENTRAL
from ldp_aggregator.estimation.json_form import read_count, read_text, reading, require

ADD_REMOVE, REPLACE = "add-remove", "replace"
MAX_EPSILON = 1000
_FROM_SURVEY, _FROM_NOISE = "survey", "noisy count"
_MAX_STEPS = 100


@dataclass(frozen=True)
class Spending:
    """What one step of a training spends."""

    step: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)


@dataclass(frozen=True, kw_only=True)
class CentralPrivacy:
    """What a curator promises. Amounts are exact fractions; the amounts of the steps add up to the total."""

    adjacency: str
    rows_per_person: int
    epsilon: Fraction
    delta: Fraction
    steps: tuple[Spending, ...]
    expected_rows: int
    are_rows_public: bool
    """Whether the expected number of rows is the survey's, and not a noisy number."""

    def as_dict(self) -> dict[str, Any]:
        """Return the statement for JSON; amounts are texts."""
        return {
            "trust": CENTRAL,
            "adjacency": self.adjacency,
            "rows_per_person": self.rows_per_person,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "steps": [
                {"step": each.step, "epsilon": str(each.epsilon), "delta": str(each.delta)}
                for each in self.steps
            ],
            "expected_rows": self.expected_rows,
            "expected_rows_from": _FROM_SURVEY if self.are_rows_public else _FROM_NOISE,
        }

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Self:
        """Return the statement that :meth:`as_dict` wrote; ValueError if an entry is wrong."""
        are_known = entry["trust"] == CENTRAL and entry["adjacency"] in (ADD_REMOVE, REPLACE)
        require(are_known, "the trust or the adjacency is unknown")
        steps = tuple(
            Spending(read_text(each["step"]), parse_amount(each["epsilon"]), parse_amount(each["delta"]))
            for each in entry["steps"]
        )
        require(1 <= len(steps) <= _MAX_STEPS, f"needs 1 to {_MAX_STEPS} steps")
        epsilon, delta = parse_amount(entry["epsilon"]), parse_amount(entry["delta"])
        is_sum = epsilon == sum(each.epsilon for each in steps) <= MAX_EPSILON
        require(is_sum, "the epsilon of the steps does not add up")
        require(delta == sum(each.delta for each in steps) <= 1, "the delta of the steps does not add up")
        counts = {}
        for key in ("rows_per_person", "expected_rows"):
            with reading(key):
                counts[key] = read_count(entry[key])
                require(counts[key] > 0, "needs a whole number of at least 1")
        source = entry["expected_rows_from"]
        require(source in (_FROM_SURVEY, _FROM_NOISE), "expected_rows_from: is unknown")
        return cls(
            adjacency=entry["adjacency"],
            epsilon=epsilon,
            delta=delta,
            steps=steps,
            are_rows_public=source == _FROM_SURVEY,
            **counts,
        )
