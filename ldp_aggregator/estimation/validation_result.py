"""ValidationResult: how often devices found a model right, and which of its features it does better without.

Naive Bayes takes each feature for a witness of its own. Where features tell the same, it counts that several
times, and a few of them can be right more often than all. Tables of one feature each do not tell; devices do.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Self

import numpy as np

from encoders.errors import SurveyError
from encoders.survey import Plan, Survey
from encoders.survey.validation_round import Validation
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.frequencies import Frequencies
from ldp_aggregator.estimation.estimators import ClassConditional
from ldp_aggregator.estimation.intervals import IntervalEstimate
from ldp_aggregator.estimation.numeric.gaussians import Gaussian
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.snapshot import Snapshot

ERROR = 0.1
"""How often, at most, a model keeps fewer features where with none of the tops it is right more often."""
_GAIN = (-1.0, 1.0)
_RIGHT = 1


@dataclass(frozen=True)
class ValidationResult:
    """What devices said of a model.

    Attributes
    ----------
    snapshot : Snapshot
        The validation's totals.
    accuracy : IntervalEstimate
        Of shape (): how often the model is right with all its features.
    gains : IntervalEstimate
        (tops,) how much more often it is right with the top few alone.
    """

    snapshot: Snapshot
    accuracy: IntervalEstimate
    gains: IntervalEstimate

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> Self:
        """Estimate them from a validation's totals."""
        heard = compute_raw_estimates(snapshot)
        figure = heard.prior.estimate
        right = IntervalEstimate.from_stderr(figure.value[_RIGHT], figure.stderr[_RIGHT])
        found = np.array([_gain(each) for each in heard.feature_estimates if isinstance(each, Frequencies)])
        return cls(snapshot, right, IntervalEstimate.from_stderr(found[:, 0], found[:, 1], _GAIN))

    @property
    def model(self) -> Validation:
        """The model that was judged."""
        model = self.snapshot.plan.validation
        assert model is not None
        return model

    @property
    def selected(self) -> int | None:
        """Which of the tops the model should keep alone, by its place; None if all of its features.

        If some tops surely gain, by lower bounds that hold all at once but for ERROR of the surveys
        (Bonferroni): the fewest features whose gain is within a standard error of the largest of theirs.
        """
        known = np.isfinite(self.gains.stderr)
        value, error = np.where(known, self.gains.value, -1.0), np.where(known, self.gains.stderr, 0.0)
        sure = value > NormalDist().inv_cdf(1 - ERROR / value.size) * error
        if not sure.any():
            return None
        best = int(np.where(sure, value, -1.0).argmax())
        return int((value >= value[best] - error[best]).argmax())

    @property
    def selected_features(self) -> frozenset[int]:
        """The features that the model keeps, by their places: those it was judged with, or the top few."""
        order = self.model.order
        return frozenset(order if self.selected is None else order[: self.model.top_k[self.selected]])

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        model = self.model
        return {
            "features": [model.features[place].name for place in model.order],
            "right": self.accuracy.as_dict(),
            "tops": list(model.top_k),
            "gains": self.gains.as_dict(),
            "kept": None if self.selected is None else model.top_k[self.selected],
        }


def _gain(heard: Frequencies) -> tuple[float, float]:
    """Return how much more often the top few are right than all, F[1, 0] - F[0, 1], and its error."""
    if not heard.n:
        return float("nan"), float("inf")
    raw, own, likely = (each.reshape(2, 2) for each in (heard.raw, heard.noise.own, heard.noise.frequencies))
    gain, expected = (float(each[1, 0] - each[0, 1]) for each in (raw, likely))
    # what all cells share cancels in a difference
    return gain, float(np.sqrt(own[1, 0] + own[0, 1] - expected**2 / heard.n))


def make_uninformative(conditional: ClassConditional, prior: FloatArray) -> ClassConditional:
    """Return what a feature's value would say if it told nothing of the label: alike for all labels."""
    if not isinstance(conditional, Gaussian):
        return np.repeat((conditional @ prior)[:, None], len(prior), axis=1)
    mean = np.full(len(prior), prior @ conditional.mean)
    variance = np.full(len(prior), prior @ (conditional.variance + (conditional.mean - mean) ** 2))
    missing = conditional.missing
    return Gaussian(mean, variance, None if missing is None else np.full(len(prior), prior @ missing))


def refuse_validation(survey: Survey | Plan) -> None:
    """Refuse a survey that validates a model, where one is due that people answered.

    Raises
    ------
    SurveyError
    """
    if survey.validation:
        why = (
            "asks whether a model is right, and of nothing else: give the survey that the model was made from"
        )
        raise SurveyError(f"{survey.id} {why}")
