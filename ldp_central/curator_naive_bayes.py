"""Naive Bayes of a curator: noisy tables of the selected features, smoothed as those of a local survey."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from encoders.exact_samplers import permute_and_flip
from encoders.randomness import RandomSource
from encoders.survey import NumericFeature
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.curator_privacy import Spending
from ldp_aggregator.estimation import ClassConditional
from ldp_aggregator.estimation.bayes.posterior import smooth_tables
from ldp_aggregator.estimation.numeric.gaussians import Gaussian, smooth_numbers
from ldp_aggregator.estimation.numeric.variance_floor import UNIFORM_VARIANCE
from ldp_aggregator.estimation.tables.noisy_tables import CellFrequencies, ClassCounts, NoisyTable
from ldp_aggregator.estimation.tables.soft_moments import SoftMoments
from ldp_central.coded_rows import CodedRows
from ldp_central.count_tables import exact_tables, measure_tables

SELECTION_SHARE = Fraction(3, 10)
"""The share of epsilon that the selection of features spends."""


@dataclass(frozen=True)
class CentralNaiveBayes:
    """A Naive Bayes classifier from noisy tables."""

    prior: FloatArray
    """P(label). Shape (k,)."""
    conditionals: tuple[ClassConditional, ...]
    """P(value | label) of each feature; it is the same for all labels if the feature was not selected.
    Tuple of (A_i, k) arrays and Gaussians."""
    selected: tuple[int, ...]
    """Indices of the features that were measured."""
    tables: tuple[NoisyTable, ...]
    """Their tables, which may be released too."""
    classes: ClassCounts
    """The class counts, with the variance of their noise."""


def fit_naive_bayes(
    rows: CodedRows,
    expected_rows: int,
    epsilon: Fraction,
    source: RandomSource,
    delta: Fraction = Fraction(0),
) -> tuple[CentralNaiveBayes, list[Spending]]:
    """Return a classifier and what it spent.

    Parameters
    ----------
    rows : CodedRows
    expected_rows : int
        A public number; with the epsilon it determines how many features are used. Without a label, all are.
    epsilon, delta : Fraction
        For one row that is added or removed. With delta 0 the noise is discrete Laplace.
    source : RandomSource
    """
    count = len(rows.features)
    if rows.k > 1:  # a feature is selected by how well it predicts the label
        count = feature_count(count, expected_rows, epsilon)
    spendings, selected = [], list(range(len(rows.features)))
    if count < len(selected):
        spendings.append(Spending("selection of features", SELECTION_SHARE * epsilon))
        selected = select_features(rows, count, spendings[0].epsilon, source)
    spendings.append(Spending("tables", epsilon - sum(each.epsilon for each in spendings), delta))
    tables = measure_tables(rows.select(selected), spendings[-1].epsilon, source, delta)
    return smooth(rows, dict(zip(selected, tables, strict=True))), spendings


def smooth(rows: CodedRows, tables: Mapping[int, NoisyTable]) -> CentralNaiveBayes:
    """Return the classifier of noisy tables by the feature's index; of `rows`, only public facts are used."""
    classes = ClassCounts.from_tables(list(tables.values()))
    conditionals: list[ClassConditional] = [
        Gaussian(np.zeros(rows.k), np.full(rows.k, UNIFORM_VARIANCE), _no_missing(feature, rows.k))
        if isinstance(feature, NumericFeature)
        else np.full((feature.size, rows.k), 1 / feature.size)
        for feature in rows.features
    ]
    numbers = [index for index in tables if isinstance(rows.features[index], NumericFeature)]
    discrete = [index for index in tables if index not in numbers]
    smoothed = smooth_tables(
        [CellFrequencies.from_table(tables[index], classes) for index in discrete],
        [rows.features[index].size for index in discrete],
        classes.prior,
    )
    for index, table in zip(discrete, smoothed, strict=True):
        conditionals[index] = table
    moments = [SoftMoments.from_table(tables[index], classes) for index in numbers]
    for index, gaussian in zip(numbers, smooth_numbers(moments, classes.prior), strict=True):
        conditionals[index] = gaussian
    return CentralNaiveBayes(
        classes.prior, tuple(conditionals), tuple(tables), tuple(tables.values()), classes
    )


def _no_missing(feature: NumericFeature, k: int) -> FloatArray | None:
    return np.full(k, 0.5) if feature.missing == "category" else None


ROWS_PER_FEATURE = 100
"""Product of rows and epsilon for which one more feature is used."""


def feature_count(features: int, expected_rows: int, epsilon: Fraction) -> int:
    """Return the number of features to use, from public numbers only."""
    return min(max(round(expected_rows * epsilon / ROWS_PER_FEATURE), 1), features)


def count_hits(rows: CodedRows) -> list[Fraction]:
    """Return the hits of each feature. They are private: choose with :func:`select_features`."""
    return [Fraction(int(cells.max(axis=1).sum()), unit) for cells, unit in exact_tables(rows)]


def select_features(rows: CodedRows, count: int, epsilon: Fraction, source: RandomSource) -> list[int]:
    """Return the sorted indices of `count` features with many hits; epsilon-differentially private.

    Each of `count` rounds of permute-and-flip spends epsilon / count. Hits never fall when a row is added, so
    the rate is epsilon / count and not half of it.
    """
    hits = count_hits(rows)
    left, chosen = list(range(len(hits))), []
    for _ in range(count):
        place = permute_and_flip([hits[index] for index in left], epsilon / count, source)
        chosen.append(left.pop(place))
    return sorted(chosen)
