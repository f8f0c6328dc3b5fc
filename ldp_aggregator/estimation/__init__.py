"""Totals to estimates: raw and consistent, each with its standard error.

One way in: :func:`estimate_snapshot` hears every question (:mod:`hearing`: frequencies of pairs of value
and label, moments of numbers, and one prior pooled from all), lets a recipe make tables and normal
distributions of it (:mod:`recipes`), and puts both together (:mod:`estimates`).
"""

from ldp_aggregator.estimation.discrete.frequencies import Frequencies, estimate_frequencies
from ldp_aggregator.estimation.discrete.simplex import (
    CONSISTENCY,
    clip_and_normalise,
    norm_sub,
    project_simplex,
)
from ldp_aggregator.estimation.estimates import Estimates, estimate_probabilities, estimate_snapshot
from ldp_aggregator.estimation.estimators import ESTIMATORS, Conditional, EstimationError
from ldp_aggregator.estimation.feature_result import FeatureEstimate
from ldp_aggregator.estimation.intervals import Figure
from ldp_aggregator.estimation.number_result import NumberEstimate
from ldp_aggregator.estimation.numeric.gaussians import Gaussian

__all__ = [
    "CONSISTENCY",
    "ESTIMATORS",
    "Conditional",
    "Estimates",
    "EstimationError",
    "FeatureEstimate",
    "Figure",
    "Frequencies",
    "Gaussian",
    "NumberEstimate",
    "clip_and_normalise",
    "estimate_frequencies",
    "estimate_probabilities",
    "estimate_snapshot",
    "norm_sub",
    "project_simplex",
]
