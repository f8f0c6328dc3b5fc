"""The outcome of all poisoning checks of a survey, for people, from the JSON form of the checks.

The JSON form is also in a model file, so the terminal and the results page contain the same sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_ESTIMATE_NAMES = {
    "frequencies": "P(value, {label})",
    "conditionals": "P(value | {label})",
    "prior": "P({label})",
    "means": "the means",
    "variances": "the variances",
    "missing": "P(missing | {label})",
}
"""What a reader sees instead of the names of :class:`Influence`."""


@dataclass(frozen=True, kw_only=True)
class CheckOutcome:
    """The outcome of all poisoning checks of a survey."""

    questions: int
    """Number of questions."""
    untested: tuple[str, ...]
    """Names of the questions that cannot be tested."""
    alarms: tuple[str, ...]
    """Names of the questions with an alarm."""
    largest_influence: str | None
    """How far a share of fabricated reports at one question could move one of its estimates, at most."""

    @property
    def tested(self) -> int:
        """Number of questions that can be tested."""
        return self.questions - len(self.untested)


def summarise_checks(poisoning: Mapping[str, Any], label: str) -> CheckOutcome:
    """Return the outcome of the checks in the JSON form of a :class:`PoisoningSummary`.

    Parameters
    ----------
    poisoning : mapping
    label : str
        Name of the label.
    """
    checks = poisoning["questions"]
    return CheckOutcome(
        questions=len(checks),
        untested=tuple(each["question"] for each in checks if each["support"] is None),
        alarms=tuple(each["question"] for each in checks if each["support"] and each["support"]["findings"]),
        largest_influence=_describe_largest_influence(poisoning, label),
    )


def _describe_largest_influence(poisoning: Mapping[str, Any], label: str) -> str | None:
    moves = [
        (largest, estimate, each["question"])
        for each in poisoning["questions"]
        for estimate, influence in each["influence"].items()
        if (largest := _find_largest(influence["one_percent_in_stderrs"])) is not None
    ]
    if not moves:
        return None
    largest, estimate, question = max(moves, key=lambda move: move[0])
    name, separator, feature = estimate.partition(" of ")
    moved = f"{_ESTIMATE_NAMES[name].format(label=label)}{separator}{feature}"
    share = f"if {poisoning['share']:.0%} of the reports at {question} were fabricated"
    return f"{share}, they could move {moved} by {largest:.3g} standard errors"


def _find_largest(nested: Any) -> float | None:
    """Return the largest number in nested lists, in which None is unknown; None if all are unknown."""
    if isinstance(nested, list):
        known = [found for each in nested if (found := _find_largest(each)) is not None]
        return max(known, default=None)
    return None if nested is None else float(nested)
