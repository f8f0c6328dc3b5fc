"""The questions of a survey: about the label alone, or about features coupled with the label.

Coupling preserves the relation of feature and label that Naive Bayes needs. A discrete feature is one
question: the joint index a*k + c of feature code a and label code c (Yilmaz et al. 2019, section 3.1.2). A
number is two questions, the number and its square, each with the label (section 3.2), or one question about
both. `laplace` asks for all numbers in one question. Several discrete features can be one question, whose
answers are all their combinations, with the label or without it.

An ordered feature with many values can be several questions without the label: its levels, which ask about
intervals of different widths, so that P(x < 40) is a sum of fewer noisy estimates. Each person answers one
(Qardaji, Yang and Li 2013; Kulkarni, Cormode and Srivastava 2019).
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any

from encoders.canonical import dump_canonical_json
from encoders.errors import SurveyError
from encoders.mechanisms import Mechanism, NumericDomain
from encoders.mechanisms.numeric_base import GRID
from encoders.probability_tables import WORD
from encoders.randomness import RandomSource
from encoders.survey.features import BinnedFeature, CategoricalFeature, Feature, Label, NumericFeature
from encoders.survey.parse_value import MISSING_TEXT
from encoders.survey.projection import Projection
from encoders.survey.validation_round import Validation

MEAN, SQUARE, BOTH = 1, 2, 1 | 2
"""What a question about numbers estimates: their mean, their mean square, or both of one number."""
_KINDS = {MEAN: "mean", SQUARE: "square", BOTH: "number"}


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question of a plan."""

    index: int
    label: Label
    """`NO_LABEL` if the label is not asked for, as in a table of several features."""
    feature_indices: tuple[int, ...]
    """Indices of the features in the plan: none for the label question, several for `laplace` and for
    discrete features that share a question."""
    asked_features: tuple[Feature, ...]
    weight: int
    """The question is drawn with probability weight / (sum of all weights)."""
    mechanism: Mechanism
    width: int = 1
    """Number of adjacent values of an ordered feature that are one answer, see :func:`join_values`.
    `asked_features` then has these intervals as values."""
    shift: int = 0
    """Number of values that the first interval lacks."""
    moment: int | None = None
    """MEAN or BOTH if a number is asked for, SQUARE if its square; None for discrete features."""
    projection: Projection | None = None
    """The plan's projection, which computes some of the features."""
    validation: Validation | None = None
    """The plan's model, if it validates one. Label and features are then whether its predictions are
    right."""
    wave: int | None = None
    """Index of the wave in which the question is asked, as a collector counts it; see
    :attr:`~encoders.survey.plan.Plan.counted_questions`."""

    @property
    def feature(self) -> Feature | None:
        return self.asked_features[0] if len(self.asked_features) == 1 else None

    @property
    def name(self) -> str:
        """Name of the question for people: its features, or the label."""
        about = ", ".join(feature.name for feature in self.asked_features) or self.label.name
        if self.width > 1:
            about += f" ({count_values(self.asked_features[0])} intervals)"
        return f"{about} ({self.kind})" if self.moment in (MEAN, SQUARE) else about

    @property
    def kind(self) -> str:
        """One of "label", "coupled", "mean", "square", "number"."""
        return _KINDS[self.moment] if self.moment else "coupled" if self.feature_indices else "label"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the counters of a discrete question: A_i for each feature, then k."""
        return (*(feature.size for feature in self.asked_features), len(self.label.values))

    @property
    def domain(self) -> int:
        """Number of possible answers of a discrete question, d = A_i k."""
        return prod(self.shape)

    @property
    def numeric_domain(self) -> NumericDomain:
        return build_numeric_domain(self.label, self.asked_features, self.moment)

    @property
    def cells(self) -> int:
        return self.mechanism.cells

    @property
    def support_key(self) -> str:
        """Name of the total of this question's support counters, if its mechanism has any."""
        return f"{self.key}:support"

    @cached_property
    def key(self) -> str:
        """Hash of what is asked and how it is randomised, then "@w" for wave w; equal keys may be added."""
        features = [feature.as_dict() for feature in self.asked_features]
        asked: dict[str, Any] = {
            "feature": (features[0] if features else None) if len(features) < 2 else features,
            "mechanism": self.mechanism.name,
            "tables": self.mechanism.parameters,
            **self.label.as_entries(),
        }
        if self.moment:
            asked["moment"] = self.moment
        if projected := self._projection_document():
            asked["projection"] = projected
        if self.validation:
            asked["validation"] = self.validation.digest
        key = hashlib.sha256(dump_canonical_json(asked)).hexdigest()[:16]
        return key if self.wave is None else f"{key}@{self.wave}"

    def _projection_document(self) -> dict[str, Any] | None:
        names = [feature.name for feature in self.asked_features]
        known = self.projection.components if self.projection else ()
        components = [each.as_dict() for each in known if each.name in names]
        if not (self.projection and components):
            return None
        return {"components": components, "inputs": [each.as_dict() for each in self.projection.inputs]}

    def value(self, codes: Sequence[int], label_code: int) -> Any:
        """Return the true answer of a coded row as an input of the mechanism.

        It is the label's code c for the label alone, a k + c for a feature's code a, and (a B + b) k + c for
        two features, the second with B values. k is 1, and c is 0, for a question without the label. The
        interval of a code a is (a + shift) // width. A number or its square has a code like a feature. For
        several numbers, the answer is a tuple.
        """
        label_code = label_code if self.label.exists else 0
        if not self.feature_indices:
            return label_code
        found = [(codes[index] + self.shift) // self.width for index in self.feature_indices]
        if self.moment == SQUARE:
            found = [square_code(code) for code in found]
        if self.mechanism.multivariate:
            return tuple(code * len(self.label.values) + label_code for code in found)
        return sum(map(mul, found, self.strides), label_code)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """For each feature, the change of :meth:`value` if the feature's code increases by 1."""
        turning = [len(self.label.values), *(feature.size for feature in self.asked_features[:0:-1])]
        return tuple(accumulate(turning[: len(self.asked_features)], mul))[::-1]

    def meaning(self, value: Any) -> dict[str, str]:
        """Return an answer in words, keyed by the names of the features and the label."""
        codes, label_code = self._split_value(value)
        words = {
            feature.name: self._code_text(feature, code)
            for feature, code in zip(self.asked_features, codes, strict=True)
        }
        return words | self.label.meaning(label_code)

    def _split_value(self, value: Any) -> tuple[list[int], int]:
        if self.mechanism.multivariate:
            k = len(self.label.values)
            return [part // k for part in value], value[0] % k
        codes = []
        for step in self.strides:
            code, value = divmod(value, step)
            codes.append(code)
        return codes, value

    def _code_text(self, feature: Feature, code: int) -> str:
        if not isinstance(feature, NumericFeature):
            return feature.texts[code]
        x = (code - GRID) / GRID
        if code > 2 * GRID:
            return MISSING_TEXT
        return f"{x:.4g} (squared distance)" if self.moment == SQUARE else format_number(feature.original(x))

    @property
    def label_texts(self) -> list[str]:
        """Each class in words, as in ``paid = no``; one empty text without a label."""
        return [f"{self.label.name} = {value}" if self.label.exists else "" for value in self.label.values]

    def as_dict(self, tables: str, realised: str) -> dict[str, Any]:
        ratio, indices = self.mechanism.ratio, self.feature_indices
        is_list = self.mechanism.multivariate or len(indices) > 1
        entry: dict[str, Any] = {
            "epsilon": realised,
            "feature": list(indices) if is_list else next(iter(indices), None),
            "mechanism": self.mechanism.name,
            "ratio": [str(ratio.numerator), str(ratio.denominator)],
            "tables": tables,
            "weight": self.weight,
        }
        if self.width > 1:
            entry["width"] = self.width
        return entry | ({"moment": self.moment} if self.moment else {"domain": self.domain})


def format_number(number: float) -> str:
    """Return a number as text with six digits, without an exponent for numbers below 10^15."""
    text = f"{number:.6g}"
    return f"{float(text):.0f}" if "e+" in text and abs(number) < 1e15 else text


def build_numeric_domain(label: Label, asked: Sequence[Feature], moment: int | None) -> NumericDomain:
    """Return the input of a mechanism: the numbers of these features, or their squares, with the label."""
    missing = tuple(feature.missing == "category" for feature in asked)
    return NumericDomain(len(label.values), missing, 0 if moment == SQUARE else -1, moment == BOTH)


def square_code(code: Any) -> Any:
    """Return floor(d^2 / GRID + 1/2) + GRID for d = code - GRID, int or int64; missing stays missing."""
    steps = code - GRID
    return (steps * steps + GRID // 2) // GRID + GRID - (code > 2 * GRID)


def count_values(feature: Feature) -> int:
    """Return the number of values of a feature, without the missing one."""
    return feature.size - (feature.missing == "category")


def find_shift(feature: Feature, width: int) -> int:
    """Return how many values the first interval lacks: (v + shift) // width is that of each code v."""
    return -count_values(feature) % width


def join_values(feature: Feature, width: int) -> Feature:
    """Return a feature of intervals of `width` adjacent values; SurveyError unless ordered, or below two."""
    first = width - find_shift(feature, width)
    if isinstance(feature, NumericFeature) or not (feature.ordered and width > 1):
        raise SurveyError("only an ordered feature can be asked about in intervals", feature.name)
    if count_values(feature) <= width:
        raise SurveyError(f"has too few values for intervals of {width}", feature.name)
    if isinstance(feature, BinnedFeature):
        return BinnedFeature(feature.name, (feature.edges[0], *feature.edges[first::width]), feature.missing)
    starts = [0, *range(first, len(feature.values), width)]
    ends = [*starts[1:], len(feature.values)]
    values = feature.values
    texts = [
        values[start] if end == start + 1 else f"{values[start]} to {values[end - 1]}"
        for start, end in zip(starts, ends, strict=True)
    ]
    return CategoricalFeature(feature.name, tuple(texts), feature.missing, ordered=True)


def thresholds(weights: Sequence[int]) -> list[int]:
    """Return the limits of the questions' 64-bit draws: floor(2^64 cumulative weight / total weight)."""
    total = sum(weights)
    return [WORD * reached // total for reached in accumulate(weights)][:-1]


def draw(limits: Sequence[int], rng: RandomSource) -> int:
    """Draw a question's index with 8 random bytes and the `thresholds` of the questions."""
    return bisect_right(limits, int.from_bytes(rng.take(8), "little"))
