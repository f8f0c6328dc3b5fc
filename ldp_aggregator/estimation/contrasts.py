"""Which estimates stand out of the noise: whether classes differ at all, as far as the reports can tell.

One rule for all. Two classes are *distinguishable* where the intervals that hold for a whole feature at once
(:class:`IntervalEstimate`) do not overlap. Were they alike, both intervals would hold their common truth, 19
times in 20, and so overlap; that needs nothing else, neither independence nor a linearised difference, whose
false alarms were found to be many where noise is large. Whatever is not distinguishable may be noise, which
is not to say that there is no difference.
"""

from __future__ import annotations

import numpy as np

from ldp_aggregator.arrays import BoolArray
from ldp_aggregator.estimation.intervals import IntervalEstimate


def detect_non_uniform_classes(prior: IntervalEstimate) -> BoolArray:
    """Return the classes (k,) whose prior is distinguishable from an even split, 1/k."""
    k = len(prior.value)
    return (prior.simultaneous_low > 1 / k) | (prior.simultaneous_high < 1 / k)


def detect_class_differences(figure: IntervalEstimate) -> BoolArray:
    """Tell where some two classes are distinguishable: of (k,) figures at all, of (A, k) for each row."""
    return np.asarray(figure.simultaneous_low.max(axis=-1) > figure.simultaneous_high.min(axis=-1))
