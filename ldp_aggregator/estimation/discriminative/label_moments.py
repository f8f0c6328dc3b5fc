"""Estimates the joint frequencies of each value and class, with the covariance of all of them.

These are the statistics of logistic regression that depend on the label. A coupled question estimates them
for one feature, or for several features in the same reports, whose errors are then correlated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from encoders.errors import LdpError
from ldp_aggregator.arrays import BoolArray, FloatArray
from ldp_aggregator.estimation.discrete.frequencies import Frequencies, estimate_frequencies
from ldp_aggregator.estimation.raw_estimates import total_of
from ldp_aggregator.snapshot import Snapshot


@dataclass(frozen=True)
class LabelMoments:
    """Estimates b(a, c) = P(x has the value a, label is c) for the values of several features.

    A cell is one value of one feature; the cells of a feature are adjacent. If the survey asks the label
    question, the first cell is a feature with one value, which every row has.

    Attributes
    ----------
    features : tuple of int
        The feature of each block of cells, in the order of the plan; ALL_ROWS stands for the label question.
    sizes : tuple of int
        Number of cells of each block.
    mean : (cells, k) array
        Unbiased estimates of b.
    covariance : (cells, k, cells, k) array
        Their covariance.
    """

    features: tuple[int, ...]
    sizes: tuple[int, ...]
    mean: FloatArray
    covariance: FloatArray

    def select(self, features: Sequence[int]) -> LabelMoments:
        """Return the moments of some features, and of the label question."""
        kept = [feature == ALL_ROWS or feature in features for feature in self.features]
        cells: BoolArray = np.repeat(kept, self.sizes)
        return LabelMoments(
            features=tuple(each for each, keep in zip(self.features, kept, strict=True) if keep),
            sizes=tuple(each for each, keep in zip(self.sizes, kept, strict=True) if keep),
            mean=self.mean[cells],
            covariance=self.covariance[cells][:, :, cells],
        )

    def without_label_question(self) -> LabelMoments:
        """Return the moments of the features alone."""
        if ALL_ROWS not in self.features:
            return self
        return LabelMoments(self.features[1:], self.sizes[1:], self.mean[1:], self.covariance[1:, :, 1:])

    @property
    def shares(self) -> FloatArray:
        """Estimates of P(value), the sums over the classes; shape (cells,)."""
        shares: FloatArray = self.mean.sum(axis=1)
        return shares

    @property
    def share_covariance(self) -> FloatArray:
        """Covariance of `shares`; shape (cells, cells)."""
        covariance: FloatArray = self.covariance.sum(axis=(1, 3))
        return covariance


ALL_ROWS = -1
"""Stands for the label question among the features of LabelMoments."""
MAX_MOMENTS = 6000
"""Number of values times classes above which the covariance needs too much memory and a fit too much time."""


class DiscriminativeError(LdpError):
    """The survey or the rows do not allow a fit."""


def estimate_label_moments(snapshot: Snapshot) -> LabelMoments:
    """Return the moments of all discrete features with reports, in the order of the plan.

    Raises
    ------
    DiscriminativeError
        If the survey has too many values and classes.
    """
    k = len(snapshot.plan.label.values)
    questions = [question for question in snapshot.plan.questions if not question.moment]
    moments = k * sum(sum(question.shape[:-1]) for question in questions)
    if moments > MAX_MOMENTS:
        raise DiscriminativeError(
            f"the survey asks about {moments} combinations of a value and a class; a fit to rows without "
            f"labels supports at most {MAX_MOMENTS}"
        )
    parts = []
    for question in questions:
        frequencies = estimate_frequencies(question, total_of(snapshot, question))
        if frequencies.n:
            parts.append((question.feature_indices or (ALL_ROWS,), *_sum_cells(frequencies, k)))
    return _combine(parts, k)


_Part = tuple[Sequence[int], list[int], FloatArray, FloatArray]


def _sum_cells(frequencies: Frequencies, k: int) -> tuple[list[int], FloatArray, FloatArray]:
    """Return the sizes, the moments and their covariance for the features of one question."""
    shape = frequencies.question.shape
    *codes, labels = np.indices(shape).reshape(len(shape), -1)
    if not codes:
        codes, shape = [np.zeros_like(labels)], (1, *shape)
    sizes = list(shape[:-1])
    # moment r of a feature is the sum over the values of the question with place r
    starts = k * (np.cumsum(sizes) - sizes)
    places = [start + code * k + labels for start, code in zip(starts, codes, strict=True)]
    count = k * sum(sizes)

    def sum_values(values: FloatArray) -> FloatArray:
        return np.asarray(sum(np.bincount(place, values, count) for place in places))

    noise = frequencies.covariance
    parts, likely = sum_values(np.ones(len(labels))), sum_values(noise.distribution)
    covariance = noise.shared * np.outer(parts, parts) - np.outer(likely, likely) / noise.n
    covariance += noise.slope * (np.outer(likely, parts) + np.outer(parts, likely))
    for one in places:
        for other in places:
            pairs = np.bincount(one * count + other, noise.independent_variance, count * count)
            covariance += pairs.reshape(count, count)
    return sizes, sum_values(frequencies.raw), covariance


def _combine(parts: Sequence[_Part], k: int) -> LabelMoments:
    """Order the features of all questions as in the plan; reports of different questions are independent."""
    total = sum(len(mean) for _, _, mean, _ in parts)
    mean, covariance = np.zeros(total), np.zeros((total, total))
    blocks: list[tuple[int, int, int]] = []  # feature, number of cells, first moment
    start = 0
    for features, sizes, part_mean, part_covariance in parts:
        place = slice(start, start + len(part_mean))
        mean[place], covariance[place, place] = part_mean, part_covariance
        for feature, size in zip(features, sizes, strict=True):
            blocks.append((feature, size, start))
            start += size * k
    blocks.sort()
    order = np.concatenate([np.arange(first, first + size * k) for _, size, first in blocks]).astype(np.int64)
    cells = total // k
    return LabelMoments(
        features=tuple(feature for feature, _, _ in blocks),
        sizes=tuple(size for _, size, _ in blocks),
        mean=mean[order].reshape(cells, k),
        covariance=covariance[np.ix_(order, order)].reshape(cells, k, cells, k),
    )
