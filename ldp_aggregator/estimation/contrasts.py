"""Which estimates stand out of the noise: whether classes differ at all, as far as the reports can tell.

One rule for all. Two classes are *distinguishable* where the intervals that hold for a whole feature at once
(:class:`figures.Figure`) do not overlap. Were they alike, both intervals would hold their common truth, 19
times in 20, and so overlap; that needs nothing else, neither independence nor a linearised difference, whose
false alarms were found to be many where noise is large. Whatever is not distinguishable may be noise, which
is not to say that there is no difference.
"""

from __future__ import annotations

import numpy as np

from ldp_aggregator.arrays import BoolArray
from ldp_aggregator.estimation.intervals import Figure


def uneven_classes(prior: Figure) -> BoolArray:
    """Return the classes (k,) whose prior is distinguishable from an even split, 1/k."""
    k = len(prior.value)
    return (prior.all_low > 1 / k) | (prior.all_high < 1 / k)


def classes_apart(figure: Figure) -> BoolArray:
    """Tell where some two classes are distinguishable: of (k,) figures at all, of (A, k) for each row."""
    return np.asarray(figure.all_low.max(axis=-1) > figure.all_high.min(axis=-1))
