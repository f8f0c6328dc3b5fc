"""A round that validates: devices judge the model so far, with all its features and with the top few alone.

Their answers decide which features the model keeps, see :mod:`ldp_aggregator.estimation.validation_result`,
and so what further rounds ask.
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
from ldp_aggregator.models.scoring import GaussianLikelihood

SHARE = 0.2
"""The share of the people who judge, in simulations."""
_TELLS = 1e-9


class ValidationError(LdpError):
    """A model that there is nothing to find out about by judging it."""


def build_validation(plan: Plan, prior: FloatArray, conditionals: Sequence[ClassConditional]) -> Validation:
    """Return what devices need to judge a model: its scores in whole numbers, and which tops to try.

    Parameters
    ----------
    plan : Plan
        What the model was trained on.
    prior : (k,) array
    conditionals : sequence of (A_i, k) arrays and Gaussians
        P(value | label) of each of its features, as the classifier uses it.

    Raises
    ------
    ValidationError
        If fewer than two of its features tell anything of the label.
    """
    told = np.array([compute_relevance(each, prior) for each in conditionals])
    order = [int(place) for place in np.argsort(-told, kind="stable") if told[place] > _TELLS]
    if len(order) < 2:
        raise ValidationError(
            f"the model uses {len(order)} of its features, and fewer than two leave nothing to compare: the "
            "others tell nothing of the label by these reports, or a validation left them out"
        )
    pairs = zip(plan.features, conditionals, strict=True)
    scores = tuple(_whole(_logs(feature, conditional)) for feature, conditional in pairs)
    [own] = _whole(_log(prior)[None, :])
    return Validation(
        label=plan.label,
        features=plan.features,
        order=tuple(order),
        top_k=top_k_sizes(len(order)),
        prior=own,
        scores=scores,
        projection=plan.projection,
    )


def top_k_sizes(count: int) -> tuple[int, ...]:
    """Return how many features to try beside all: 1, 2, 3, 5, 8 ... (Fibonacci), up to half of them."""
    tops = [1, 2]
    while tops[-1] + tops[-2] <= count / 2:
        tops.append(tops[-1] + tops[-2])
    return tuple(top for top in tops if top == 1 or top <= count / 2)


def _logs(feature: Feature, conditional: ClassConditional) -> FloatArray:
    """Return log P(value | label), (values, k); of a number, its log-density in the middle of each part."""
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


def _whole(logs: FloatArray) -> Scores:
    """Return whole numbers of thousandths, the largest of each row zero."""
    scores = np.rint(NATS * (logs - logs.max(axis=1, keepdims=True)))
    return tuple(map(tuple, np.maximum(scores, LOWEST).astype(np.int64).tolist()))
