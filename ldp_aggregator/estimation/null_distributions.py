"""Distributions of test statistics under a null hypothesis: simulated ones, and chi-square.

A test of a table has nearly a chi-square distribution where every cell has many reports and the margins are
well known. Elsewhere, its distribution is that of simulated tables: their rows and columns are independent
and have the margins of the observed table (parametric bootstrap, Efron and Tibshirani 1993). The noise has
the covariance of the mechanism. That of a cell is a Poisson count of reports, so it is skewed where few
reports are expected, or Laplace noise. The seed is the observed table, so a result can be repeated.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.covariance import LAPLACE_KURTOSIS, FrequencyCovariance
from ldp_aggregator.estimation.discrete.frequencies import find_likely_frequencies, project_simplex
from ldp_aggregator.estimation.intervals import invert_tail

_CELLS = 32_000
"""Number of cells of all simulated tables together, about: the work for one test."""
_LEAST, _MOST = 199, 999
"""Least and largest number of simulated tables, by default."""
_TAIL = 10
"""Rank of the simulated statistic whose tail is that of a chi-square variable times a factor."""

# -- simulated tables ---------------------------------------------------------------------------


def simulate_independent_tables(
    table: FloatArray, covariance: FrequencyCovariance, simulations: int | None = None
) -> FloatArray:
    """Return estimates of tables with independent rows and columns, (simulations, rows, columns).

    Parameters
    ----------
    table : (rows, columns) array
        Unbiased frequencies of the cells, whose margins are those of the simulated tables.
    covariance : FrequencyCovariance
        Of the same cells.
    simulations : int, optional
        By default 199 to 999, fewer for larger tables.
    """
    count = min(max(_CELLS // table.size, _LEAST), _MOST) if simulations is None else simulations
    rows, columns = (find_likely_margins(table[None], covariance, axis)[0] for axis in (2, 1))
    rng = np.random.default_rng(np.frombuffer(np.ascontiguousarray(table).tobytes(), np.uint32))
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
    """Return possible frequencies near the sums of tables along an axis."""
    size, sums = tables.shape[axis], tables.sum(axis=axis)
    even = 1 / sums.shape[1]
    variance = size * covariance.floor + covariance.growth * even
    variance += (
        size**2 * covariance.shared + 2 * size * covariance.slope * even - covariance.product * even**2
    )
    # what the sums lack to 1 is noise: each sum gets a share of it that is proportional to its variance
    own = size * covariance.floor + covariance.growth * project_simplex(sums)
    lacking = (1 - sums.sum(axis=1, keepdims=True)) / own.sum(axis=1, keepdims=True)
    return find_likely_frequencies(sums + own * lacking, math.sqrt(max(variance, 0.0)))


# -- p-values ------------------------------------------------------------------------------------


def find_p_value(statistic: float, simulated: FloatArray, degrees: int) -> float:
    """Return the share of statistics that are as large, with the observed one; extrapolated if alone."""
    reached = int((simulated >= statistic * (1 - 1e-9)).sum())  # equal ones may differ by rounding
    share, level = (reached + 1) / (len(simulated) + 1), _TAIL / (len(simulated) + 1)
    last = float(np.sort(simulated)[-_TAIL])
    if reached or not last:
        return share
    # the largest statistics are those of a chi-square distribution times a factor
    return min(share, chi_square_tail(statistic * chi_square_quantile(level, degrees) / last, degrees))


@lru_cache(maxsize=256)
def chi_square_quantile(level: float, degrees: int) -> float:
    """Return the x that a chi-square variable exceeds with probability `level`."""
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
