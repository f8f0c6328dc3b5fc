"""Checks whether a trained model predicts anything but the most frequent class."""

from __future__ import annotations

import numpy as np

from ldp_aggregator.arrays import IntArray
from ldp_aggregator.estimation import Estimates
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_aggregator.statements.model import Useless
from ldp_aggregator.synthetic_people import SyntheticPopulation

_MAX_CELLS = 2_000_000
_MAX_PEOPLE = 20_000
"""Number of synthetic people, at most; fewer if there are many features."""
_NEARLY_EVERYONE = 0.99


def find_useless(estimates: Estimates) -> Useless | None:
    """Return the reason why only the most frequent class can be predicted; None if others can, or no class.

    This is so in two cases: no feature that the model uses distinguishes the classes, or the model predicts
    the most frequent class for nearly everyone. The second is counted for synthetic people, drawn from the
    estimates.
    """
    if not estimates.has_label or not estimates.reports or not np.isfinite(estimates.raw_prior.stderr).all():
        return None
    is_majority = _predict_synthetic_people(estimates) == estimates.prior.argmax()
    distinguish = any(estimates.features[index].distinguishable for index in estimates.used_features)
    if is_majority.mean() >= _NEARLY_EVERYONE:
        return Useless.WEAK if distinguish else Useless.NOTHING
    return None if distinguish else Useless.UNSUPPORTED


def _predict_synthetic_people(estimates: Estimates) -> IntArray:
    """Return the predicted label of people whose features and labels are as the estimates describe them."""
    conditionals = tuple(feature.smoothed for feature in estimates.features)
    population = SyntheticPopulation(estimates.prior, conditionals)
    people = max(100, min(_MAX_PEOPLE, _MAX_CELLS // len(conditionals)))
    codes, _ = population.draw_people(people, np.random.default_rng(0))
    model = LogProbabilities.from_probabilities(estimates.prior, conditionals)
    labels: IntArray = model.compute_scores(codes).argmax(axis=1)
    return labels
