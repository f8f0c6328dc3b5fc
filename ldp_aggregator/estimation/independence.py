"""The test of whether the rows and columns of a table are independent.

The statistic is the squared distance of the raw frequencies from the tables of independent rows and columns
near the product of the margins, in units of their covariance. Of the covariance, what changes margins alone
cancels: diag(v) + shared 11' is left, evaluated at this product. The margins are projected to possible
ones, so that they need not be well known.

The p-value is the share of simulated surveys of independent rows and columns whose statistic is at least as
large. docs/results/tables.md has the measured false alarms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance
from ldp_aggregator.estimation.null_distributions import (
    find_likely_margins,
    find_p_value,
    simulate_independent_tables,
)


@dataclass(frozen=True)
class Independence:
    """The result of a test of independence."""

    statistic: float
    degrees: int
    """Degrees of freedom of the chi-square distribution that the statistic has with many reports."""
    p_value: float


def assess_independence(
    table: FloatArray, covariance: FrequencyCovariance, simulations: int | None = None
) -> Independence:
    """Test whether rows and columns are independent; the same table gives the same p-value.

    Parameters
    ----------
    table : (rows, columns) array
        Unbiased frequencies of the cells.
    covariance : FrequencyCovariance
        Of the same cells, from one question.
    simulations : int, optional
        Number of simulated surveys; by default fewer for larger tables.
    """
    table = table if len(table) >= len(table.T) else table.T
    [statistic] = measure_dependence(table[None], covariance)
    simulated = measure_dependence(simulate_independent_tables(table, covariance, simulations), covariance)
    degrees = (len(table) - 1) * (len(table.T) - 1)
    return Independence(float(statistic), degrees, find_p_value(float(statistic), simulated, degrees))


def measure_dependence(tables: FloatArray, covariance: FrequencyCovariance) -> FloatArray:
    """Return the statistic of each table, (tables,).

    Parameters
    ----------
    tables : (tables, rows, columns) array
        Unbiased frequencies of the cells.
    covariance : FrequencyCovariance
        Of the cells of one table, from one question.
    """
    rows, columns = (find_likely_margins(tables, covariance, axis) for axis in (2, 1))
    expected = rows[:, :, None] * columns[:, None]
    residual = tables - expected
    weights = 1 / (covariance.floor + covariance.growth * expected)
    weighted = weights * residual
    # least squares: a table of independent rows and columns changes by changes of its margins, and the last
    # column of the normal equations is the noise that all cells share. The rows are eliminated first: changes
    # of two rows are in no cell together
    of_rows = np.einsum("tij,tj->ti", weighted, columns)
    diagonal = np.einsum("tij,tj->ti", weights, columns**2)
    crossed = np.dstack([weights * expected, np.einsum("tij,tj->ti", weights, columns)])
    last, places = columns.shape[1], np.arange(columns.shape[1])
    # to change all margins by the same factor, up and down, changes nothing: so the equations have many
    # solutions, and one more equation chooses any of them
    normal = np.zeros((len(tables), last + 1, last + 1))
    normal[:, :last, :last] = (
        columns[:, :, None] * columns[:, None] * weights.mean(axis=(1, 2))[:, None, None]
    )
    normal[:, places, places] += np.einsum("ti,tij->tj", rows**2, weights)
    normal[:, last, :last] = normal[:, :last, last] = np.einsum("ti,tij->tj", rows, weights)
    normal[:, last, last] = weights.sum(axis=(1, 2)) + (1 / covariance.shared if covariance.shared else 0.0)
    normal -= crossed.swapaxes(1, 2) @ (crossed / diagonal[..., None])
    moments = np.column_stack([np.einsum("ti,tij->tj", rows, weighted), weighted.sum(axis=(1, 2))])
    moments -= np.einsum("ti,tij->tj", of_rows / diagonal, crossed)
    if not covariance.shared:
        normal, moments = normal[:, :last, :last], moments[:, :last]
    solved = np.linalg.solve(normal, moments[..., None])[..., 0]
    explained = (of_rows**2 / diagonal).sum(axis=1) + (moments * solved).sum(axis=1)
    statistic: FloatArray = np.maximum((weighted * residual).sum(axis=(1, 2)) - explained, 0.0)
    return statistic
