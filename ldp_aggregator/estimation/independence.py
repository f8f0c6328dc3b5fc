"""Tests whether the rows and columns of a table are independent.

The statistic is the squared distance of the raw frequencies from the tables of independent rows and columns
near the product of the margins, in units of their covariance. Of the covariance, what changes margins alone
cancels: diag(v) + shared 11' is left, evaluated at this product. The margins are projected to possible ones,
so that they need not be well known. The statistic has nearly a chi-square distribution with (rows - 1)
(columns - 1) degrees of freedom; docs/results/tables.md has the measured false alarms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.class_differences import chi_square_tail
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance
from ldp_aggregator.estimation.discrete.frequencies import find_likely_frequencies


@dataclass(frozen=True)
class Independence:
    """The result of a test of independence."""

    statistic: float
    degrees: int
    """Degrees of freedom."""
    p_value: float


def assess_independence(table: FloatArray, covariance: FrequencyCovariance) -> Independence:
    """Test whether rows and columns are independent.

    Parameters
    ----------
    table : (rows, columns) array
        Unbiased frequencies of the cells.
    covariance : FrequencyCovariance
        Of the same cells, from one question.
    """
    table = table if len(table) >= len(table.T) else table.T
    rows, columns = (_find_likely_margin(table, covariance, axis) for axis in (1, 0))
    residual = table - np.outer(rows, columns)
    weights = 1 / (covariance.floor + covariance.growth * np.outer(rows, columns))
    weighted = weights * residual
    # least squares: a table of independent rows and columns changes by changes of its margins, and the last
    # column of the normal equations is the noise that all cells share. The rows are eliminated first: there
    # are as many or more, and changes of two rows are in no cell together
    diagonal, moments = weights @ columns**2, np.append(rows @ weighted, weighted.sum())
    crossed = np.column_stack([weights * np.outer(rows, columns), weights @ columns])
    normal = np.diag(np.append(rows**2 @ weights, weights.sum()))
    normal[-1, :-1] = normal[:-1, -1] = rows @ weights
    if covariance.shared:
        normal[-1, -1] += 1 / covariance.shared
    of_rows = weighted @ columns
    normal -= crossed.T @ (crossed / diagonal[:, None])
    moments -= (of_rows / diagonal) @ crossed
    if not covariance.shared:
        normal, moments = normal[:-1, :-1], moments[:-1]
    explained = of_rows @ (of_rows / diagonal) + moments @ np.linalg.lstsq(normal, moments, rcond=None)[0]
    statistic = max(float((weights * residual**2).sum() - explained), 0.0)
    degrees = (len(rows) - 1) * (len(columns) - 1)
    return Independence(statistic, degrees, chi_square_tail(statistic, degrees))


def _find_likely_margin(table: FloatArray, covariance: FrequencyCovariance, axis: int) -> FloatArray:
    """Return possible frequencies near the sums along an axis."""
    size = table.shape[axis]
    sums = table.sum(axis=axis)
    even = 1 / len(sums)
    variance = size * covariance.floor + covariance.growth * even
    variance += (
        size**2 * covariance.shared + 2 * size * covariance.slope * even - covariance.product * even**2
    )
    return find_likely_frequencies(sums, math.sqrt(max(variance, 0.0)))
