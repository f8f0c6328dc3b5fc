"""Totals to estimates: raw and consistent, each with its standard error.

Discrete questions only so far: frequencies of (value, label) pairs. Means and variances of numeric
questions join as another kind of question in :func:`estimate_snapshot`.
"""

from ldp_aggregator.estimation.consistency import (
    CONSISTENCY,
    clip_and_normalise,
    norm_sub,
    project_simplex,
)
from ldp_aggregator.estimation.estimates import (
    Estimates,
    FeatureEstimate,
    estimate_probabilities,
    estimate_snapshot,
)
from ldp_aggregator.estimation.figures import Figure
from ldp_aggregator.estimation.frequencies import Frequencies, estimate_frequencies
from ldp_aggregator.estimation.recipes import ESTIMATORS, EstimationError

__all__ = [
    "CONSISTENCY",
    "ESTIMATORS",
    "Estimates",
    "EstimationError",
    "FeatureEstimate",
    "Figure",
    "Frequencies",
    "clip_and_normalise",
    "estimate_frequencies",
    "estimate_probabilities",
    "estimate_snapshot",
    "norm_sub",
    "project_simplex",
]
