"""Quantiles of estimates whose noise has heavier tails than a normal distribution.

The noise of a silo's count is discrete Laplace, with excess kurtosis 3; that of a sum of m is 3/m. An
estimate with excess kurtosis K has the quantiles of a sum of 3/K Laplace noises, interpolated between whole
numbers of them; with K = 0 they are those of a normal distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import accumulate
from statistics import NormalDist

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.covariance import LAPLACE_KURTOSIS

_TERMS = (32, 24, 16, 12, 8, 6, 5, 4, 3, 2, 1)
"""Numbers of noises whose quantiles are computed; below 3/32 the quantiles are nearly linear in K."""


def find_quantiles(error: float, kurtosis: FloatArray | float) -> FloatArray:
    """Return the z that is exceeded on either side with probability `error`; kurtosis is cut to [0, 3]."""
    if np.all(np.less_equal(kurtosis, 0)):  # reports of devices: no table is needed
        return np.full(np.shape(kurtosis), _normal_quantile(error))
    return np.asarray(np.interp(kurtosis, *_quantile_table(error)))


@lru_cache(maxsize=512)
def _quantile_table(error: float) -> tuple[FloatArray, FloatArray]:
    kurtosis = [0.0, *(LAPLACE_KURTOSIS / terms for terms in _TERMS)]
    quantiles = [
        _normal_quantile(error),
        *(invert_tail(partial(laplace_tail, terms=each), error) for each in _TERMS),
    ]
    return np.array(kurtosis), np.array(quantiles)


@lru_cache(maxsize=512)
def _normal_quantile(error: float) -> float:
    return NormalDist().inv_cdf(1 - error / 2)


def invert_tail(tail: Callable[[float], float], level: float) -> float:
    """Return the x above 0 at which a decreasing tail probability reaches `level`, by bisection."""
    low, high = 0.0, 1.0
    while tail(high) > level:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > level else (low, middle)
    return high


def laplace_tail(z: float, terms: int) -> float:
    """Return the probability that a standardised sum of Laplace noises exceeds z in absolute value.

    The density of a sum of m noises of scale 1 is e^-|x| times a polynomial of |x|, whose integral is a sum
    of incomplete gamma functions of whole order. All terms are positive.
    """
    x = z * math.sqrt(2 * terms)
    powers = (math.exp(i * math.log(x) - math.lgamma(i + 1)) if x > 0 else i == 0 for i in range(terms))
    total = 0.0
    for order, power_sum in enumerate(accumulate(powers), 1):
        j = terms - order
        log_weight = math.lgamma(terms + j) - math.lgamma(j + 1) - j * math.log(2)
        total += math.exp(log_weight - x) * power_sum
    return 2 * total * math.exp(-math.lgamma(terms) - terms * math.log(2))
