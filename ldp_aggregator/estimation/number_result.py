"""The result of one numeric feature: for people in its own unit, for the classifier in normalised units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from encoders.survey import NumericFeature
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.intervals import IntervalEstimate
from ldp_aggregator.estimation.json_form import read_number, read_text, reading, require
from ldp_aggregator.estimation.numeric.all_classes import AllClasses
from ldp_aggregator.estimation.numeric.gaussians import Gaussian
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.numeric.number_differences import find_differing_statistics
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
        """Compute the statistics from raw moments."""
        variances = _variances(feature, raw)
        return cls(
            means=_means(feature, raw),
            squares=_squares(feature, raw),
            variances=variances,
            deviations=square_root(variances),
            missing=raw.estimate_missing() if raw.can_be_missing else None,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the statistics for JSON."""
        return {name: each.as_dict() if each else None for name, each in vars(self).items()}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any], k: int) -> Self:
        """Return the statistics of k classes that :meth:`as_dict` wrote."""
        means, squares, variances, deviations = (
            IntervalEstimate.from_dict(entry[name], (k,))
            for name in ("means", "squares", "variances", "deviations")
        )
        missing = None if entry["missing"] is None else IntervalEstimate.from_dict(entry["missing"], (k,))
        return cls(means, squares, variances, deviations, missing)


@dataclass(frozen=True)
class NumberResult:
    """The result of one numeric feature."""

    name: str
    mean_question: QuestionSummary
    square_question: QuestionSummary
    overall: NumberStatistics
    """Of all people."""
    by_class: NumberStatistics
    distinguishable_entries: Mapping[str, bool]
    """For "means", "variances" and possibly "missing", whether any two classes differ significantly, see
    :mod:`class_differences`."""
    relevance: Relevance
    """Computed from the raw estimates."""
    smoothed: Gaussian
    """The classifier's distributions in normalised units, in which the bounds of the feature are -1 and 1."""
    width: float
    """One normalised unit in the feature's own unit."""
    kind = NumericFeature.kind

    @classmethod
    def from_estimates(
        cls,
        feature: NumericFeature,
        questions: Sequence[QuestionSummary],
        raw: ClassMoments,
        smoothed: Gaussian,
        prior: FloatArray,
    ) -> Self:
        """Build the result from raw estimates of two questions and normal distributions of an estimator."""
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
            smoothed=smoothed,
            width=feature.width,
        )

    @property
    def distinguishable(self) -> bool:
        """Whether any statistic of at least two classes differs significantly."""
        return any(self.distinguishable_entries.values())

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "mean_question": self.mean_question.as_dict(),
            "square_question": self.square_question.as_dict(),
            "overall": self.overall.as_dict(),
            **(self._class_entries() if len(self.smoothed.mean) > 1 else {}),
            "smoothed": self.smoothed.as_dict(),
            "width": self.width,
        }

    def _class_entries(self) -> dict[str, Any]:
        """Return the entries of the JSON form that a survey without a label does not have."""
        return {
            **self.by_class.as_dict(),
            "relevance": self.relevance.as_dict(),
            "distinguishable": self.distinguishable,
            "distinguishable_entries": dict(self.distinguishable_entries),
        }

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any], k: int) -> Self:
        """Return the result for k classes that :meth:`as_dict` wrote."""
        require(entry["kind"] == cls.kind, "kind: is unknown")
        mean, square = (QuestionSummary.from_dict(entry[key]) for key in ("mean_question", "square_question"))
        width = read_number(entry["width"], math.inf)
        require(0 < width < math.inf, "width: needs a number above 0")
        with reading("overall"):
            overall = NumberStatistics.from_dict(entry["overall"], 1)
        return cls(
            name=read_text(entry["name"]),
            mean_question=mean,
            square_question=square,
            overall=overall,
            smoothed=Gaussian.from_dict(entry["smoothed"], k),
            width=width,
            **(_read_classes(entry, k) if k > 1 else _describe_one_class(overall)),
        )


def _read_classes(entry: Mapping[str, Any], k: int) -> dict[str, Any]:
    """Return the parts of a result that compare classes."""
    marks = entry["distinguishable_entries"]
    are_marks = {"means", "variances"} <= set(marks) <= {"means", "variances", "missing"}
    require(are_marks and all(type(each) is bool for each in marks.values()), "needs marks of moments")
    return {
        "by_class": NumberStatistics.from_dict(entry, k),
        "distinguishable_entries": marks,
        "relevance": Relevance.from_dict(entry["relevance"]),
    }


def _describe_one_class(overall: NumberStatistics) -> dict[str, Any]:
    """Return these parts for a survey without a label, in which all people are one class."""
    return {"by_class": overall, "distinguishable_entries": {}, "relevance": UNKNOWN}


# A number is middle + width * x with x in [-1, 1], so its moments are linear in those of x.


def _means(feature: NumericFeature, raw: ClassMoments) -> IntervalEstimate:
    (low, high), width = feature.bounds, feature.width
    if raw.first is None:
        return raw.estimate_expectation(None, (low, high))
    return raw.estimate_expectation(raw.first.times(width) + raw.present.times((low + high) / 2), (low, high))


def _squares(feature: NumericFeature, raw: ClassMoments) -> IntervalEstimate:
    (low, high), width = feature.bounds, feature.width
    bounds = 0.0 if low < 0 < high else min(low**2, high**2), max(low**2, high**2)
    if raw.first is None or raw.second is None:
        return raw.estimate_expectation(None, bounds)
    middle = (low + high) / 2
    own = raw.second.times(width**2) + raw.first.times(2 * middle * width)
    return raw.estimate_expectation(own + raw.present.times(middle**2), bounds)


def _variances(feature: NumericFeature, raw: ClassMoments) -> IntervalEstimate:
    width, bounds = feature.width, (0.0, feature.width**2)
    if raw.squared_deviation is None:
        return raw.estimate_expectation(None, bounds)
    return raw.estimate_expectation(
        raw.squared_deviation.times(width**2), bounds, raw.second_order_variance * width**4
    )


def square_root(variances: IntervalEstimate) -> IntervalEstimate:
    """Return the square roots, with standard errors by the delta method; unknown unless above zero."""
    known = variances.value > 0
    value = np.sqrt(np.where(known, variances.value, np.nan))
    return IntervalEstimate(
        value=value,
        stderr=np.where(known, variances.stderr / (2 * value), np.inf),
        low=np.sqrt(variances.low),
        high=np.sqrt(variances.high),
        simultaneous_low=np.sqrt(variances.simultaneous_low),
        simultaneous_high=np.sqrt(variances.simultaneous_high),
    )
