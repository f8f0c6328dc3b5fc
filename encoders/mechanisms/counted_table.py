"""One table of a silo's message, and the variance and a tail bound of its noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, expm1, log

FALSE_ALARM = 1e-6
"""Largest probability that all checks of cells and totals together refuse an honest message."""
_BOUND_STEPS = 1000
_MAX_RATE = 60.0
"""Noise of a smaller scale than its inverse has a variance below 1e-25, and is nearly always zero."""


@dataclass(frozen=True)
class CountedTable:
    """One table of a message: its position, and what a row adds to it."""

    start: int
    """Index of its first cell in the message; the cell of value a and label c is start + a k + c."""
    values: int
    """Number of values of the feature, or of soft cells of a number."""
    labels: int
    """Number of labels, k."""
    unit: int
    """What a row adds to the cells of its label in total: 1, or SOFT_UNIT for a number."""
    scale: Fraction
    """Scale of the noise in a cell, in parts of a unit."""
    clamp: tuple[int, int]
    """The least and the greatest value of a cell that an honest silo sends."""
    accepted: tuple[int, int]
    """The least and the greatest value of a cell that a collector accepts, within the clamp. An honest
    cell of the table is outside with a probability of at most a third of FALSE_ALARM, divided by the
    number of tables."""
    total_error: int
    """The table's total differs from its true total by more with the same probability at most. It is in
    parts SOFT_UNIT of a row, also for units of 1."""
    class_error: int
    """The total of a label in the table differs from its true total by more with the same probability at
    most, all labels together. It is in the same parts."""

    @property
    def noise_variance(self) -> float:
        """Variance of the noise in a cell, in rows squared."""
        return laplace_variance(self.scale) / self.unit**2

    @property
    def end(self) -> int:
        """Index after its last cell in the message."""
        return self.start + self.values * self.labels


def laplace_variance(scale: Fraction) -> float:
    """Return the variance of discrete Laplace noise, 2a / (1 - a)^2 with a = e^(-1 / scale)."""
    rate = min(float(1 / scale), _MAX_RATE)
    return 2 * exp(-rate) / expm1(-rate) ** 2


@lru_cache(maxsize=1024)
def bound_sum(count: int, scale: float, probability: float) -> float:
    """Return a bound that the absolute sum of discrete Laplace noises exceeds with at most this probability.

    It is the Chernoff bound with the exact moment generating function of P[z] ~ e^(-|z| / scale), which is
    (1 - a)^2 / ((1 - a e^t)(1 - a e^-t)) with a = e^(-1 / scale). Every t in (0, 1 / scale) gives a valid
    bound; the least of a grid of them is returned.
    """
    base = 2 * log(-expm1(-1 / scale))
    bounds = []
    for step in range(1, _BOUND_STEPS):
        share = step / _BOUND_STEPS  # t = share / scale
        moments = base - log(-expm1((share - 1) / scale)) - log(-expm1(-(share + 1) / scale))
        bounds.append((count * moments + log(2 / probability)) * scale / share)
    return min(bounds) * (1 + 1e-9)
