"""Scores of blocks of rows, for fast prediction: groups of features whose gaps are computed together.

A gap is the difference between the score of a label and the score of the first label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from encoders.errors import RowError
from encoders.survey import BinnedFeature, CategoricalFeature, Feature, NumericFeature
from encoders.survey.features import GRID
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.prediction.scoring import DiscreteLikelihood, GaussianLikelihood, Likelihood

_MAX_TABLE_LENGTH = 1024
"""Maximum number of whole numbers in a feature's table, so that all tables stay in the cache."""

_MAX_EXACT_INTEGER = 1 << 53
"""Above this, not all whole numbers are doubles, so a feature has no table."""

ScoreBlock = Callable[[NDArray[Any]], FloatArray]
"""Maps a block of cells (rows, features) to gaps (labels - 1, rows)."""


@dataclass(frozen=True, kw_only=True)
class DiscreteGroup:
    """Discrete features with whole numbers as cells: their concatenated tables of gaps."""

    low: IntArray
    high: IntArray
    """A number outside this range has the code of the nearest end. Shape (n,)."""
    shift: IntArray
    """Offset from a number to its index in `gaps`. Shape (n,)."""
    gaps: FloatArray
    """NaN where a number is not a value of the survey. Shape (k - 1, entries)."""
    max_magnitude: float
    """The largest absolute sum of logarithms."""
    grid_error: float = 0.0
    """Rounding to the grid in `LogProbabilities.compute_scores`: none for discrete features."""

    @classmethod
    def from_likelihoods(cls, pairs: Sequence[tuple[Feature, Likelihood]]) -> Self:
        features = [cast(BinnedFeature | CategoricalFeature, feature) for feature, _ in pairs]
        logs = [cast(DiscreteLikelihood, likelihood).log_table for _, likelihood in pairs]
        ranges = [_integer_range(feature) for feature in features]
        table = np.concatenate([_tabulate(*each) for each in zip(features, ranges, logs, strict=True)])
        low = np.array([each[0] for each in ranges], dtype=np.int64)
        return cls(
            low=low,
            high=np.array([each[-1] for each in ranges], dtype=np.int64),
            shift=np.cumsum([0, *map(len, ranges[:-1])]) - low,
            gaps=(table[:, 1:] - table[:, :1]).T.copy(),
            max_magnitude=sum(map(find_max_magnitude, logs)),
        )

    def supports_dtype(self, dtype: np.dtype[Any]) -> bool:
        return dtype.kind in "iu" and np.can_cast(dtype, np.int64)

    def prepare(self, rows: int) -> ScoreBlock:
        """Return the function that scores blocks of at most `rows` rows; it is faster with bounds per row."""
        low, high, shift = (np.tile(each, (rows, 1)) for each in (self.low, self.high, self.shift))
        ones = np.ones(len(self.low))

        def score(cells: NDArray[Any]) -> FloatArray:
            count = len(cells)
            indices = np.maximum(cells, low[:count])
            indices = np.minimum(indices, high[:count], out=indices)
            indices += shift[:count]
            # a product with ones adds a row up in half the time of numpy's sum
            return np.stack([gap.take(indices) @ ones for gap in self.gaps])

        return score


@dataclass(frozen=True, kw_only=True)
class NumericGroup:
    """Numeric features: the gap of a number v within its bounds is square v^2 + slope v + a constant."""

    low: FloatArray
    high: FloatArray
    """The bounds. Shape (n,)."""
    square: FloatArray
    slope: FloatArray
    """Shape (n, k - 1)."""
    constant: FloatArray
    """The sum over all features. Shape (k - 1, 1)."""
    max_magnitude: float
    """The largest absolute sum of log-densities."""
    grid_error: float
    """Upper bound on the change of gaps because only `LogProbabilities.compute_scores` rounds numbers to
    their grid."""

    @classmethod
    def from_likelihoods(cls, pairs: Sequence[tuple[Feature, Likelihood]]) -> Self:
        features = [cast(NumericFeature, feature) for feature, _ in pairs]
        normals = [cast(GaussianLikelihood, likelihood) for _, likelihood in pairs]
        mean = np.array([each.mean for each in normals])
        precision = np.array([each.precision for each in normals])
        a, b = -0.5 * precision, precision * mean
        c = np.array([each.log_peak for each in normals]) - 0.5 * precision * mean**2
        low, high = np.array([each.bounds for each in features]).T
        half = np.array([[each.width] for each in features])
        middle = low[:, None] / half + 1
        farthest = np.maximum(np.abs(low), np.abs(high))[:, None] / half
        magnitude = 4 * np.abs(a) * farthest**2 + 2 * np.abs(b) * farthest + np.abs(c)
        a, b, c = (part[:, 1:] - part[:, :1] for part in (a, b, c))
        return cls(
            low=low,
            high=high,
            square=a / half**2,
            slope=(b - 2 * a * middle) / half,
            constant=(a * middle**2 - b * middle + c).sum(axis=0)[:, None],
            max_magnitude=float(magnitude.max(axis=1).sum()),
            grid_error=float(2 * (2 * np.abs(a) + np.abs(b)).sum(axis=0).max() / GRID),
        )

    def supports_dtype(self, dtype: np.dtype[Any]) -> bool:
        return dtype.kind in "fiu"

    def prepare(self, rows: int) -> ScoreBlock:
        low, high = (np.tile(each, (rows, 1)) for each in (self.low, self.high))

        def score(cells: NDArray[Any]) -> FloatArray:
            count = len(cells)
            numbers = np.maximum(cells, low[:count], dtype=np.float64)
            numbers = np.minimum(numbers, high[:count], out=numbers)  # NaN is kept: the row stays undecided
            gaps: FloatArray = (numbers @ self.slope + numbers**2 @ self.square).T + self.constant
            return gaps

        return score


def _integer_range(feature: BinnedFeature | CategoricalFeature) -> range:
    """Return the whole numbers with different codes, and one more on each side for all numbers beyond."""
    if isinstance(feature, BinnedFeature):
        inner_edges = [float(edge) for edge in feature.edges[1:-1]] or [0.0]
        return range(int(inner_edges[0] // 1) - 1, int(inner_edges[-1] // 1) + 2)
    texts = [text for text in feature.values if len(text) < 16 and text.removeprefix("-").isdecimal()]
    values = [int(text) for text in texts] or [0]
    return range(min(values) - 1, max(values) + 2)


def fits_table(feature: Feature) -> bool:
    integers = _integer_range(cast(BinnedFeature | CategoricalFeature, feature))
    is_short = integers.stop - integers.start <= _MAX_TABLE_LENGTH
    return is_short and -_MAX_EXACT_INTEGER < integers.start < _MAX_EXACT_INTEGER


def _tabulate(
    feature: BinnedFeature | CategoricalFeature, integers: range, log_table: FloatArray
) -> FloatArray:
    table = np.full((len(integers), log_table.shape[1]), np.nan)
    for index, number in enumerate(integers):
        try:
            table[index] = log_table[feature.code(number)]
        except RowError:
            continue
    return table


def find_max_magnitude(logs: FloatArray) -> float:
    return float(np.abs(logs[np.isfinite(logs)]).max(initial=0.0))
