"""Measures the epsilon of an event by drawing."""

from __future__ import annotations

import math

from scipy.stats import beta

ALARM = 1e-6
"""The probability with which a lower bound is too high."""


def lower_bound(rare: int, frequent: int, trials: int) -> float:
    """Return a lower bound of epsilon from how often an event occurred on two neighbours.

    Both probabilities have a bound of Clopper and Pearson (1934).
    """
    most = float(beta.isf(ALARM / 2, rare + 1, trials - rare)) if rare < trials else 1.0
    least = float(beta.ppf(ALARM / 2, frequent, trials - frequent + 1)) if frequent else 0.0
    return max(math.log(least / most), 0.0) if least else 0.0
