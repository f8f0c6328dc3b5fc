"""Estimates the joint frequencies of each value and class, with the covariance of all of them.

These are the statistics of logistic regression that depend on the label. A coupled question estimates them
for one feature, or for several features in the same reports, whose errors are then correlated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from encoders.errors import LdpError
from ldp_aggregator.arrays import BoolArray, FloatArray, IntArray
from ldp_aggregator.estimation.discrete.frequencies import Frequencies, estimate_frequencies
from ldp_aggregator.estimation.raw_estimates import total_of
from ldp_aggregator.snapshot import Snapshot


@dataclass(frozen=True)
class QuestionNoise:
    """Covariance of the moments that one question estimates."""

    cells: IntArray
    """Places of the cells among those of LabelMoments. Shape (cells,)."""
    covariance: FloatArray
    """Shape (cells, k, cells, k)."""


@dataclass(frozen=True)
class LabelMoments:
    """Estimates b(a, c) = P(x has the value a, label is c) for the values of several features.

    A cell is one value of one feature; the cells of a feature are adjacent. If the survey asks the label
    question, the first cell is a feature with one value, which every row has.
    """

    features: tuple[int, ...]
    """The feature of each block of cells, in the order of the plan; ALL_ROWS stands for the label
    question."""
    sizes: tuple[int, ...]
    """Number of cells of each block."""
    mean: FloatArray
    """Unbiased estimates of b. Shape (cells, k)."""
    noise: tuple[QuestionNoise, ...]
    """Their covariance; the reports of different questions are independent."""

    def select(self, features: Sequence[int]) -> LabelMoments:
        """Return the moments of some features, and of the label question."""
        return self._select([each == ALL_ROWS or each in features for each in self.features])

    def without_label_question(self) -> LabelMoments:
        """Return the moments of the features alone."""
        if ALL_ROWS not in self.features:
            return self
        return self._select([feature != ALL_ROWS for feature in self.features])

    def _select(self, kept: Sequence[bool]) -> LabelMoments:
        cells: BoolArray = np.repeat(kept, self.sizes)
        indices = np.cumsum(cells) - 1
        noise = []
        for part in self.noise:
            inside = np.flatnonzero(cells[part.cells])
            if len(inside) == len(part.cells):
                noise.append(QuestionNoise(indices[part.cells], part.covariance))
            elif len(inside):
                covariance = part.covariance[inside][:, :, inside]
                noise.append(QuestionNoise(indices[part.cells[inside]], covariance))
        return LabelMoments(
            features=tuple(each for each, keep in zip(self.features, kept, strict=True) if keep),
            sizes=tuple(each for each, keep in zip(self.sizes, kept, strict=True) if keep),
            mean=self.mean[cells],
            noise=tuple(noise),
        )

    @property
    def covariance(self) -> FloatArray:
        """The covariance of all moments; shape (cells, k, cells, k)."""
        covariance = np.zeros((*self.mean.shape, *self.mean.shape))
        for part in self.noise:
            covariance[part.cells[:, None], :, part.cells] += part.covariance.transpose(0, 2, 1, 3)
        return covariance

    @property
    def shares(self) -> FloatArray:
        """Estimates of P(value), the sums over the classes; shape (cells,)."""
        shares: FloatArray = self.mean.sum(axis=1)
        return shares

    @property
    def share_covariance(self) -> FloatArray:
        """Covariance of `shares`; shape (cells, cells)."""
        covariance = np.zeros((len(self.mean),) * 2)
        for part in self.noise:
            covariance[np.ix_(part.cells, part.cells)] += part.covariance.sum(axis=(1, 3))
        return covariance


ALL_ROWS = -1
"""Stands for the label question among the features of LabelMoments."""
MAX_MOMENTS = 6000
"""Number of values times classes above which a fit needs too much time."""
MAX_CELLS = 1500
"""Number of values above which raking needs too much time."""
MAX_CLASSES = 100
"""Number of classes above which a fit needs too much time."""
MAX_QUESTION_MOMENTS = 3000
"""Number of them in one question above which their covariance needs too much memory."""


class DiscriminativeError(LdpError):
    """The survey or the rows do not allow a fit."""


def estimate_label_moments(snapshot: Snapshot) -> LabelMoments:
    """Return the moments of all discrete features with reports, in the order of the plan.

    Raises
    ------
    DiscriminativeError
        If the survey has too many values and classes, or no reports except on numbers without bins.
    """
    k = len(snapshot.plan.label.values)
    questions = [
        each
        for each in snapshot.plan.questions
        if not each.moment and each.label == snapshot.plan.label and each.width == 1
    ]
    counts = [k * sum(question.shape[:-1]) for question in questions]
    largest = max(counts, default=0)
    combinations = "combinations of a value and a class"
    for count, limit, what in (
        (sum(counts), MAX_MOMENTS, f"the survey asks about {sum(counts)} {combinations}"),
        (sum(counts) // k, MAX_CELLS, f"the features of the survey have {sum(counts) // k} values in all"),
        (k, MAX_CLASSES, f"the label has {k} values"),
        (largest, MAX_QUESTION_MOMENTS, f"one question asks about {largest} {combinations}"),
    ):
        if count > limit:
            raise DiscriminativeError(f"{what}; a fit to unlabelled rows supports at most {limit}")
    parts = []
    for question in questions:
        frequencies = estimate_frequencies(question, total_of(snapshot, question))
        if frequencies.n:
            parts.append((question.feature_indices or (ALL_ROWS,), *_sum_cells(frequencies, k)))
    if not parts:
        raise DiscriminativeError(
            "a fit to unlabelled rows needs reports on a feature with categories or bins; numbers without "
            "bins alone cannot be fitted"
        )
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
    covariance[np.diag_indices(count)] += sum_values(noise.independent_variance)
    for one, start, size in zip(places, starts, sizes, strict=True):
        for other, other_start, other_size in zip(places, starts, sizes, strict=True):
            if start == other_start:
                continue  # two cells of one feature have no value of the question in common
            shape = (k * size, k * other_size)
            pairs = (one - start) * shape[1] + other - other_start
            shared = np.bincount(pairs, noise.independent_variance, shape[0] * shape[1])
            covariance[start : start + shape[0], other_start : other_start + shape[1]] += shared.reshape(
                shape
            )
    return sizes, sum_values(frequencies.raw), covariance


def _combine(parts: Sequence[_Part], k: int) -> LabelMoments:
    """Order the features of all questions as in the plan.

    The moments of a feature in several questions are averaged, weighted by the inverse of the mean variances.
    """
    blocks = sorted({pair for features, sizes, *_ in parts for pair in zip(features, sizes, strict=True)})
    starts = np.cumsum([0, *(size for _, size in blocks)])
    firsts = {feature: int(start) for (feature, _), start in zip(blocks, starts, strict=False)}
    mean, total = np.zeros((starts[-1], k)), np.zeros(starts[-1])
    added = []
    for features, sizes, part_mean, part_covariance in parts:
        ranges = [np.arange(size) + firsts[each] for each, size in zip(features, sizes, strict=True)]
        variances = np.split(part_covariance.diagonal(), k * np.cumsum(sizes)[:-1])
        precision = np.concatenate(
            [np.full(size, 1 / each.mean()) for size, each in zip(sizes, variances, strict=True)]
        )
        cells = np.concatenate(ranges)
        total[cells] += precision
        added.append((cells, precision, part_mean.reshape(-1, k), part_covariance))
    noise = []
    for cells, precision, part_mean, part_covariance in added:
        weight = precision / total[cells]
        mean[cells] += weight[:, None] * part_mean
        covariance = part_covariance.reshape(len(cells), k, len(cells), k)
        noise.append(QuestionNoise(cells, covariance * np.multiply.outer(weight, weight)[:, None, :, None]))
    return LabelMoments(
        features=tuple(feature for feature, _ in blocks),
        sizes=tuple(size for _, size in blocks),
        mean=mean,
        noise=tuple(noise),
    )
