"""Measures noisy tables of counts (value, label).

Each feature has one table. A row adds one to one cell of each table. So the tables of F features have the L1
sensitivity F, and discrete Laplace noise of scale F / epsilon in every cell makes all of them
epsilon-differentially private. The counts of the classes are sums of these cells and cost nothing more. The
table of a number has three soft cells, see :mod:`encoders.mechanisms.counted_table`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from encoders.mechanisms.counted_table import SOFT_UNIT, STEPS, laplace_variance, soft_parts
from encoders.randomness import RandomSource
from encoders.survey import Feature, NumericFeature
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.estimation.tables.noisy_tables import NoisyTable
from ldp_aggregator.prediction.linear_model import place_columns
from ldp_central.coded_rows import CodedRows
from ldp_central.noise import draw_gaussian_array, draw_laplace_array, find_rho


def count_cells(feature: Feature, indices: IntArray, labels: IntArray, k: int) -> tuple[IntArray, int]:
    """Return the exact table of a feature, (A, k), and its unit. It is private: add noise.

    Parameters
    ----------
    feature : Feature
    indices : (m,) array
        The feature's codes, from :func:`place_columns`.
    labels : (m,) array
    k : int
    """
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
    """Return the noisy tables of all features; together they are (epsilon, delta)-differentially private.

    With delta 0 the noise is discrete Laplace, otherwise discrete Gaussian.
    """
    tables = exact_tables(rows)
    if not delta:
        scale = len(tables) / epsilon
        return [
            _add_noise(cells, unit, draw_laplace_array(scale * unit, cells.size, source), scale * unit)
            for cells, unit in tables
        ]
    # a row's cells in one table add up to `unit`, so they have at most this length too
    variance = len(tables) / (2 * find_rho(epsilon, delta))
    noisy = []
    for cells, unit in tables:
        noise = draw_gaussian_array(variance * unit**2, cells.size, source).reshape(cells.shape)
        noisy.append(NoisyTable(cells + noise, unit, float(variance * unit**2), terms=math.inf))
    return noisy


def _add_noise(cells: IntArray, unit: int, noise: IntArray, scale: Fraction) -> NoisyTable:
    return NoisyTable(cells + noise.reshape(cells.shape), unit, laplace_variance(scale))


@lru_cache(maxsize=2)
def soft_cells(can_be_missing: bool) -> IntArray:
    """Return the parts of each grid step, (STEPS + 1, 3).

    If the number can be missing, one more cell and one more step stand for that: (STEPS + 2, 4).
    """
    steps = range(STEPS + 1 + can_be_missing)
    parts = np.array([soft_parts(step, can_be_missing) for step in steps], dtype=np.int64)
    parts.setflags(write=False)
    return parts
