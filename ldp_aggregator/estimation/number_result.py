"""What is known about one numeric feature, for people in its own unit, and for the classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from encoders.survey import NumericFeature, Question
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.contrasts import detect_class_differences
from ldp_aggregator.estimation.intervals import IntervalEstimate, jsonable
from ldp_aggregator.estimation.numeric.gaussians import Gaussian
from ldp_aggregator.estimation.numeric.number import Number
from ldp_aggregator.estimation.relevance import Relevance, number_relevance


@dataclass(frozen=True)
class QuestionSummary:
    """A question about a number: how it was asked, and how many answered.

    Attributes
    ----------
    mechanism : str or None
        None if the survey does not ask it.
    n : int
        Number of reports.
    """

    mechanism: str | None
    n: int

    @classmethod
    def from_question(cls, question: Question | None, n: int) -> Self:
        """Describe a question of the plan, or its absence."""
        return cls(question.mechanism.name if question else None, n)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {"mechanism": self.mechanism, "n": self.n}


@dataclass(frozen=True)
class NumberResult:
    """What is known about one numeric feature, per label, in the feature's own unit; figures are (k,).

    Attributes
    ----------
    name : str
    mean_question, square_question : QuestionSummary
    means, squares : IntervalEstimate
        E[number | label] and E[number^2 | label], of the numbers that are there.
    variances, deviations : IntervalEstimate
        The variance, and its root: the standard deviation.
    relevance : Relevance
        How much of the label the number explains, raw.
    missing : IntervalEstimate or None
        P(missing | label); None if the number cannot be missing.
    smoothed : Gaussian
        For the classifier, in normalised units: the bounds of the feature are -1 and 1.
    width : float
        One normalised unit in the feature's own.
    noise : float
        Typical standard error of a mean, as far as people of each label occur; at most `width`.
    """

    name: str
    mean_question: QuestionSummary
    square_question: QuestionSummary
    means: IntervalEstimate
    squares: IntervalEstimate
    variances: IntervalEstimate
    deviations: IntervalEstimate
    missing: IntervalEstimate | None
    relevance: Relevance
    smoothed: Gaussian
    width: float
    noise: float
    kind = NumericFeature.kind

    @classmethod
    def from_estimates(
        cls,
        feature: NumericFeature,
        asked: Sequence[QuestionSummary],
        heard: Number,
        smoothed: Gaussian,
        prior: FloatArray,
    ) -> Self:
        """Put together what two questions say and what a recipe made of it."""
        means, variances = _means(feature, heard), _variances(feature, heard)
        missing = heard.missing_figure() if heard.can_be_missing else None
        return cls(
            name=feature.name,
            mean_question=asked[0],
            square_question=asked[1],
            means=means,
            squares=_squares(feature, heard),
            variances=variances,
            deviations=_root(variances),
            missing=missing,
            relevance=number_relevance(means, variances, missing, prior),
            smoothed=smoothed,
            width=feature.width,
            noise=float(np.sqrt(prior @ np.minimum(means.stderr, feature.width) ** 2)),
        )

    @property
    def apart(self) -> dict[str, bool]:
        """Of which figures some two classes are distinguishable, see :mod:`contrasts`."""
        told = {"means": self.means, "variances": self.variances, "missing": self.missing}
        return {name: bool(detect_class_differences(figure)) for name, figure in told.items() if figure}

    @property
    def distinguishable(self) -> bool:
        """Whether some two classes differ by more than noise would make them."""
        return any(self.apart.values())

    @property
    def spread(self) -> float:
        """Typical standard deviation of people of one label, as the classifier sees it.

        At most a quarter of the range: where noise drowns it, the classifier takes numbers to be anywhere.
        """
        return min(float(np.sqrt(self.smoothed.variance.mean())), 0.5) * self.width

    @property
    def warning(self) -> str | None:
        """What a reader should know, if anything."""
        asked = {"mean": self.mean_question, "square": self.square_question}
        if all(each.mechanism is None for each in asked.values()):
            return "the survey does not ask about it, so it cannot inform a prediction"
        unheard = [name for name, each in asked.items() if each.n == 0]
        if unheard:
            return "no reports" if len(unheard) == len(asked) else f"no reports of its {unheard[0]}"
        if self.noise <= self.spread:
            return None
        return (
            f"mostly noise. With {self.mean_question.n} reports a label's mean is off by {self.noise:.2g}, "
            f"and people of one label differ by {self.spread:.2g}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the estimate for JSON."""
        smoothed = self.smoothed
        return {
            "name": self.name,
            "kind": self.kind,
            "mean_question": self.mean_question.as_dict(),
            "square_question": self.square_question.as_dict(),
            "means": self.means.as_dict(),
            "squares": self.squares.as_dict(),
            "variances": self.variances.as_dict(),
            "deviations": self.deviations.as_dict(),
            "missing": self.missing.as_dict() if self.missing else None,
            "relevance": self.relevance.as_dict(),
            "distinguishable": self.distinguishable,
            "apart": self.apart,
            "smoothed": {
                "mean": jsonable(smoothed.mean),
                "variance": jsonable(smoothed.variance),
                "missing": None if smoothed.missing is None else jsonable(smoothed.missing),
            },
        }


# A number is its middle + width x, so what is heard of x and x^2 adds up to what people want to know.


def _means(feature: NumericFeature, heard: Number) -> IntervalEstimate:
    (low, high), width = feature.bounds, feature.width
    if heard.first is None:
        return heard.figure(None, (low, high))
    return heard.figure(heard.first.times(width) + heard.present.times((low + high) / 2), (low, high))


def _squares(feature: NumericFeature, heard: Number) -> IntervalEstimate:
    (low, high), width = feature.bounds, feature.width
    bounds = 0.0 if low < 0 < high else min(low**2, high**2), max(low**2, high**2)
    if heard.first is None or heard.second is None:
        return heard.figure(None, bounds)
    middle = (low + high) / 2
    own = heard.second.times(width**2) + heard.first.times(2 * middle * width)
    return heard.figure(own + heard.present.times(middle**2), bounds)


def _variances(feature: NumericFeature, heard: Number) -> IntervalEstimate:
    width, bounds = feature.width, (0.0, feature.width**2)
    if heard.deviation is None:
        return heard.figure(None, bounds)
    return heard.figure(heard.deviation.times(width**2), bounds, heard.curvature * width**4)


def _root(variances: IntervalEstimate) -> IntervalEstimate:
    """Return the figure of the root, its standard error by the delta method; unknown if not above zero."""
    known = variances.value > 0
    value = np.sqrt(np.where(known, variances.value, np.nan))
    stderr = np.where(known, variances.stderr / (2 * value), np.inf)
    ends = (variances.low, variances.high, variances.simultaneous_low, variances.simultaneous_high)
    return IntervalEstimate(value, stderr, *map(np.sqrt, ends))
