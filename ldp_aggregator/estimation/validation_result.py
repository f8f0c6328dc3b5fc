"""Validation results: the accuracy of a model, measured on devices, and which of its features improve it.

Naive Bayes counts information that several features carry several times, so a subset of the features can be
more accurate than all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

import numpy as np

from encoders.errors import SurveyError
from encoders.survey import Plan, Survey
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.codec import require
from ldp_aggregator.estimation.discrete.frequencies import Frequencies
from ldp_aggregator.estimation.estimators import ClassConditional, EstimationError, Gaussian
from ldp_aggregator.estimation.intervals import IntervalEstimate
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.snapshot import AnySnapshot, Snapshot

SELECTION_ERROR = 0.1
"""Probability, at most, of selecting a top-k set although none is more accurate than all features."""
GAIN_BOUNDS = (-1.0, 1.0)
"""The possible range of a gain in accuracy."""
_RIGHT = 1
"""The class of a validation round that means "the prediction was right"."""


@dataclass(frozen=True)
class ValidationResult:
    """The accuracy of a model and the gains of its top-k sets, estimated from a validation round."""

    features: tuple[str, ...]
    """Names of the validated model's features, the most informative first."""
    top_k: tuple[int, ...]
    """Numbers of features of the top-k sets, ascending."""
    accuracy: IntervalEstimate
    """Shape (): the accuracy of the model with all its features."""
    gains: IntervalEstimate
    """Shape (top-k sets,): the accuracy with only the top-k features minus the accuracy with all features."""

    JSON_DERIVED = ("selected_k",)

    @classmethod
    def from_snapshot(cls, snapshot: AnySnapshot) -> Self:
        raw = compute_raw_estimates(snapshot)
        prior = raw.prior.estimate
        value, stderr, low, high, *_ = (each[_RIGHT] for each in vars(prior).values())
        accuracy = IntervalEstimate(value, stderr, low, high, low, high)
        gains = np.array(
            [_estimate_gain(each) for each in raw.feature_estimates if isinstance(each, Frequencies)]
        )
        model = snapshot.plan.validation
        assert model is not None
        return cls(
            features=tuple(model.features[index].name for index in model.order),
            top_k=tuple(model.top_k),
            accuracy=accuracy,
            gains=IntervalEstimate.from_stderr(gains[:, 0], gains[:, 1], GAIN_BOUNDS),
        )

    @property
    def selected_k(self) -> int | None:
        return None if self.selected is None else self.top_k[self.selected]

    @property
    def selected(self) -> int | None:
        """Index of the selected top-k set; None if the model keeps all its features.

        A set is significantly more accurate than all features if its simultaneous lower bound, with
        probability of error SELECTION_ERROR (Bonferroni), is above 0. If there is such a set, the smallest
        set within one standard error of the best of these is selected.
        """
        known = np.isfinite(self.gains.stderr)
        value, error = np.where(known, self.gains.value, -1.0), np.where(known, self.gains.stderr, 0.0)
        significant = value > NormalDist().inv_cdf(1 - SELECTION_ERROR / value.size) * error
        if not significant.any():
            return None
        best = int(np.where(significant, value, -1.0).argmax())
        return int((value >= value[best] - error[best]).argmax())

    @property
    def selected_features(self) -> tuple[str, ...]:
        return self.features if self.selected is None else self.features[: self.top_k[self.selected]]

    def find_selected(self, names: Iterable[str]) -> frozenset[int]:
        return frozenset(index for index, name in enumerate(names) if name in self.selected_features)

    def check_entries(self) -> None:
        shapes = self.accuracy.value.shape, self.gains.value.shape
        is_valid = shapes == ((), (len(self.top_k),))
        require(is_valid, "accuracy and gains: need one number, and one for each set")


def _estimate_gain(frequencies: Frequencies) -> tuple[float, float]:
    if not frequencies.n:
        return float("nan"), float("inf")
    covariance = frequencies.covariance
    raw, independent, likely = (
        each.reshape(2, 2)
        for each in (frequencies.raw, covariance.independent_variance, covariance.distribution)
    )
    gain, expected = (float(each[1, 0] - each[0, 1]) for each in (raw, likely))
    # variance that all cells share cancels in a difference
    return gain, float(np.sqrt(independent[1, 0] + independent[0, 1] - covariance.product * expected**2))


def make_uninformative(conditional: ClassConditional, prior: FloatArray) -> ClassConditional:
    """Return a table that has a feature's P(value) in every class, instead of P(value | class)."""
    if not isinstance(conditional, Gaussian):
        return np.repeat((conditional @ prior)[:, None], len(prior), axis=1)
    mean = np.full(len(prior), prior @ conditional.mean)
    variance = np.full(len(prior), prior @ (conditional.variance + (conditional.mean - mean) ** 2))
    missing = conditional.missing
    return Gaussian(mean, variance, None if missing is None else np.full(len(prior), prior @ missing))


def check_same_survey(snapshot: AnySnapshot, validation: Snapshot) -> None:
    """Raise EstimationError unless a round validates this survey, with its epsilon or, of all, less."""
    plan, other = snapshot.plan, validation.plan
    if isinstance(plan, SiloPlan):
        raise EstimationError(
            f"a validation round ({other.id}) cannot be combined with a silo survey ({plan.id}): leave "
            f"{other.id} out"
        )
    model = other.validation
    survey = (plan.family, plan.label, plan.features, plan.projection)
    if not model or survey != (other.family, model.label, model.features, model.projection):
        raise EstimationError(
            f"{other.id} does not validate a model of {plan.id}, but of another survey: leave it out, or "
            "give the survey that it validates"
        )
    if other.epsilon != plan.epsilon and not (plan.asks_all and other.epsilon < plan.epsilon):
        raise EstimationError(
            f"{other.id} has epsilon {other.epsilon}, and {plan.id} has {plan.epsilon}: "
            "all rounds of a family need the same epsilon"
        )


def refuse_validation(survey: Survey | Plan | SiloPlan) -> None:
    """Raise SurveyError if a survey is a validation round, but must ask about people."""
    if survey.validation:
        raise SurveyError(
            f"{survey.id} is a validation round, which asks only whether a model is right: give the survey "
            "that the model was made from"
        )
