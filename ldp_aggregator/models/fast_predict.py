"""The most probable label of many rows of plain numbers, in blocks that stay in the processor's cache.

Of the scores only differences are added up, between each label and the first: of a discrete feature the whole
number itself finds its difference in a table, of a numeric one the difference is a parabola. Where it is so
narrow that rounding could turn it, and where a row holds anything but values of the survey, the label is left
open: for `LogProbabilities.scores`, behind the coding that tells what is wrong. So labels are those of the
general way, ties too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from encoders.errors import RowError
from encoders.survey import BinnedFeature, CategoricalFeature, Feature, NumericFeature, Plan
from encoders.survey.numeric_features import GRID
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.models.scoring import DiscreteLikelihood, GaussianLikelihood, Likelihood, LogProbabilities
from ldp_aggregator.models.table_input import Columns

OPEN = -1
"""In the place of a label that is not decided."""

_CELLS = 1 << 16
"""In a block: with what is made of them they stay in a cache, and numpy's own cost per call is small."""

_LONGEST = 1024
"""Whole numbers that a feature tells apart, at most: all tables together stay in the cache too."""

_FAR = 1 << 53
"""Whole numbers beyond are left to the general way: not all of them are doubles."""

Reader = Callable[[NDArray[Any]], FloatArray]
"""From a block of cells (rows, features) to differences of scores (labels - 1, rows)."""


@dataclass(frozen=True)
class Quick:
    """What decides most rows.

    Attributes
    ----------
    names : tuple of str
    groups : tuple of (places, group)
        Which features are read together.
    prior : (k - 1,) array
    doubt : float
        By how much two differences may be off, in the general way too.
    """

    names: tuple[str, ...]
    groups: tuple[tuple[list[int], _Numbers | _Parabolas], ...]
    prior: FloatArray
    doubt: float

    @classmethod
    def of(cls, plan: Plan, tables: LogProbabilities) -> Self | None:
        """Prepare a model; None if it projects rows, or tells too many whole numbers apart."""
        spans = [None if isinstance(each, NumericFeature) else _span(each) for each in plan.features]
        if plan.projection or not all(span is None or _is_short(span) for span in spans):
            return None
        with np.errstate(all="ignore"):  # what overflows, and what a label vetoes, is left open
            groups = [
                (places, kind.of([plan.features[j] for j in places], [tables.likelihoods[j] for j in places]))
                for kind, numeric in ((_Numbers, False), (_Parabolas, True))
                if (places := [j for j, span in enumerate(spans) if (span is None) == numeric])
            ]
            reach = _largest(tables.prior) + sum(group.reach for _, group in groups)
            rounding = 32 * (len(spans) + 2) * np.finfo(float).eps * reach
            doubt = rounding + sum(group.off_grid for _, group in groups)
            return cls(
                tuple(each.name for each in plan.features),
                tuple(groups),
                tables.prior[1:] - tables.prior[0],
                doubt,
            )

    def reads(self, rows: NDArray[Any] | Columns) -> bool:
        """Tell whether rows are plain numbers of the types these features take, none of them infinite."""
        if isinstance(rows, np.ndarray):
            if not all(group.takes(rows.dtype) for _, group in self.groups):
                return False
            # scikit-learn has refused infinity, unless it was told not to look
            return not get_config()["assume_finite"] or not np.isinf(rows).any()
        columns = [rows[name] for name in self.names]
        return (
            all(type(column) is np.ndarray and column.ndim == 1 for column in columns)
            and len({len(column) for column in columns}) == 1
            and all(group.takes(columns[j].dtype) for places, group in self.groups for j in places)
            and not any(np.isinf(column).any() for column in columns)
        )

    def best(self, rows: NDArray[Any] | Columns) -> IntArray:
        """Return the place of the most probable label of each row, or OPEN; shape (m,)."""
        block = max(_CELLS // len(self.names), 1)
        count = len(rows) if isinstance(rows, np.ndarray) else len(rows[self.names[0]])
        readers = [(places, group.reader(min(block, count))) for places, group in self.groups]
        found = np.empty(count, dtype=np.int64)
        with np.errstate(all="ignore"):
            for start in range(0, count, block):
                part = slice(start, start + block)
                gaps = self.prior[:, None]
                for places, read in readers:
                    gaps = gaps + read(self._cells(rows, places, part))
                found[part] = _decided(gaps, self.doubt)
        return found

    def _cells(self, rows: NDArray[Any] | Columns, places: list[int], part: slice) -> NDArray[Any]:
        if not isinstance(rows, np.ndarray):
            return np.stack([rows[self.names[j]][part] for j in places], axis=1)
        return rows[part] if len(places) == len(self.names) else rows[part, places]


def _decided(gaps: FloatArray, doubt: float) -> IntArray:
    """Return the label of each column of (k - 1, rows) differences to the first; OPEN where it is close."""
    best: IntArray = (gaps[0] > 0).astype(np.int64)
    sure = np.abs(gaps[0]) > doubt  # never of NaN
    top = np.maximum(gaps[0], 0)
    for label, gap in enumerate(gaps[1:], 2):
        lead = gap - top
        sure &= np.abs(lead) > doubt
        best[lead > 0] = label
        np.maximum(top, gap, out=top)
    best[~sure] = OPEN
    return best


@dataclass(frozen=True)
class _Numbers:
    """Discrete features, of whole numbers: their tables one after the other.

    Attributes
    ----------
    low, high : (n,) int arrays
        Numbers beyond these mean what these mean.
    shift : (n,) int array
        From a number to its entry.
    gaps : (k - 1, entries) array
        NaN where a number is no value.
    reach, off_grid : float
        The largest sum of logarithms; what the general way rounds otherwise: nothing.
    """

    low: IntArray
    high: IntArray
    shift: IntArray
    gaps: FloatArray
    reach: float
    off_grid: float = 0.0

    @classmethod
    def of(cls, features: Sequence[Feature], columns: Sequence[Likelihood]) -> Self:
        """Look every number up by the device's own coding."""
        discrete = cast(Sequence[BinnedFeature | CategoricalFeature], features)
        tables = [cast(DiscreteLikelihood, column).log_table for column in columns]
        spans = [_span(feature) for feature in discrete]
        logs = np.concatenate([_look_up(*each) for each in zip(discrete, spans, tables, strict=True)])
        low, high = (np.array([span[end] for span in spans], dtype=np.int64) for end in (0, -1))
        shift = np.cumsum([0, *map(len, spans[:-1])]) - low
        return cls(low, high, shift, (logs[:, 1:] - logs[:, :1]).T.copy(), sum(map(_largest, tables)))

    def takes(self, dtype: np.dtype[Any]) -> bool:
        return dtype.kind in "iu" and np.can_cast(dtype, np.int64)

    def reader(self, rows: int) -> Reader:
        """Prepare for blocks of so many rows: bounds as large as a block spare numpy a loop per row."""
        low, high, shift = (np.tile(each, (rows, 1)) for each in (self.low, self.high, self.shift))
        ones = np.ones(len(self.low))

        def read(cells: NDArray[Any]) -> FloatArray:
            count = len(cells)
            places = np.maximum(cells, low[:count])
            places = np.minimum(places, high[:count], out=places)
            places += shift[:count]
            # a product with ones adds a row up in half the time of numpy's sum
            return np.stack([gap.take(places) @ ones for gap in self.gaps])

        return read


@dataclass(frozen=True)
class _Parabolas:
    """Numeric features: of a number v within its bounds the difference is square v^2 + slope v + a constant.

    Attributes
    ----------
    low, high : (n,) arrays
        The bounds.
    square, slope : (n, k - 1) arrays
    constant : (k - 1, 1) array
        Of all features together.
    reach, off_grid : float
        As for _Numbers. The general way rounds numbers to their grid, which is not done here.
    """

    low: FloatArray
    high: FloatArray
    square: FloatArray
    slope: FloatArray
    constant: FloatArray
    reach: float
    off_grid: float

    @classmethod
    def of(cls, features: Sequence[Feature], columns: Sequence[Likelihood]) -> Self:
        """Multiply the densities out: a x^2 + b x + c of x = (v - middle) / half the range."""
        numeric = cast(Sequence[NumericFeature], features)
        normal = cast(Sequence[GaussianLikelihood], columns)
        mean, precision, height = (
            np.array([getattr(each, name) for each in normal]) for name in ("mean", "precision", "log_peak")
        )
        a, b, c = -0.5 * precision, precision * mean, height - 0.5 * precision * mean**2
        low, high = np.array([each.bounds for each in numeric]).T
        half = np.array([[each.width] for each in numeric])
        middle, farthest = low[:, None] / half + 1, np.maximum(np.abs(low), np.abs(high))[:, None] / half
        reach = 4 * np.abs(a) * farthest**2 + 2 * np.abs(b) * farthest + np.abs(c)
        a, b, c = (part[:, 1:] - part[:, :1] for part in (a, b, c))
        constant = (a * middle**2 - b * middle + c).sum(axis=0)[:, None]
        off_grid = float(2 * (2 * np.abs(a) + np.abs(b)).sum(axis=0).max() / GRID)
        square, slope = a / half**2, (b - 2 * a * middle) / half
        return cls(low, high, square, slope, constant, float(reach.max(axis=1).sum()), off_grid)

    def takes(self, dtype: np.dtype[Any]) -> bool:
        return dtype.kind in "fiu"

    def reader(self, rows: int) -> Reader:
        """Prepare for blocks of so many rows, as _Numbers does."""
        low, high = (np.tile(each, (rows, 1)) for each in (self.low, self.high))

        def read(cells: NDArray[Any]) -> FloatArray:
            count = len(cells)
            numbers = np.maximum(cells, low[:count], dtype=np.float64)
            numbers = np.minimum(numbers, high[:count], out=numbers)  # NaN stays, and leaves the row open
            gaps: FloatArray = (numbers @ self.slope + numbers**2 @ self.square).T + self.constant
            return gaps

        return read


def _span(feature: BinnedFeature | CategoricalFeature) -> range:
    """Return the whole numbers that a feature tells apart, and one on each side for all beyond."""
    if isinstance(feature, BinnedFeature):
        inner = [float(edge) for edge in feature.edges[1:-1]] or [0.0]
        return range(int(inner[0] // 1) - 1, int(inner[-1] // 1) + 2)
    values = [int(text) for text in feature.values if _is_whole(text)] or [0]
    return range(min(values) - 1, max(values) + 2)


def _is_short(span: range) -> bool:
    return span.stop - span.start <= _LONGEST and -_FAR < span.start < _FAR


def _is_whole(text: str) -> bool:
    return len(text) < 16 and text.removeprefix("-").isdecimal()


def _look_up(feature: BinnedFeature | CategoricalFeature, span: range, logs: FloatArray) -> FloatArray:
    found = np.full((len(span), logs.shape[1]), np.nan)
    for place, number in enumerate(span):
        try:
            found[place] = logs[feature.code(number)]
        except RowError:
            continue  # no value of the survey
    return found


def _largest(logs: FloatArray) -> float:
    return float(np.abs(logs[np.isfinite(logs)]).max(initial=0.0))
