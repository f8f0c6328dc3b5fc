"""The course of one statistic of a feature over the waves: levels, changes, slopes and the smoothed trend."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_aggregator.arrays import BoolArray, FloatArray, IntArray
from ldp_aggregator.codec import require
from ldp_aggregator.estimation.figures import find_margins
from ldp_aggregator.estimation.intervals import Z95, IntervalEstimate, simultaneous_z
from ldp_aggregator.series.smoothing import smooth_levels


@dataclass(frozen=True)
class ChangeTest:
    """A test of whether anything changed between the waves."""

    statistic: float
    degrees: int
    """Degrees of freedom of the chi-square distribution that the statistic has if nothing changed."""
    p_value: float


@dataclass(frozen=True, kw_only=True)
class Course:
    """One statistic of a feature, or of the label, in each wave with reports."""

    feature: str
    statistic: str
    values: tuple[str, ...]
    """One empty text for statistics of numbers and for P(class)."""
    classes: tuple[str, ...]
    """One empty text for all people."""
    bounds: tuple[float, float]
    """The possible range."""
    z: float
    """The number of standard errors of the simultaneous intervals of levels."""
    waves: tuple[int, ...]
    """The indices of the waves."""
    levels: IntervalEstimate
    """The estimates of each wave, (waves, values, classes); simultaneous are the intervals of one wave."""
    test: ChangeTest | None = None
    """None if too little is known."""

    JSON_DERIVED = ("changes", "since_first", "slopes", "trend")

    @property
    def span(self) -> float:
        """The width of the possible range."""
        return self.bounds[1] - self.bounds[0]

    @cached_property
    def changes(self) -> IntervalEstimate:
        """The change of each wave but the first from the wave before, (waves - 1, values, classes).

        Simultaneous are the intervals of all waves, values and classes.
        """
        return self._compare(np.arange(len(self.waves) - 1))

    @cached_property
    def since_first(self) -> IntervalEstimate:
        """The change of each wave but the first from the first wave, like `changes`."""
        return self._compare(np.zeros(len(self.waves) - 1, dtype=np.int64))

    def _compare(self, earlier: IntArray) -> IntervalEstimate:
        """Return the changes from these waves to all but the first (MOVER, Zou and Donner 2008)."""
        levels, later = self.levels, np.arange(1, len(self.waves))
        difference = levels.value[later] - levels.value[earlier]
        known = self._are_informative[later] & self._are_informative[earlier]
        stderr = np.where(known, np.hypot(levels.stderr[later], levels.stderr[earlier]), np.inf)
        z = simultaneous_z(difference.size)
        single = (levels.low, levels.high), Z95, Z95
        together = (levels.simultaneous_low, levels.simultaneous_high), self.z, z
        ends: list[FloatArray] = []
        for interval, own_z, wanted in (single, together):
            below, above = find_margins(
                levels.value, levels.stderr, interval, own_z, max(own_z, wanted), self.bounds
            )
            low = difference - np.hypot(below[later], above[earlier])
            high = difference + np.hypot(above[later], below[earlier])
            ends += [
                np.where(known, np.clip(low, -self.span, self.span), -self.span),
                np.where(known, np.clip(high, -self.span, self.span), self.span),
            ]
        return IntervalEstimate(np.where(known, difference, np.nan), stderr, *ends)

    @property
    def _are_informative(self) -> BoolArray:
        """Which levels are known, with a simultaneous interval that is not the whole range."""
        low, high = self.levels.simultaneous_low, self.levels.simultaneous_high
        is_narrow = (low > self.bounds[0]) | (high < self.bounds[1])
        return np.asarray(is_narrow & np.isfinite(self.levels.value) & np.isfinite(self.levels.stderr))

    @cached_property
    def slopes(self) -> IntervalEstimate:
        """The change from one wave to the next by weighted least squares, (values, classes)."""
        known = self._are_informative
        weights = np.where(known, 1 / np.where(known, self.levels.stderr, 1.0) ** 2, 0.0)
        times = np.array(self.waves, dtype=np.float64)[:, None, None]
        total = np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
        apart = weights * (times - (weights * times).sum(axis=0) / total)
        squares = (apart * times).sum(axis=0)
        enough = known.sum(axis=0) > 1
        squares = np.where(enough, squares, 1.0)
        slope = (apart * np.where(known, self.levels.value, 0.0)).sum(axis=0) / squares
        stderr = np.where(enough, squares**-0.5, np.inf)
        return IntervalEstimate.from_stderr(np.where(enough, slope, np.nan), stderr, (-self.span, self.span))

    @cached_property
    def trend(self) -> IntervalEstimate:
        """The smoothed levels, (waves, values, classes); near a jump their intervals are too narrow."""
        values, variances = self.levels.value / self.span, (self.levels.stderr / self.span) ** 2
        variances = np.where(self._are_informative, variances, np.inf)
        value, variance = smooth_levels(values, variances, np.array(self.waves))
        return IntervalEstimate.from_stderr(value * self.span, np.sqrt(variance) * self.span, self.bounds)

    @staticmethod
    def stand_out(changes: IntervalEstimate) -> BoolArray:
        """Return which changes differ from 0 by their simultaneous intervals."""
        return np.asarray((changes.simultaneous_low > 0) | (changes.simultaneous_high < 0))

    def check_entries(self) -> None:
        """Raise ValueError unless there is a level for each wave, value and class."""
        shape = (len(self.waves), len(self.values), len(self.classes))
        require(self.levels.value.shape == shape, f"levels: needs the shape {shape}")
        require(self.bounds[0] < self.bounds[1], "bounds: needs a lower end below the upper one")
        require(self.z > 0, "z: needs a number above 0")
        steps = np.diff(self.waves)
        require(bool(self.waves) and bool((steps > 0).all()), "waves: needs increasing indices")


def assess_levels(levels: IntervalEstimate) -> tuple[float, int]:
    """Return the statistic and the degrees of freedom of independent levels, (waves, values, classes)."""
    known = np.isfinite(levels.value) & np.isfinite(levels.stderr) & (levels.stderr > 0)
    weights = np.where(known, 1 / np.where(known, levels.stderr, 1.0) ** 2, 0.0)
    values = np.where(known, levels.value, 0.0)
    total = weights.sum(axis=0)
    mean = np.divide((weights * values).sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
    return float((weights * (values - mean) ** 2).sum()), int((known.sum(axis=0) - 1).clip(0).sum())
