"""Which estimates stand out of the noise: whether classes differ at all, as far as the reports can tell.

One rule for all. The 95% intervals that people are shown hold one by one; of fifty, two or three miss. Here
each is widened so that all of a feature's hold at once, 19 times in 20 (Bonferroni). Two classes are
*distinguishable* where their widened intervals do not overlap. Were they alike, both intervals would hold
their common truth, 19 times in 20, and so overlap; that needs nothing else, neither independence nor a
linearised difference, whose false alarms were found to be many where noise is large. Whatever is not
distinguishable may be noise, which is not to say that there is no difference.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ldp_aggregator.estimation.consistency import FloatArray
from ldp_aggregator.estimation.figures import Figure, conditional_figure
from ldp_aggregator.estimation.frequencies import Frequencies

BoolArray = NDArray[np.bool_]
ERROR = 0.05
"""How often, at most, noise alone makes anything about a feature distinguishable."""


def reach(intervals: int) -> float:
    """Return how many standard errors intervals need on either side to hold all at once, 19 times in 20."""
    return NormalDist().inv_cdf(1 - ERROR / (2 * max(intervals, 1)))


def uneven_classes(prior: Figure) -> BoolArray:
    """Return the classes (k,) whose prior is distinguishable from an even split, 1/k."""
    k = len(prior.value)
    low, high = _widened(prior, reach(k if k > 2 else 1))  # of two classes, one is the other's mirror
    return (low > 1 / k) | (high < 1 / k)


def values_apart(heard: Frequencies, k: int) -> BoolArray:
    """Return the values (A,) of which some two classes' shares, P(value | class), are distinguishable."""
    figure = conditional_figure(heard, k, reach(len(heard.raw)))
    found: BoolArray = figure.low.max(axis=1) > figure.high.min(axis=1)
    return found


def classes_apart(figure: Figure, figures: int = 1) -> bool:
    """Tell whether some two classes' figures (k,) are distinguishable.

    Parameters
    ----------
    figure : Figure
    figures : int
        How many figures of the feature are looked at together.
    """
    low, high = _widened(figure, reach(len(figure.value) * figures))
    return bool(low.max() > high.min())


def _widened(figure: Figure, far: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of value +- so many standard errors; what is unknown may be anywhere."""
    known = np.isfinite(figure.value) & np.isfinite(figure.stderr)
    middle, half = np.where(known, figure.value, 0.0), np.where(known, far * figure.stderr, np.inf)
    return middle - half, middle + half
