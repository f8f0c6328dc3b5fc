"""Naive Bayes trained on the rows themselves, without privacy: the yardstick of simulations."""

from __future__ import annotations

import numpy as np

from encoders.survey import Feature, NumericFeature, Plan
from encoders.survey.numeric_features import GRID
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.estimation import ClassConditional, Gaussian
from ldp_aggregator.estimation.numeric.gaussians import MIN_VARIANCE
from ldp_aggregator.models.scoring import LogProbabilities


def train_baseline(plan: Plan, codes: IntArray, labels: IntArray, rows: IntArray) -> LogProbabilities:
    """Count P(label) and P(value | label), one added to every count (Laplace); of numbers the moments.

    Parameters
    ----------
    plan : Plan
        Whose features the codes are of.
    codes : (m, n) int array
    labels : (m,) int array
    rows : int array
        Which rows to train on.
    """
    k, own = len(plan.label.values), labels[rows]
    prior = np.bincount(own, minlength=k) + 1.0
    columns = zip(plan.features, codes.T, strict=True)
    conditionals = [_count(feature, column[rows], own, k) for feature, column in columns]
    return LogProbabilities.from_probabilities(prior / prior.sum(), conditionals)


def _count(feature: Feature, codes: IntArray, labels: IntArray, k: int) -> ClassConditional:
    if isinstance(feature, NumericFeature):
        return _moments(feature, codes, labels, k)
    joint = np.bincount(codes * k + labels, minlength=feature.size * k).reshape(feature.size, k) + 1.0
    table: ClassConditional = joint / joint.sum(axis=0)
    return table


def _moments(feature: NumericFeature, codes: IntArray, labels: IntArray, k: int) -> Gaussian:
    """Return mean and variance per label; a label without rows has those of all rows."""
    there = codes <= 2 * GRID
    x, own = (codes[there] - GRID) / GRID, labels[there]
    groups = [x[own == label] for label in range(k)]
    groups = [group if len(group) else (x if len(x) else np.zeros(1)) for group in groups]
    gone, present = (np.bincount(labels[chosen], minlength=k) + 1.0 for chosen in (~there, there))
    return Gaussian(
        mean=np.array([group.mean() for group in groups]),
        variance=np.array([max(float(group.var()), MIN_VARIANCE) for group in groups]),
        missing=gone / (gone + present) if feature.missing == "category" else None,
    )
