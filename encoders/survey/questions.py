"""The questions of a survey: the label alone, or one feature coupled with the label.

Each user answers exactly one, drawn with public weights and without looking at her row. Coupling keeps
the relation of feature and label that Naive Bayes needs: the value asked for is the joint index
a*k + c of feature code a and label code c (001, section 3.1.2).
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from encoders.mechanisms import Mechanism
from encoders.randomness import RandomSource
from encoders.survey import canonical
from encoders.survey.features import Feature, Label
from encoders.tables import WORD


@dataclass(frozen=True)
class Question:
    """One question of a plan.

    Attributes
    ----------
    index : int
        Its place in the plan, as reports name it.
    label : Label
    feature : Feature or None
        None for the label question.
    feature_index : int or None
    weight : int
        Drawn with probability weight / (sum of all weights).
    mechanism : Mechanism
    """

    index: int
    label: Label
    feature: Feature | None
    feature_index: int | None
    weight: int
    mechanism: Mechanism

    @property
    def name(self) -> str:
        """Name of the feature asked about, or of the label."""
        return self.feature.name if self.feature else self.label.name

    @property
    def kind(self) -> str:
        """Either "label" or "coupled"."""
        return "coupled" if self.feature else "label"

    @property
    def shape(self) -> tuple[int, int]:
        """(A_i, k): a counter vector of a coupled question reshapes to it; (1, k) for the label."""
        return (self.feature.size if self.feature else 1, len(self.label.values))

    @property
    def domain(self) -> int:
        """Number of values it can have, d = A_i k."""
        return self.shape[0] * self.shape[1]

    @cached_property
    def key(self) -> str:
        """Hash of what is asked and how it is randomised: equal keys mean counters that may be added."""
        asked = {
            "feature": self.feature.as_dict() if self.feature else None,
            "label": self.label.as_dict(),
            "mechanism": self.mechanism.name,
            "tables": self.mechanism.tables,
        }
        return hashlib.sha256(canonical.dump(asked)).hexdigest()[:16]

    def value(self, codes: Sequence[int], label_code: int) -> int:
        """Return the true answer of a coded row: c, or a*k + c."""
        if self.feature_index is None:
            return label_code
        return codes[self.feature_index] * len(self.label.values) + label_code

    def meaning(self, value: int) -> dict[str, str]:
        """Say in words what a value of the domain stands for."""
        code, label_code = divmod(value, len(self.label.values))
        words = {self.feature.name: self.feature.texts[code]} if self.feature else {}
        return words | {self.label.name: self.label.values[label_code]}

    def as_dict(self, tables: str, realised: str) -> dict[str, Any]:
        """Return the plan's form."""
        ratio = self.mechanism.ratio
        return {
            "domain": self.domain,
            "epsilon": realised,
            "feature": self.feature_index,
            "mechanism": self.mechanism.name,
            "ratio": [str(ratio.numerator), str(ratio.denominator)],
            "tables": tables,
            "weight": self.weight,
        }


def thresholds(weights: Sequence[int]) -> list[int]:
    """Return where a 64-bit draw passes from each question to the next: floor(2^64 cumulated/total)."""
    total = sum(weights)
    return [WORD * reached // total for reached in accumulate(weights)][:-1]


def draw(limits: Sequence[int], rng: RandomSource) -> int:
    """Draw a question's index from 8 random bytes and public limits."""
    return bisect_right(limits, int.from_bytes(rng.take(8), "little"))
