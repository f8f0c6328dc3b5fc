"""Builds the validation of a model on devices: with all of its features, and with only the top-k features.

The devices' answers decide which features the model keeps, and so what further rounds ask, see
:mod:`ldp_aggregator.estimation.validation_result`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from encoders.errors import LdpError
from encoders.survey import Feature, NumericFeature, Plan
from encoders.survey.numeric_features import GRID
from encoders.survey.validation_round import BINS, LOWEST, NATS, Scores, Validation
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import ClassConditional, Gaussian
from ldp_aggregator.estimation.relevance import compute_relevance
from ldp_aggregator.prediction.scoring import GaussianLikelihood

VALIDATION_SHARE = 0.2
"""Share of the people who validate, in simulations."""
_MIN_RELEVANCE = 1e-9


class ValidationError(LdpError):
    """A model that cannot be validated, because there is nothing to compare or the survey does not fit."""


def build_validation(plan: Plan, prior: FloatArray, conditionals: Sequence[ClassConditional]) -> Validation:
    """Return the Validation that devices need: the model's scores as integers, and the top-k sizes to test.

    Parameters
    ----------
    plan : Plan
        The plan that the model was trained on.
    prior : (k,) array
    conditionals : sequence of (A_i, k) arrays and Gaussians
        P(value | label) of each of its features, as the classifier uses it.

    Raises
    ------
    ValidationError
        If fewer than two of its features are informative about the label.
    """
    relevances = np.array([compute_relevance(each, prior) for each in conditionals])
    by_relevance = np.argsort(-relevances, kind="stable")
    order = [int(index) for index in by_relevance if relevances[index] > _MIN_RELEVANCE]
    if len(order) < 2:
        raise ValidationError(
            f"the model uses {len(order)} of its features, and fewer than two leave nothing to compare: with "
            "these reports the others are uninformative about the label, or a validation left them out. "
            "Collect more reports first"
        )
    return Validation(
        label=plan.label,
        features=plan.features,
        order=tuple(order),
        top_k=top_k_sizes(len(order)),
        prior=_round_prior(prior),
        scores=_round_conditionals(plan.features, conditionals),
        projection=plan.projection,
    )


def top_k_sizes(count: int) -> tuple[int, ...]:
    """Return the top-k sizes to test besides all features: 1, 2, 3, 5, 8 ... (Fibonacci), up to half."""
    sizes = [1, 2]
    while sizes[-1] + sizes[-2] <= count / 2:
        sizes.append(sizes[-1] + sizes[-2])
    return tuple(size for size in sizes if size == 1 or size <= count / 2)


# -- scores as integers, which devices add up -----------------------------------------------------


def _round_prior(prior: FloatArray) -> tuple[int, ...]:
    """Return the integer scores of P(label)."""
    [scores] = _round_logs(_log(prior)[None, :])
    return scores


def _round_conditionals(
    features: Sequence[Feature], conditionals: Sequence[ClassConditional]
) -> tuple[Scores, ...]:
    """Return the integer scores of P(value | label) of each feature, a row per value."""
    pairs = zip(features, conditionals, strict=True)
    return tuple(_round_logs(_compute_log_scores(feature, each)) for feature, each in pairs)


def _compute_log_scores(feature: Feature, conditional: ClassConditional) -> FloatArray:
    """Return log P(value | label), (values, k); for a number, its log-density in the middle of each bin."""
    if not isinstance(conditional, Gaussian):
        return _log(conditional)
    assert isinstance(feature, NumericFeature)
    ends = (2 * GRID + 1) * np.arange(BINS + 1) // BINS
    codes = [(low + high) // 2 for low, high in pairwise(ends.tolist())]
    if conditional.missing is not None:
        codes.append(2 * GRID + 1)
    logs = np.zeros((len(codes), len(conditional.mean)))
    GaussianLikelihood.from_gaussian(conditional).add_to(logs, np.array(codes))
    return logs


def _log(shares: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(shares)
    return logs


def _round_logs(logs: FloatArray) -> Scores:
    """Return integer scores in thousandths of nats; the largest of each row is 0."""
    scores = np.rint(NATS * (logs - logs.max(axis=1, keepdims=True)))
    return tuple(map(tuple, np.maximum(scores, LOWEST).astype(np.int64).tolist()))
