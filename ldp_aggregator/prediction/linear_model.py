"""Linear models as they are stored, and the coordinates of rows in the unit ball, by public scaling only.

Every feature has a public matrix with one row of coordinates per code, so a linear score is a sum of
looked-up numbers. A category is one-hot minus 1/A, or +-1/2 with two values. A number has t - 1/2, where t is
its position between the bounds, or that of its bin between the first and the last. Then follow the curves
-cos(j pi t') / (2 sqrt j) for j = 2, ..., d, where t' is the middle of its bin between 0 and 1: with the
degree d, a score can bend d - 1 times. One more coordinate of 1/2 stands for a missing number. A constant of
1/2 comes last. All coordinates are divided by the greatest possible length of a row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Self

import numpy as np

from encoders.mechanisms.counted_table import STEPS
from encoders.survey import CategoricalFeature, Feature, NumericFeature
from encoders.survey.features import GRID
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.codec import HIDDEN, require
from ldp_aggregator.prediction import LINEAR
from ldp_aggregator.prediction.scoring import normalise_log_scores

SHARPNESS = 2
"""tau: the losses are the hinge with its corner smoothed over a width of about 1 / tau."""
LEAST_DEGREE, MAX_DEGREE = 2, 7
_ROUNDING = 1 + 2.0**-40
"""Covers the rounding of coordinates, so that the length of a row is never above 1."""


@dataclass(frozen=True)
class Design:
    blocks: tuple[FloatArray, ...]
    """One per feature. Tuple of (codes, coordinates) arrays."""
    constant: float
    """The last coordinate of every row."""

    @classmethod
    def from_features(cls, features: Sequence[Feature], degree: int) -> Design:
        blocks = [_coordinates(feature, degree) for feature in features]
        squares = [float((block**2).sum(axis=1).max(initial=0.0)) for block in blocks]
        length = math.sqrt(sum(squares) + 0.25) * _ROUNDING
        return cls(tuple(block / length for block in blocks), 0.5 / length)

    @property
    def columns(self) -> int:
        return 1 + sum(int(block.shape[1]) for block in self.blocks)

    def split(self, weights: FloatArray) -> list[FloatArray]:
        """Return the part of (columns, ...) weights of each feature, and the constant's, which is last."""
        ends = np.cumsum([block.shape[1] for block in self.blocks])
        return np.split(weights, ends)

    def scores(self, columns: Sequence[IntArray], weights: FloatArray) -> FloatArray:
        """Return x W, shape (m, c), for weights (columns, c) and the codes of :func:`place_columns`."""
        *parts, last = self.split(weights)
        scores = np.repeat(self.constant * last, len(columns[0]), axis=0)
        for block, part, column in zip(self.blocks, parts, columns, strict=True):
            scores += (block @ part)[column]
        return scores

    def pull_back(self, columns: Sequence[IntArray], residuals: FloatArray) -> FloatArray:
        """Return the sum over the rows of x_i r_i', shape (columns, c), for residuals in [-2, 2], (m, c).

        The residuals of each code are summed in two parts. The high parts are multiples of a power of two,
        whose sums are exact. The low parts are so small that the rounding of their sums does not matter.
        """
        size = 2.0 ** (50 - max(len(residuals), 1).bit_length())
        high = np.rint(residuals * size) / size
        return self.fast_pull_back(columns, high) + self.fast_pull_back(columns, residuals - high)

    def fast_pull_back(self, columns: Sequence[IntArray], residuals: FloatArray) -> FloatArray:
        """Return the sum over the rows of x_i r_i', with rounding errors of all sums."""
        parts = []
        for block, column in zip(self.blocks, columns, strict=True):
            sums = [np.bincount(column, each, len(block)) for each in residuals.T]
            parts.append(block.T @ np.stack(sums, axis=1))
        return np.concatenate([*parts, self.constant * residuals.sum(axis=0)[None, :]])

    def gram(self, columns: Sequence[IntArray], weights: FloatArray) -> FloatArray:
        """Return the sum of h_i x_i x_i', (columns, columns), over rows with weights h, (m,)."""
        blocks = [*self.blocks, np.array([[self.constant]])]
        codes = [*columns, np.zeros(len(weights), dtype=np.int64)]
        ends = np.cumsum([block.shape[1] for block in blocks])
        gram = np.empty((ends[-1], ends[-1]))
        for i, (block, column) in enumerate(zip(blocks, codes, strict=True)):
            here = slice(ends[i] - block.shape[1], ends[i])
            for j in range(i + 1):
                size = len(block), len(blocks[j])
                sums = np.bincount(column * size[1] + codes[j], weights, size[0] * size[1]).reshape(size)
                there = slice(ends[j] - blocks[j].shape[1], ends[j])
                gram[here, there] = block.T @ sums @ blocks[j]
                gram[there, here] = gram[here, there].T
        return gram

    def matrix(self, columns: Sequence[IntArray], rows: slice) -> FloatArray:
        parts = [block[column[rows]] for block, column in zip(self.blocks, columns, strict=True)]
        return np.concatenate([*parts, np.full((len(parts[0]), 1), self.constant)], axis=1)


def count_coordinates(feature: Feature, degree: int) -> int:
    size = grid_size(feature)
    if isinstance(feature, CategoricalFeature):
        return size if size > 2 else size - 1
    present = size - (feature.missing == "category")
    return 0 if size == 1 else max(min(degree, present - 1), 1) + size - present


def _coordinates(feature: Feature, degree: int) -> FloatArray:
    size = grid_size(feature)
    if size == 1:
        return np.empty((1, 0))
    if not isinstance(feature, CategoricalFeature):
        present = size - (feature.missing == "category")
        positions = np.linspace(-0.5, 0.5, present) if present > 1 else np.zeros(present)
        orders = np.arange(2, min(degree, present - 1) + 1)
        middles = (np.arange(present)[:, None] + 0.5) / present
        curves = -np.cos(np.pi * orders * middles) / (2 * np.sqrt(orders))
        block = np.zeros((size, len(orders) + 1 + size - present))
        block[:present, : len(orders) + 1] = np.column_stack([positions, curves])
        block[present:, len(orders) + 1 :] = 0.5
        return block
    if size == 2:
        return np.array([[-0.5], [0.5]])
    return np.eye(size) - 1 / size


def place_on_grid(codes: IntArray) -> IntArray:
    """Return the steps of an array of codes, see :func:`encoders.mechanisms.counted_table.place_code`."""
    steps = (codes * STEPS + GRID) // (2 * GRID)
    return np.where(codes > 2 * GRID, STEPS + 1, steps)


def grid_size(feature: Feature) -> int:
    if isinstance(feature, NumericFeature):
        return STEPS + 1 + (feature.missing == "category")
    return feature.size


def place_columns(features: Sequence[Feature], codes: IntArray) -> list[IntArray]:
    """Return each feature's codes, (m, F), as learners distinguish them, one (m,) array per feature."""
    return [
        place_on_grid(column) if isinstance(feature, NumericFeature) else column
        for feature, column in zip(features, codes.T, strict=True)
    ]


@cache
def find_class_basis(k: int) -> FloatArray:
    """Return the class scores, adding up to zero, of the k - 1 scores of the loss, (k - 1, k), by Helmert."""
    if k == 2:
        return np.array([[-0.5, 0.5]])
    rows = np.zeros((k - 1, k))
    for index in range(1, k):
        rows[index - 1, :index] = 1.0
        rows[index - 1, index] = -index
        rows[index - 1] /= math.sqrt(index * (index + 1))
    rows.setflags(write=False)
    return rows


def find_class_scores(scores: FloatArray, k: int) -> FloatArray:
    """Return a score for each class, (m, k), from the k - 1 scores of the loss, (m, k - 1)."""
    return scores @ find_class_basis(k)


@dataclass(frozen=True)
class LinearModel:
    degree: int
    """The degree of the curves of numbers."""
    weights: FloatArray
    """Released: multiples of 2^-40. Shape (columns, k - 1)."""
    features: tuple[Feature, ...] = field(metadata=HIDDEN)

    kind = LINEAR
    JSON_KINDS = (kind,)
    JSON_DERIVED = ("kind",)

    @property
    def k(self) -> int:
        return int(self.weights.shape[1]) + 1

    @classmethod
    def complete_entries(cls, values: dict[str, Any]) -> None:
        values["features"] = ()

    def for_plan(self, features: tuple[Feature, ...], k: int) -> Self:
        is_degree = LEAST_DEGREE <= self.degree <= MAX_DEGREE
        require(is_degree, f"degree: needs a whole number from {LEAST_DEGREE} to {MAX_DEGREE}")
        shape = Design.from_features(features, self.degree).columns, k - 1
        is_valid = self.weights.shape == shape and bool(np.isfinite(self.weights).all())
        require(is_valid, f"weights: need the shape {shape}")
        return replace(self, features=features)

    @property
    def design(self) -> Design:
        return Design.from_features(self.features, self.degree)

    def compute_scores(self, codes: IntArray) -> FloatArray:
        """Return log P(label | row) of coded rows, (m, k), up to a constant of the row.

        With a the softmax of tau times the scores, the scores minimise the expected loss where P(label) is
        proportional to a (e^tau - (e^tau - 1) a). This is a larger probability for a larger score.
        """
        log_shares = normalise_log_scores(SHARPNESS * self.scores(codes))
        edge = np.exp(SHARPNESS)
        scores: FloatArray = log_shares + np.log(edge - (edge - 1) * np.exp(log_shares))
        return scores

    def scores(self, rows_codes: IntArray) -> FloatArray:
        scores = self.design.scores(place_columns(self.features, rows_codes), self.weights)
        return find_class_scores(scores, self.k)
