"""The rules that decide what is shown of results: what is unknown, noise, and the most frequent class.

`ldp-survey size` and the dossier grade expected margins by :func:`grade_margin`, and warnings of results grade
those of reports by it.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import Estimates, FeatureResult, NumberResult
from ldp_aggregator.estimation.cross_tables import TableResult
from ldp_aggregator.estimation.discrete.negative_estimates import project_simplex
from ldp_aggregator.estimation.intervals import PROBABILITY, Z95, Bounds, compute_typical_margins
from ldp_aggregator.estimation.relevance import Relevance

UNKNOWN_SHARE = 0.75
"""An estimate is unknown if its 95% interval covers at least this share of the possible values."""
MAX_MARGIN = 0.5
"""An estimate is unknown if its margin, before it is cut, is larger than this share of the range."""
GOOD_RATIO = 0.25
"""The largest ratio of a good margin to the typical estimate."""
NOISE_RATIO = 0.6
"""A margin above this ratio to the typical estimate is noise. At this ratio the typical estimate is 3.3 standard
errors from 0."""
MAX_USEFUL_SHARE = 0.25
"""A margin of a share above this is noise, too: the interval of a share of 1/2 would be wider than from 1/4
to 3/4."""
_MAX_DEVIATION = 0.25
"""Of a number, the largest typical deviation, as a share of the range: the estimate of a deviation may be
larger by noise."""


def is_known(
    low: float | None, high: float | None, bounds: Bounds = PROBABILITY, stderr: float | None = None
) -> bool:
    """Return whether an estimate with this 95% interval shows anything.

    Parameters
    ----------
    low, high : float or None
        The ends of the interval, cut to the possible range; None if there is none.
    bounds : (float, float)
        The possible range.
    stderr : float, optional
        The standard error; the interval alone decides without it.
    """
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return False
    span = bounds[1] - bounds[0]
    is_narrow = high - low < UNKNOWN_SHARE * span
    return is_narrow and (stderr is None or Z95 * stderr <= MAX_MARGIN * span)


def is_relevance_known(relevance: Relevance) -> bool:
    """Return whether a relevance shows anything."""
    estimate = relevance.estimate
    low, high, stderr = float(estimate.low), float(estimate.high), float(estimate.stderr)
    return is_known(low, high, (0.0, relevance.maximum), stderr)


class Grade(StrEnum):
    """How precise an estimate is compared with its typical size."""

    GOOD = "good"
    ROUGH = "rough"
    NOISE = "noise"


def find_useful_margin(typical: float, *, is_share: bool) -> float:
    """Return the largest margin, half of a 95% interval, that is not noise."""
    largest = NOISE_RATIO * typical
    return min(largest, MAX_USEFUL_SHARE) if is_share else largest


def grade_margin(margin: float, typical: float, *, is_share: bool) -> Grade:
    """Return the grade of a margin, given the typical estimate."""
    if margin > find_useful_margin(typical, is_share=is_share):
        return Grade.NOISE
    return Grade.GOOD if margin <= GOOD_RATIO * typical else Grade.ROUGH


class Precision(NamedTuple):
    """What decides whether the estimates of a feature or a table are noise."""

    margins: FloatArray
    """Of shares or a mean in each class; of a table, of shares in each row. The root mean square over the
    values."""
    useful: float
    """The largest margin that is not noise."""

    @property
    def is_noise(self) -> bool:
        """Whether the widest margin is noise."""
        return bool(self.margins.max() > self.useful)


def find_precision(result: FeatureResult | NumberResult | TableResult) -> Precision:
    """Return the margins of a result, and the largest one that is not noise."""
    if isinstance(result, NumberResult):
        deviation = math.sqrt(result.smoothed.variance.mean()) * result.width
        typical = min(deviation, 2 * result.width * _MAX_DEVIATION)
        means = compute_typical_margins(result.by_class.means)
        return Precision(means, find_useful_margin(typical, is_share=False))
    if isinstance(result, TableResult):
        shares, values = result.row_shares.transpose(), len(result.columns)
    else:
        shares, values = result.conditionals, len(result.values)
    return Precision(compute_typical_margins(shares), find_useful_margin(1 / values, is_share=True))


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
