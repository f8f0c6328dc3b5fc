"""The rules, for all commands and pages, that decide what is unknown, noise, and the most frequent class."""

from __future__ import annotations

import math

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import Estimates, FeatureResult, NumberResult
from ldp_aggregator.estimation.estimates import Majority
from ldp_aggregator.estimation.intervals import Z95, compute_typical_margins
from ldp_aggregator.estimation.relevance import Relevance
from ldp_aggregator.estimation.table_result import TableResult
from ldp_aggregator.wording.values import MAX_MARGIN

UNKNOWN_SHARE = 0.75
"""An estimate is unknown if its 95% interval covers at least this share of the possible values."""
NOISE_RATIO = 0.6
"""A margin above this ratio to the typical estimate is noise; there, that is 3.3 standard errors from 0."""
MAX_USEFUL_SHARE = 0.25
"""A margin of a share above this is noise, too: the interval of a share of 1/2 would be wider than from 1/4
to 3/4."""
_MAX_DEVIATION = 0.5
"""Largest typical deviation of a number, in units of half its range: noise can make an estimate larger."""


def is_known(low: float | None, high: float | None, span: float = 1.0, stderr: float | None = None) -> bool:
    """Return whether an estimate with this 95% interval shows anything.

    `low` and `high` are the ends of the interval, cut to the possible range of width `span`; None if there is
    none. Without the standard error, the interval alone decides.
    """
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return False
    is_narrow = high - low < UNKNOWN_SHARE * span
    return is_narrow and (stderr is None or Z95 * stderr <= MAX_MARGIN * span)


def find_known_majority(estimates: Estimates) -> Majority | None:
    """Return the most frequent class; None if its share is unknown."""
    prior, majority = estimates.raw_prior, estimates.majority
    if not majority:
        return None
    low, high, stderr = (float(each[majority.place]) for each in (prior.low, prior.high, prior.stderr))
    return majority if is_known(low, high, stderr=stderr) else None


def is_relevance_known(relevance: Relevance) -> bool:
    estimate = relevance.estimate
    low, high, stderr = float(estimate.low), float(estimate.high), float(estimate.stderr)
    return is_known(low, high, relevance.maximum, stderr)


def find_useful_margin(typical: float, *, is_share: bool) -> float:
    largest = NOISE_RATIO * typical
    return min(largest, MAX_USEFUL_SHARE) if is_share else largest


def find_margins(result: FeatureResult | NumberResult | TableResult) -> tuple[FloatArray, float]:
    """Return margins per class, or per row of a table, and the largest that is not noise."""
    if isinstance(result, NumberResult):
        typical = min(result.spread, _MAX_DEVIATION * result.width)
        return compute_typical_margins(result.by_class.means), find_useful_margin(typical, is_share=False)
    if isinstance(result, TableResult):
        shares, values = result.row_shares.transpose(), len(result.columns)
    else:
        shares, values = result.conditionals, len(result.values)
        shares = shares if shares.value.shape[1] > 1 else result.shares.reshape(-1, 1)
    return compute_typical_margins(shares), find_useful_margin(1 / values, is_share=True)
