"""The baseline of simulations: the rows themselves, described without privacy."""

from __future__ import annotations

import numpy as np

from encoders.survey import NumericFeature, Plan
from encoders.survey.features import GRID
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.estimation import ClassConditional, Gaussian
from ldp_aggregator.estimation.estimators import MIN_VARIANCE
from ldp_aggregator.simulated_population import SyntheticPopulation


def describe_rows(
    plan: Plan, codes: IntArray, labels: IntArray, rows: IntArray, smoothing: float = 1.0
) -> SyntheticPopulation:
    """Describe coded rows (m, n): counts plus `smoothing` (Laplace) for discrete features, else moments."""
    k, row_labels = len(plan.label.values), labels[rows]
    prior = np.bincount(row_labels, minlength=k) + smoothing
    conditionals: list[ClassConditional] = []
    for feature, column in zip(plan.features, codes.T, strict=True):
        if isinstance(feature, NumericFeature):
            conditionals.append(_estimate_gaussian(feature, column[rows], row_labels, k, smoothing))
        else:
            cells = np.bincount(column[rows] * k + row_labels, minlength=feature.size * k)
            counts = cells.reshape(feature.size, k) + smoothing
            conditionals.append(counts / counts.sum(axis=0))
    return SyntheticPopulation(prior / prior.sum(), tuple(conditionals))


def _estimate_gaussian(
    feature: NumericFeature, codes: IntArray, labels: IntArray, k: int, smoothing: float
) -> Gaussian:
    """Return a number's mean and variance per label; a label without rows has those of all rows."""
    is_present = codes <= 2 * GRID
    x, x_labels = (codes[is_present] - GRID) / GRID, labels[is_present]
    groups = [x[x_labels == label] for label in range(k)]
    groups = [group if len(group) else (x if len(x) else np.zeros(1)) for group in groups]
    missing, present = (
        np.bincount(labels[mask], minlength=k) + smoothing for mask in (~is_present, is_present)
    )
    return Gaussian(
        mean=np.array([group.mean() for group in groups]),
        variance=np.array([max(float(group.var()), MIN_VARIANCE) for group in groups]),
        missing=missing / (missing + present) if feature.missing == "category" else None,
    )
