"""The test of whether the rows and columns of a table are independent, and the simulated tables it needs.

The statistic is the squared distance of the raw frequencies from the tables of independent rows and columns
near the product of the margins, in units of their covariance. What changes margins alone cancels: diag(v) +
shared 11' is left, evaluated at this product, with margins projected to possible ones. Its distribution is
that of simulated independent tables with the observed margins (parametric bootstrap, Efron and Tibshirani
1993) and the noise of the mechanism: Poisson counts of reports, or Laplace for silos.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.covariance import LAPLACE_KURTOSIS, FrequencyCovariance
from ldp_aggregator.estimation.discrete.frequencies import find_likely_frequencies, project_simplex
from ldp_aggregator.estimation.tail_quantiles import invert_tail

_CELLS, _LEAST, _MOST = 40_000, 39, 399
"""Number of cells of all simulated tables together, and limits of the number of tables."""
_TAIL = 10
"""Rank of the simulated statistic whose tail is that of a chi-square variable times a factor."""


@dataclass(frozen=True)
class Independence:
    statistic: float
    degrees: int
    """Degrees of freedom of the chi-square distribution that the statistic has with many reports."""
    p_value: float


def assess_independence(table: FloatArray, covariance: FrequencyCovariance) -> Independence:
    """Test the independence of rows and columns of unbiased frequencies; the p-value is reproducible."""
    table = table if len(table) >= len(table.T) else table.T
    [statistic] = measure_dependence(table[None], covariance)
    simulated = measure_dependence(simulate_independent_tables(table, covariance), covariance)
    degrees = (len(table) - 1) * (len(table.T) - 1)
    return Independence(float(statistic), degrees, find_p_value(float(statistic), simulated, degrees))


def measure_dependence(tables: FloatArray, covariance: FrequencyCovariance) -> FloatArray:
    """Return the statistic of each table, (tables, rows, columns), whose cells have this covariance."""
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


# -- simulated tables ---------------------------------------------------------------------------


def simulate_independent_tables(table: FloatArray, covariance: FrequencyCovariance) -> FloatArray:
    """Return estimates of tables with independent rows and columns, (simulations, rows, columns)."""
    count = min(max(_CELLS // table.size, _LEAST), _MOST)
    rows, columns = (find_likely_margins(table[None], covariance, axis)[0] for axis in (2, 1))
    # rounded, so that another library of linear algebra, which rounds differently, gives the same tables
    seed = np.frombuffer(np.rint(np.clip(table, -1e9, 1e9) * 1e9).astype(np.int64).tobytes(), np.uint32)
    rng = np.random.default_rng(seed)
    drawn = draw_estimates(covariance.evaluate_at(np.outer(rows, columns).ravel()), count, rng)
    return drawn.reshape(count, *table.shape)


def draw_estimates(covariance: FrequencyCovariance, count: int, rng: np.random.Generator) -> FloatArray:
    """Return estimates, (count, d), whose mean and covariance are those that are given."""
    true, variance = covariance.distribution, covariance.independent_variance
    error = np.sqrt(variance)
    # what one report adds to a cell; at least so much that the Poisson counts are numbers
    unit = max(covariance.growth, 1e-6 * float(error.max()))
    expected = (covariance.growth * true if covariance.fourth else variance) / unit**2
    noise = unit * (rng.poisson(expected, (count, len(true))) - expected)
    if covariance.fourth:
        terms = LAPLACE_KURTOSIS * covariance.floor**2 / covariance.fourth
        first, second = rng.gamma(terms, math.sqrt(covariance.floor / (2 * terms)), (2, *noise.shape))
        noise += first - second
    # pairs of cells covary by M = shared 11' + slope (f1' + 1f') - product ff': with C = diag(v), the noise
    # is multiplied by C^1/2 (I + C^-1/2 M C^-1/2)^1/2 C^-1/2, in the plane of C^-1/2 1 and C^-1/2 f
    plane, inner = np.linalg.qr(np.column_stack([np.ones_like(true), true]) / error[:, None])
    pairs = np.array([[covariance.shared, covariance.slope], [covariance.slope, -covariance.product]])
    values, vectors = np.linalg.eigh(np.eye(2) + inner @ pairs @ inner.T)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T - np.eye(2)
    found: FloatArray = true + noise + (noise / error) @ plane @ root @ plane.T * error
    return found


def find_likely_margins(tables: FloatArray, covariance: FrequencyCovariance, axis: int) -> FloatArray:
    size, sums = tables.shape[axis], tables.sum(axis=axis)
    even, slope = 1 / sums.shape[1], covariance.growth + 2 * size * covariance.slope
    variance = size * (covariance.floor + size * covariance.shared) + slope * even
    variance -= covariance.product * even**2
    # what the sums lack to 1 is noise: each sum gets a share of it that is proportional to its variance
    own = size * covariance.floor + covariance.growth * project_simplex(sums)
    lacking = (1 - sums.sum(axis=1, keepdims=True)) / own.sum(axis=1, keepdims=True)
    return find_likely_frequencies(sums + own * lacking, math.sqrt(max(variance, 0.0)))


# -- p-values ------------------------------------------------------------------------------------


def find_p_value(statistic: float, simulated: FloatArray, degrees: int) -> float:
    """Return the share of statistics that are as large, with the observed one; extrapolated if alone."""
    reached = int((simulated >= statistic * (1 - 1e-9)).sum())  # equal ones may differ by rounding
    share, level = ((each + 1) / (len(simulated) + 1) for each in (reached, _TAIL - 1))
    last = float(np.sort(simulated)[-_TAIL])
    if reached or not last:
        return share
    # the largest statistics are those of a chi-square distribution times a factor
    return min(share, chi_square_tail(statistic * chi_square_quantile(level, degrees) / last, degrees))


@lru_cache(maxsize=256)
def chi_square_quantile(level: float, degrees: int) -> float:
    return invert_tail(lambda x: chi_square_tail(x, degrees), level)


def chi_square_tail(x: float, degrees: int) -> float:
    """Return the probability that a chi-square variable exceeds x, by recursion over the degrees of freedom.

    Q(a + 1, h) = Q(a, h) + h^a e^-h / Gamma(a + 1), with h = x / 2, from Q(1/2, h) = erfc(sqrt(h)) or
    Q(1, h) = e^-h.
    """
    h = x / 2
    if h <= 0:
        return 1.0
    a, tail = (1.0, math.exp(-h)) if degrees % 2 == 0 else (0.5, math.erfc(math.sqrt(h)))
    while a < degrees / 2:
        tail += math.exp(a * math.log(h) - h - math.lgamma(a + 1))
        a += 1
    return tail
