"""Builds the validation of a model on devices: with all of its features, and with only the top-k features.

The devices' answers decide which features the model keeps, and so what further rounds ask, see
:mod:`ldp_aggregator.estimation.validation_result`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from encoders.errors import LdpError
from encoders.survey import Plan
from encoders.survey.validation_round import Validation
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.classifiers.validation_scores import round_conditionals, round_prior
from ldp_aggregator.estimation import ClassConditional
from ldp_aggregator.estimation.relevance import compute_relevance

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
        prior=round_prior(prior),
        scores=round_conditionals(plan.features, conditionals),
        projection=plan.projection,
    )


def top_k_sizes(count: int) -> tuple[int, ...]:
    """Return the top-k sizes to test besides all features: 1, 2, 3, 5, 8 ... (Fibonacci), up to half."""
    sizes = [1, 2]
    while sizes[-1] + sizes[-2] <= count / 2:
        sizes.append(sizes[-1] + sizes[-2])
    return tuple(size for size in sizes if size == 1 or size <= count / 2)
