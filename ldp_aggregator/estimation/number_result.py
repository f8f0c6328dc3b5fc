"""The result of one numeric feature, in its own unit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from encoders.survey import NumericFeature
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.codec import require
from ldp_aggregator.estimation.class_differences import find_differing_statistics
from ldp_aggregator.estimation.estimators import Gaussian
from ldp_aggregator.estimation.intervals import PROBABILITY, Bounds, IntervalEstimate
from ldp_aggregator.estimation.numeric.number import AllClasses, ClassMoments
from ldp_aggregator.estimation.raw_estimates import QuestionSummary
from ldp_aggregator.estimation.relevance import UNKNOWN, Relevance, estimate_number_relevance


@dataclass(frozen=True)
class NumberStatistics:
    """Statistics of a number in the feature's own unit, per class, (k,), or of all people, (1,)."""

    means: IntervalEstimate
    squares: IntervalEstimate
    """E[number] and E[number^2], over the numbers that are present."""
    variances: IntervalEstimate
    deviations: IntervalEstimate
    """Variances and standard deviations."""
    missing: IntervalEstimate | None
    """P(missing); None if the number cannot be missing."""

    @classmethod
    def from_moments(cls, feature: NumericFeature, raw: ClassMoments) -> Self:
        """Return the statistics: a number is middle + width x, so its moments are linear in those of x."""
        width, middle, bounds = feature.width, sum(feature.bounds) / 2, find_bounds(feature)
        mean = square = spread = None
        if raw.first is not None:
            mean = raw.first.times(width) + raw.present.times(middle)
        if raw.first is not None and raw.second is not None:
            own = raw.second.times(width**2) + raw.first.times(2 * middle * width)
            square = own + raw.present.times(middle**2)
        if raw.squared_deviation is not None:
            spread = raw.squared_deviation.times(width**2)
        variances = raw.estimate_expectation(
            spread, bounds["variances"], raw.second_order_variance * width**4
        )
        extra = (raw.second_bias * width**2) ** 2
        return cls(
            means=raw.estimate_expectation(mean, bounds["means"]),
            squares=raw.estimate_expectation(square, bounds["squares"], extra),
            variances=variances,
            deviations=variances.square_root(),
            missing=raw.estimate_missing() if raw.can_be_missing else None,
        )


def find_bounds(feature: NumericFeature) -> dict[str, Bounds]:
    """Return the possible ranges of statistics."""
    low, high = feature.bounds
    least = 0.0 if low < 0 < high else min(low**2, high**2)
    return {
        "means": feature.bounds,
        "squares": (least, max(low**2, high**2)),
        "variances": (0.0, feature.width**2),
        "missing": PROBABILITY,
    }


@dataclass(frozen=True)
class NumberResult:
    """The result of one numeric feature."""

    name: str
    mean_question: QuestionSummary
    """The question about the mean, or about both moments."""
    square_question: QuestionSummary
    """It has no mechanism if another question, or a table of silos, is about both."""
    overall: NumberStatistics
    """Of all people."""
    by_class: NumberStatistics
    distinguishable_entries: Mapping[str, bool]
    """For "means", "variances" and possibly "missing", whether any two classes differ significantly, see
    :mod:`class_differences`."""
    relevance: Relevance
    """Computed from the raw estimates."""
    spread: float
    """A typical standard deviation within a class, in the feature's own unit."""
    width: float
    """One normalised unit in the feature's own unit."""
    kind = NumericFeature.kind
    JSON_KINDS = (kind,)
    JSON_DERIVED = ("kind", "distinguishable")

    @classmethod
    def from_estimates(
        cls,
        feature: NumericFeature,
        questions: Sequence[QuestionSummary],
        raw: ClassMoments,
        smoothed: Gaussian,
        prior: FloatArray,
    ) -> Self:
        by_class = NumberStatistics.from_moments(feature, raw)
        means, variances, missing = by_class.means, by_class.variances, by_class.missing
        return cls(
            name=feature.name,
            mean_question=questions[0],
            square_question=questions[1],
            overall=NumberStatistics.from_moments(feature, AllClasses.from_classes(raw)),
            by_class=by_class,
            distinguishable_entries=find_differing_statistics(raw),
            relevance=estimate_number_relevance(means, variances, missing, prior),
            spread=math.sqrt(smoothed.variance.mean()) * feature.width,
            width=feature.width,
        )

    @property
    def is_asked(self) -> bool:
        return self.mean_question.mechanism is not None or self.square_question.mechanism is not None

    @property
    def distinguishable(self) -> bool:
        """Whether any statistic of at least two classes differs significantly."""
        return any(self.distinguishable_entries.values())

    @property
    def omitted_entries(self) -> tuple[str, ...]:
        return _OF_CLASSES if len(self.by_class.means.value) == 1 else ()

    @staticmethod
    def complete_entries(values: dict[str, Any]) -> None:
        if "overall" in values and "by_class" not in values:
            values.update(by_class=values["overall"], distinguishable_entries={}, relevance=UNKNOWN)

    def check_entries(self) -> None:
        for statistics, shape in ((self.overall, (1,)), (self.by_class, self.by_class.means.value.shape)):
            parts = [each for each in vars(statistics).values() if each]
            require({each.value.shape for each in parts} == {shape}, "needs estimates of each class")
        marks = set(self.distinguishable_entries)
        is_marked = {"means", "variances"} <= marks <= {"means", "variances", "missing"}
        is_marked |= len(self.by_class.means.value) == 1
        require(is_marked, "distinguishable_entries: needs marks of moments")
        require(0 < self.width < math.inf, "width: needs a number above 0")
        require(0 < self.spread < math.inf, "spread: needs a number above 0")


_OF_CLASSES = ("by_class", "distinguishable_entries", "relevance", "distinguishable")
"""The entries that compare classes."""
