"""Estimates from totals: raw estimates for people, smoothed probabilities for the classifier."""

from ldp_aggregator.estimation.discrete.frequencies import Frequencies, estimate_frequencies, project_simplex
from ldp_aggregator.estimation.estimates import (
    Estimates,
    estimate_parameters,
    estimate_snapshot,
    to_covariance,
)
from ldp_aggregator.estimation.estimators import (
    ESTIMATORS,
    ClassConditional,
    EstimationError,
    Gaussian,
    NaiveBayesParameters,
)
from ldp_aggregator.estimation.feature_result import FeatureResult
from ldp_aggregator.estimation.intervals import IntervalEstimate
from ldp_aggregator.estimation.number_result import NumberResult

__all__ = [
    "ESTIMATORS",
    "ClassConditional",
    "Estimates",
    "EstimationError",
    "FeatureResult",
    "Frequencies",
    "Gaussian",
    "IntervalEstimate",
    "NaiveBayesParameters",
    "NumberResult",
    "estimate_frequencies",
    "estimate_parameters",
    "estimate_snapshot",
    "project_simplex",
    "to_covariance",
]
