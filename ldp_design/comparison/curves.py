"""Means over overlapping splits, and the epsilon at which a curve reaches a level."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ldp_aggregator.arrays import FloatArray

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Mean:
    """A mean over splits with its 95% interval; the mean of an accuracy is written 91.0% (90.2 to 91.8)."""

    value: float
    stderr: float
    low: float
    high: float

    def __str__(self) -> str:
        low, high = (100 * min(max(end, 0.0), 1.0) for end in (self.low, self.high))
        return f"{100 * self.value:.1f}% ({low:.1f} to {high:.1f})"


def average(values: FloatArray, test_share: float) -> Mean:
    """Return the mean of one number per split, (J,), for J of at least 2.

    The splits share most of their training rows, so the numbers are correlated. The variance of their mean is
    (1/J + test rows / training rows) s^2, where s^2 is their sample variance (Nadeau and Bengio 2003). The
    interval is that of Student's t with J - 1 degrees of freedom.
    """
    from scipy.special import stdtrit

    mean = math.fsum(values) / len(values)
    stderr = math.sqrt((1 / len(values) + test_share) * float(np.var(values, ddof=1)))
    margin = float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)) * stderr
    return Mean(mean, stderr, mean - margin, mean + margin)


@dataclass(frozen=True)
class Crossing:
    """The epsilon from which on a curve is at or above a level, within the tested ones.

    0 stands for the smallest tested epsilon or less, infinity for more than the largest.
    """

    value: float
    low: float
    high: float
    """The ends of the 95% interval."""
    tested: tuple[float, float]
    """The smallest and the largest tested epsilon."""
    is_repeated: bool = False
    """Whether the curve is at or above the level at a smaller tested epsilon too, and below it in between."""

    def __str__(self) -> str:
        smallest, largest = self.tested
        return self.write(lambda epsilon: f"{min(max(epsilon, smallest), largest):.2g}", "or less")

    def write(self, write: Callable[[float], str], or_less: str) -> str:
        """Return the text of the epsilon with its interval, such as "1.4 (1.1 to more than 5)".

        `write` gets 0 and infinity too, for which it writes what belongs to the smallest and largest epsilon.
        """

        def bound(epsilon: float) -> str:
            if epsilon == 0:
                return f"{write(epsilon)} {or_less}"
            return f"more than {write(epsilon)}" if math.isinf(epsilon) else write(epsilon)

        value, low, high = map(bound, (self.value, self.low, self.high))
        is_open = self.low == self.high and self.low in (0, math.inf)
        return value if is_open else f"{value} ({low} to {high})"


def find_crossing(epsilons: Sequence[float], differences: FloatArray, test_share: float) -> Crossing:
    """Return the epsilon from which on the mean of differences is at least zero.

    Between tested values, the mean and the ends of its intervals are interpolated in log epsilon. The
    interval holds the epsilons at which zero is within the interval of the mean. Interpolated ends are
    further from the mean than the ends of an interpolated mean, so it is rather too wide.

    Parameters
    ----------
    epsilons : sequence of float
        Ascending.
    differences : (epsilons, J) array
        The accuracy minus the level, in each split.
    test_share : float
        See :func:`average`.
    """
    means = [average(each, test_share) for each in differences]
    values = [mean.value for mean in means]
    is_above = [value >= 0 for value in values]
    last_below = max((index for index, above in enumerate(is_above) if not above), default=-1)
    return Crossing(
        value=_cross(epsilons, values),
        low=_cross(epsilons, [mean.high for mean in means]),
        high=_cross(epsilons, [mean.low for mean in means]),
        tested=(epsilons[0], epsilons[-1]),
        is_repeated=any(is_above[: last_below + 1]),
    )


def _cross(epsilons: Sequence[float], values: Sequence[float]) -> float:
    """Return the epsilon from which on values are at least zero, see :class:`Crossing`."""
    below = [index for index, value in enumerate(values) if value < 0]
    if not below:
        return 0.0
    last = below[-1]
    if last == len(values) - 1:
        return math.inf
    low, high = math.log(epsilons[last]), math.log(epsilons[last + 1])
    share = values[last] / (values[last] - values[last + 1])
    return math.exp(low + share * (high - low))
