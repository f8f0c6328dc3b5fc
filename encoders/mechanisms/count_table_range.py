"""A bound on the weighted sums of cells that one message of a silo can have and still pass the checks."""

from __future__ import annotations

from collections.abc import Sequence

from encoders.arrays import FloatArray, IntArray, np
from encoders.mechanisms.counted_table import CountedTable
from encoders.mechanisms.soft_cells import SOFT_UNIT


def greatest_amount(tables: Sequence[CountedTable], rows: int, weights: FloatArray) -> FloatArray:
    """Return the greatest weighted sum of the cells of a message whose cells and totals pass the checks.

    A dishonest silo chooses a number of rows, the total of each table near it, and fills the cells with
    the largest weights first. The amount is a concave function of the number of rows, so bisection finds its
    maximum, to within one part SOFT_UNIT of a row.

    Parameters
    ----------
    tables : sequence of CountedTable
    rows : int
        The most rows that one message may count.
    weights : float array, shape (..., cells)

    Returns
    -------
    float array, shape (...)
    """
    fills = [_Fill(table, weights[..., table.start : table.end]) for table in tables]
    low = np.zeros(weights.shape[:-1])
    most = high = np.full(weights.shape[:-1], float(rows * SOFT_UNIT))
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        rising = np.sum([fill.slope(middle) for fill in fills], axis=0) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    ends = (np.zeros_like(low), low, high, most)
    return np.asarray(np.max([np.sum([fill.amount(end) for fill in fills], axis=0) for end in ends], axis=0))


class _Fill:
    """The greatest weighted sum of a table's cells, by the number of rows in SOFT_UNIT parts."""

    def __init__(self, table: CountedTable, weights: FloatArray) -> None:
        self._descending = -np.sort(-weights, axis=-1)
        nothing = np.zeros((*weights.shape[:-1], 1))
        self._prefix = np.concatenate([nothing, np.cumsum(self._descending, axis=-1)], axis=-1)
        self._low, high = table.accepted
        self._width, self._count = float(high - self._low), weights.shape[-1]
        self._parts, self._error = SOFT_UNIT // table.unit, table.total_error
        self._best = self._width * (weights > 0).sum(axis=-1)

    def _range(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least and the greatest filling: the table's total minus its least possible total."""
        empty, full = self._low * self._count, self._width * self._count
        least, most = ((rows + error) / self._parts - empty for error in (-self._error, self._error))
        return np.clip(least, 0.0, full), np.clip(most, 0.0, full)

    def _place(self, filling: FloatArray) -> IntArray:
        """Return the index of the cell, by descending weight, that is filled in part."""
        return np.clip(filling // self._width, 0, self._count - 1).astype(np.int64)

    def slope(self, rows: FloatArray) -> FloatArray:
        """Return the increase of the sum for one more part of a row."""
        least, most = self._range(rows)
        filling = np.clip(self._best, least, most)
        marginal = np.take_along_axis(self._descending, self._place(filling)[..., None], axis=-1)[..., 0]
        return np.where(filling == self._best, 0.0, marginal / self._parts)

    def amount(self, rows: FloatArray) -> FloatArray:
        """Return the greatest weighted sum."""
        least, most = self._range(rows)
        filling = np.clip(self._best, least, most)
        index = self._place(filling)
        full = np.take_along_axis(self._prefix, index[..., None], axis=-1)[..., 0]
        marginal = np.take_along_axis(self._descending, index[..., None], axis=-1)[..., 0]
        return np.asarray(
            self._low * self._prefix[..., -1]
            + self._width * full
            + (filling - index * self._width) * marginal
        )
