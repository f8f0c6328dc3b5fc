"""Checks whether a trained model predicts anything but the most frequent class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ldp_aggregator.arrays import IntArray
from ldp_aggregator.estimation import Estimates
from ldp_aggregator.models.scoring import LogProbabilities
from ldp_aggregator.synthetic_people import SyntheticPopulation

if TYPE_CHECKING:
    from ldp_aggregator.models.unlabelled_training import UnlabelledClassifier

_MAX_CELLS = 2_000_000
_MAX_PEOPLE = 20_000
"""Number of synthetic people, at most; fewer if there are many features."""
_NEARLY_EVERYBODY = 0.99


def find_useless_model(estimates: Estimates, classifier: UnlabelledClassifier | None = None) -> str | None:
    """Return a sentence if no prediction other than the most frequent class is supported, else None.

    This is so in two cases: no feature that the model uses distinguishes the classes, or the model predicts
    the most frequent class for nearly everybody. The second is counted for synthetic people, drawn from the
    estimates. `classifier` is the one that was fitted to rows without labels, if any; otherwise the model is
    Naive Bayes.
    """
    if not estimates.reports or not np.isfinite(estimates.raw_prior.stderr).all():
        return None
    best = int(estimates.prior.argmax())
    name, right = repr(estimates.classes[best]), f"about {estimates.prior[best]:.0%}"
    is_majority = _predict_synthetic_people(estimates, classifier) == best
    predicts_nothing_else = is_majority.mean() >= _NEARLY_EVERYBODY
    distinguish = any(estimates.features[place].distinguishable for place in estimates.used_features)
    if predicts_nothing_else:
        why = (
            "the features that distinguish the classes are too weak to change a prediction"
            if distinguish
            else "no feature distinguishes the classes beyond noise"
        )
        return (
            f"{why}: the model predicts {name} for nearly everybody, which is right for {right} of the people"
        )
    if distinguish:
        return None
    return (
        f"no feature distinguishes the classes beyond noise: these reports do not support any prediction but "
        f"{name}, which is right for {right} of the people"
    )


def _predict_synthetic_people(estimates: Estimates, classifier: UnlabelledClassifier | None) -> IntArray:
    """Return the predicted label of people whose features and labels are as the estimates describe them."""
    conditionals = tuple(feature.smoothed for feature in estimates.features)
    population = SyntheticPopulation(estimates.prior, conditionals)
    people = max(100, min(_MAX_PEOPLE, _MAX_CELLS // len(conditionals)))
    codes, _ = population.draw_people(people, np.random.default_rng(0))
    prior, tables = (
        (classifier.prior, classifier.conditionals) if classifier else (estimates.prior, conditionals)
    )
    model = LogProbabilities.from_probabilities(prior, tables)
    labels: IntArray = model.compute_scores(codes).argmax(axis=1)
    return labels
