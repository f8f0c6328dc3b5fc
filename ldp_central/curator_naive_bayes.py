"""Naive Bayes of a curator: noisy tables of the selected features, smoothed as those of a local survey."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from encoders.exact_samplers import permute_and_flip
from encoders.mechanisms.counted_table import SOFT_UNIT, STEPS, laplace_variance, soft_parts
from encoders.randomness import RandomSource
from encoders.survey import Feature, NumericFeature
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation import ClassConditional
from ldp_aggregator.estimation.bayes.posterior import smooth_tables
from ldp_aggregator.estimation.estimators import UNIFORM_VARIANCE, Gaussian, smooth_numbers
from ldp_aggregator.estimation.tables.noisy_tables import ClassCounts, NoisyTable, estimate_table
from ldp_aggregator.estimation.tables.soft_moments import SoftMoments
from ldp_aggregator.prediction.linear_model import place_columns
from ldp_aggregator.privacy_statement import Spending
from ldp_central.coded_rows import CodedRows
from ldp_central.noise import draw_gaussian_array, draw_laplace_array, find_rho

# -- noisy tables -----------------------------------------------------------------------------------
# Measures noisy tables of counts (value, label).
#
# Each feature has one table. A row adds one to one cell of each table. So the tables of F features have the
# L1 sensitivity F, and discrete Laplace noise of scale F / epsilon in every cell makes all of them epsilon-
# differentially private. The counts of the classes are sums of these cells and cost nothing more. The table
# of a number has three soft cells, see :mod:`encoders.mechanisms.counted_table`.


def count_cells(feature: Feature, indices: IntArray, labels: IntArray, k: int) -> tuple[IntArray, int]:
    """Return the exact table of a feature, (A, k), from its codes (m,), and its unit. It is private."""
    if isinstance(feature, NumericFeature):
        parts = soft_cells(feature.missing == "category")
        counts = np.bincount(indices * k + labels, minlength=len(parts) * k).reshape(-1, k)
        return parts.T @ counts, SOFT_UNIT
    counts = np.bincount(indices * k + labels, minlength=feature.size * k).astype(np.int64, copy=False)
    return counts.reshape(-1, k), 1


def exact_tables(rows: CodedRows) -> list[tuple[IntArray, int]]:
    """Return the exact table of each feature and its unit. They are private: add noise."""
    return [
        count_cells(feature, indices, rows.labels, rows.k)
        for feature, indices in zip(rows.features, place_columns(rows.features, rows.codes), strict=True)
    ]


def measure_tables(
    rows: CodedRows, epsilon: Fraction, source: RandomSource, delta: Fraction = Fraction(0)
) -> list[NoisyTable]:
    """Return (epsilon, delta)-private tables; the noise is Laplace or, with a delta, Gaussian."""
    tables, noisy = exact_tables(rows), []
    for cells, unit in tables:
        if delta:  # a row's cells in one table add up to `unit`, so they have at most this length too
            variance = len(tables) / (2 * find_rho(epsilon, delta)) * unit**2
            noise = draw_gaussian_array(variance, cells.size, source)
            noisy.append(
                NoisyTable(cells + noise.reshape(cells.shape), unit, float(variance), terms=math.inf)
            )
        else:
            scale = len(tables) / epsilon * unit
            noise = draw_laplace_array(scale, cells.size, source)
            noisy.append(NoisyTable(cells + noise.reshape(cells.shape), unit, laplace_variance(scale)))
    return noisy


@lru_cache(maxsize=2)
def soft_cells(can_be_missing: bool) -> IntArray:
    """Return the parts of each grid step, (STEPS + 1, 3), or (STEPS + 2, 4) if numbers can be missing."""
    steps = range(STEPS + 1 + can_be_missing)
    parts = np.array([soft_parts(step, can_be_missing) for step in steps], dtype=np.int64)
    parts.setflags(write=False)
    return parts


# -- the learner -------------------------------------------------------------------------------------

SELECTION_SHARE = Fraction(3, 10)
"""The share of epsilon that the selection of features spends."""


@dataclass(frozen=True)
class CentralNaiveBayes:
    prior: FloatArray
    """P(label). Shape (k,)."""
    conditionals: tuple[ClassConditional, ...]
    """P(value | label) of each feature; it is the same for all labels if the feature was not selected.
    Tuple of (A_i, k) arrays and Gaussians."""
    selected: tuple[int, ...]
    tables: tuple[NoisyTable, ...]
    """Their tables, which may be released too."""
    classes: ClassCounts


def fit_naive_bayes(
    rows: CodedRows,
    expected_rows: int,
    epsilon: Fraction,
    source: RandomSource,
    delta: Fraction = Fraction(0),
) -> tuple[CentralNaiveBayes, list[Spending]]:
    """Return a classifier and what it spent for one row; public `expected_rows` choose how many features."""
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
        Gaussian(
            np.zeros(rows.k),
            np.full(rows.k, UNIFORM_VARIANCE),
            np.full(rows.k, 0.5) if feature.missing == "category" else None,
        )
        if isinstance(feature, NumericFeature)
        else np.full((feature.size, rows.k), 1 / feature.size)
        for feature in rows.features
    ]
    numbers = [index for index in tables if isinstance(rows.features[index], NumericFeature)]
    discrete = [index for index in tables if index not in numbers]
    smoothed = smooth_tables(
        [estimate_table(tables[index], classes) for index in discrete],
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


ROWS_PER_FEATURE = 100
"""Product of rows and epsilon for which one more feature is used."""


def feature_count(features: int, expected_rows: int, epsilon: Fraction) -> int:
    return min(max(round(expected_rows * epsilon / ROWS_PER_FEATURE), 1), features)


def count_hits(rows: CodedRows) -> list[Fraction]:
    """Return the hits of each feature. They are private: choose with :func:`select_features`."""
    return [Fraction(int(cells.max(axis=1).sum()), unit) for cells, unit in exact_tables(rows)]


def select_features(rows: CodedRows, count: int, epsilon: Fraction, source: RandomSource) -> list[int]:
    """Return the sorted indices of `count` features with many hits; epsilon-differentially private.

    Each of `count` rounds of permute-and-flip spends epsilon / count. Hits never fall when a row is added, so
    this is the rate, and not half of it.
    """
    hits = count_hits(rows)
    left, chosen = list(range(len(hits))), []
    for _ in range(count):
        place = permute_and_flip([hits[index] for index in left], epsilon / count, source)
        chosen.append(left.pop(place))
    return sorted(chosen)
