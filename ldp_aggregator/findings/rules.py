"""The rules that decide what is shown of results: what is unknown, noise, and the most frequent class."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ldp_aggregator.estimation import Estimates, FeatureResult, NumberResult
from ldp_aggregator.estimation.discrete.negative_estimates import project_simplex
from ldp_aggregator.estimation.intervals import Z95
from ldp_aggregator.estimation.relevance import Relevance

UNKNOWN_SHARE = 0.75
"""An estimate is unknown if its 95% interval covers at least this share of the possible values."""
MAX_MARGIN = 0.5
"""An estimate is unknown if its margin, before it is cut, is larger than this share of the range."""


def is_known(low: float | None, high: float | None, span: float = 1.0, stderr: float | None = None) -> bool:
    """Return whether an estimate with this 95% interval shows anything.

    Parameters
    ----------
    low, high : float or None
        The ends of the interval, cut to the possible range; None if there is none.
    span : float
        The width of the possible range.
    stderr : float, optional
        The standard error; the interval alone decides without it.
    """
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return False
    is_narrow = high - low < UNKNOWN_SHARE * span
    return is_narrow and (stderr is None or Z95 * stderr <= MAX_MARGIN * span)


def is_relevance_known(relevance: Relevance) -> bool:
    """Return whether a relevance shows anything."""
    estimate = relevance.estimate
    low, high, stderr = float(estimate.low), float(estimate.high), float(estimate.stderr)
    return is_known(low, high, relevance.maximum, stderr)


def is_noise(feature: FeatureResult | NumberResult) -> bool:
    """Return whether the standard errors of a feature are larger than its typical estimates."""
    return feature.noise > feature.typical


class Majority(NamedTuple):
    """The most frequent class, and its estimated share."""

    place: int
    """The index among the classes."""
    name: str
    share: float


def find_majority(estimates: Estimates) -> Majority | None:
    """Return the class with the largest estimated share; None if the shares are unknown."""
    if not np.isfinite(estimates.raw_prior.value).all():
        return None
    shares = project_simplex(estimates.raw_prior.value[None, :])[0]
    index = int(shares.argmax())
    return Majority(index, estimates.classes[index], float(shares[index]))
