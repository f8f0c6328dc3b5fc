"""Measures the epsilon of an event by drawing, and how float noise reveals a count."""

from __future__ import annotations

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_audit.blackbox import epsilon_lower_bound

ALARM = 1e-6
"""The probability with which a lower bound is too high."""
_STEPS = 1 << 53


def lower_bound(rare: int, frequent: int, trials: int) -> float:
    """Return a lower bound of epsilon from how often an event occurred on two neighbours."""
    return epsilon_lower_bound(frequent, rare, trials, ALARM)


def draw_float_laplace(count: int, rng: np.random.Generator) -> FloatArray:
    """Return Laplace noise of scale 1 as textbooks draw it: a sign, and the log of a uniform double."""
    sign = np.where(rng.random(count) < 0.5, -1.0, 1.0)
    noise: FloatArray = sign * np.log(rng.integers(1, _STEPS, count) / _STEPS)
    return noise


def impossible_share(value: float, trials: int, seed: int) -> float:
    """Return the share of outputs of a count with float noise that the count 0 never has.

    An output y of the count 0 is the log of a multiple of 2^-53, and only those next to e^-|y| can be it.
    """
    outputs = np.abs(value + draw_float_laplace(trials, np.random.default_rng(seed)))
    nearest = np.rint(np.exp(-outputs) * _STEPS)
    possible = np.zeros(trials, dtype=np.bool_)
    for offset in range(-8, 9):
        candidates = np.clip(nearest + offset, 1, _STEPS - 1)
        possible |= -np.log(candidates / _STEPS) == outputs
    return float(1 - possible.mean())
