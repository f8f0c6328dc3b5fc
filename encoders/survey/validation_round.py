"""A validation round: devices report whether a model predicts their label, with all and the top k features.

The model is Naive Bayes in whole numbers: the score of a label is the sum over a row's values, and the label
with the highest score is predicted. Whether this is right is randomised like any other answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import add
from typing import Any

from encoders.canonical import dump_canonical_json
from encoders.errors import SurveyError
from encoders.mechanisms.numeric_base import GRID
from encoders.survey.features import CategoricalFeature, Feature, Label, NumericFeature, row_entries
from encoders.survey.projection import Projection, required_features

NATS = 1000
"""Units of a score in a nat: scores are logarithms of probabilities, in whole thousandths."""
LOWEST = -1_000_000
"""The least score; the greatest is zero. So every sum is exact, also in doubles."""
BINS = 64
"""Number of equal parts of a number's range, each with its scores."""
OUTCOMES = ("wrong", "right")
Scores = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Validation:
    """A model that devices validate, with all of its features and with the first k of them."""

    label: Label
    features: tuple[Feature, ...]
    """The features that code a row; scores have the same order."""
    order: tuple[int, ...]
    """Indices of the features that the model uses, the most relevant first."""
    top_k: tuple[int, ...]
    """Numbers k of first features with which the model is validated too: increasing, and less than all."""
    prior: tuple[int, ...]
    scores: tuple[Scores, ...]
    """For each feature a table with a row per code and a column per label. A number has a row for each of
    BINS parts of its range, then one for a missing number."""
    projection: Projection | None = None

    @property
    def entries(self) -> tuple[Feature, ...]:
        return required_features(self.features, self.projection)

    @cached_property
    def question_label(self) -> Label:
        """The label of the questions: whether the prediction with all features is right."""
        return Label(f"all {len(self.order)}", OUTCOMES)

    @cached_property
    def question_features(self) -> tuple[CategoricalFeature, ...]:
        """The features of the questions: whether the predictions with the top k features are right."""
        return tuple(CategoricalFeature(f"top {top}", OUTCOMES) for top in self.top_k)

    def validate(self, codes: Sequence[int], label_code: int) -> tuple[tuple[int, ...], int]:
        """Return the codes of a row's answers, for `top_k` and for all; of equal scores, the first wins."""
        sums: list[int] = list(self.prior)
        outcomes: dict[int, int] = {}
        for used, index in enumerate(self.order, 1):
            row = self.scores[index][find_score_row(self.features[index], codes[index])]
            sums = list(map(add, sums, row))
            outcomes[used] = int(sums.index(max(sums)) == label_code)
        return tuple(outcomes[top] for top in self.top_k), outcomes[len(self.order)]

    def check(self) -> None:
        """Raise SurveyError, with the wrong entry, unless what only a validation has is valid."""
        known = set(range(len(self.features)))
        if (
            not _are_whole(self.order)
            or len(set(self.order)) < max(2, len(self.order))
            or not set(self.order) <= known
        ):
            raise SurveyError("needs at least two features of the survey, each once", "validation.order")
        limits = (0, *self.top_k, len(self.order))
        if not self.top_k or not _are_whole(limits) or any(low >= high for low, high in pairwise(limits)):
            raise SurveyError(
                f"needs whole numbers that increase, from 1 to less than the {len(self.order)} of the order",
                "validation.tops",
            )
        if not _are_scores(self.prior, len(self.label.values)):
            raise SurveyError(_needs("label", len(self.label.values)), "validation.prior")
        if len(self.scores) != len(self.features):
            raise SurveyError("needs a table of scores for each feature", "validation.scores")
        for feature, table in zip(self.features, self.scores, strict=True):
            rows, width = cells_of(feature), len(self.label.values)
            if len(table) != rows or not all(_are_scores(row, width) for row in table):
                field = f"validation.scores.{feature.name}"
                raise SurveyError(f"needs {rows} rows, and in each {_needs('label', width)}", field)

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(dump_canonical_json(self.as_dict())).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        more = {"projection": self.projection.as_dict()} if self.projection else {}
        return more | {
            "features": [each.as_dict() for each in row_entries(self.features)],
            "label": self.label.as_dict(),
            "order": list(self.order),
            "prior": list(self.prior),
            "scores": [[list(row) for row in table] for table in self.scores],
            "tops": list(self.top_k),
        }

    @classmethod
    def from_dict(
        cls,
        document: Mapping[str, Any],
        label: Label,
        features: tuple[Feature, ...],
        projection: Projection | None,
    ) -> Validation:
        """Read the plan's form; label, features and projection have been read before."""
        return cls(
            label=label,
            features=features,
            order=tuple(document["order"]),
            top_k=tuple(document["tops"]),
            prior=tuple(document["prior"]),
            scores=tuple(tuple(map(tuple, table)) for table in document["scores"]),
            projection=projection,
        )


def cells_of(feature: Feature) -> int:
    if isinstance(feature, NumericFeature):
        return BINS + (feature.missing == "category")
    return feature.size


def find_score_row(feature: Feature, code: Any) -> Any:
    """Return the index of the row of scores of a code, or of an array of codes."""
    return code * BINS // (2 * GRID + 1) if isinstance(feature, NumericFeature) else code


def _are_whole(numbers: Sequence[object]) -> bool:
    return all(type(number) is int for number in numbers)


def _are_scores(row: object, width: int) -> bool:
    return (
        isinstance(row, tuple)
        and len(row) == width
        and all(type(score) is int and LOWEST <= score <= 0 for score in row)
    )


def _needs(of: str, count: int) -> str:
    return f"a whole number from {LOWEST} to 0 for each {of}, {count} in all"
