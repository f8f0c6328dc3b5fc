"""Tests of whether classes differ in a ratio, such as P(value | class), a mean or a variance.

If the ratio top[c] / bottom[c] is the same r in all k classes, the contrasts top[c] - r bottom[c] are 0 on
average, and their covariance at r follows in closed form from the mechanism. The statistic is their smallest
squared length over all r, in units of this covariance (Anderson and Rubin 1949). For shares of values, its
distribution is that in simulated surveys with equal classes, see :mod:`independence`. For numbers, it is a
chi-square distribution with k - 1 degrees of freedom, or smaller if some P(class) is poorly known (proved for
covariances that are a Kronecker product, Guggenberger et al. 2012).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ldp_aggregator.arrays import BoolArray, FloatArray, IntArray
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance
from ldp_aggregator.estimation.discrete.frequencies import TableEstimate
from ldp_aggregator.estimation.independence import (
    chi_square_quantile,
    find_p_value,
    simulate_independent_tables,
)
from ldp_aggregator.estimation.numeric.moments import Quantity
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.tail_quantiles import find_quantiles

LEVEL = 0.05
"""Probability, at most, that equal classes of one feature are called different in anything."""
_ANGLES = np.tan(np.linspace(-math.pi / 2, math.pi / 2, 33, endpoint=False)[1:])
"""Candidates for r over its whole range, in units of the contrasts' noise."""
_STEPS = np.linspace(-3.0, 3.0, 25)
"""Candidates for r around its estimate, in standard errors. A statistic is too large by at most 1/64."""
_USUAL = 0.1
"""Probability with which a statistic is larger than the quantile by which it is divided."""
_LEAST_VARIANCE = 1e-12
"""A smaller variance of a class, as a share of the largest, would leave no digits of what classes share."""
_BLOCK = 1 << 20
"""Largest number of elements of an intermediate array, unless one row has more."""


@dataclass(frozen=True)
class Contrasts:
    """Contrasts top - r bottom of the classes, in several rows, and their covariance.

    At r the covariance of one row is diag(v) + the sum over j of signs[j] u[j] u[j]', with
    v = own[0] + own[1] r + own[2] r^2 + growth max(r (1 - r), 0) and u = top_factors - r bottom_factors.
    """

    top: FloatArray
    bottom: FloatArray
    """Estimates with equal ratios in all classes under the null hypothesis. Shape (rows, k)."""
    own: FloatArray
    """Shape (3, rows, k)."""
    growth: FloatArray
    """Shape (rows, k)."""
    top_factors: FloatArray
    bottom_factors: FloatArray
    """Shape (rows, factors, k)."""
    signs: FloatArray
    """1 or -1. Shape (factors,)."""
    informative: BoolArray
    """Which classes are compared. Shape (rows, k)."""
    kurtosis: float = 0.0
    """Excess kurtosis of the contrasts, at most."""

    def select(self, rows: BoolArray | slice) -> Contrasts:
        return replace(
            self,
            top=self.top[rows],
            bottom=self.bottom[rows],
            own=self.own[:, rows],
            growth=self.growth[rows],
            top_factors=self.top_factors[rows],
            bottom_factors=self.bottom_factors[rows],
            informative=self.informative[rows],
        )

    def products(self, r: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return T'C^-1 T, T'C^-1 B and B'C^-1 B (Woodbury) at candidates r, each (rows, candidates)."""
        ratio = r[..., None]
        constant, linear, quadratic = self.own[:, :, None]
        variance = constant + ratio * (linear + ratio * quadratic)
        variance += np.maximum(ratio * (1 - ratio), 0.0) * self.growth[:, None]
        # counters that contradict each other make variances negative
        least = _LEAST_VARIANCE * abs(variance).max(axis=-1, keepdims=True) + np.finfo(np.float64).tiny
        weight = self.informative[:, None] / np.maximum(variance, least)
        factors = len(self.signs)
        vectors = np.empty((*r.shape, 2 + factors, self.top.shape[1]))
        vectors[:, :, 0], vectors[:, :, 1] = self.top[:, None], self.bottom[:, None]
        np.subtract(
            self.top_factors[:, None], ratio[..., None] * self.bottom_factors[:, None], out=vectors[:, :, 2:]
        )
        gram = (vectors * weight[..., None, :]) @ vectors.swapaxes(-1, -2)
        inner = gram[..., 2:, 2:] + np.diag(self.signs)
        found = gram[..., :2, :2] - gram[..., :2, 2:] @ np.linalg.solve(inner, gram[..., 2:, :2])
        return found[..., 0, 0], found[..., 0, 1], found[..., 1, 1]


def detect_differences(contrasts: Contrasts, level: float) -> BoolArray:
    """Return in which rows, (rows,), the classes differ significantly, each row at this level.

    Where the statistic is not significant at the ratio of the sums over the classes, no other r is examined.
    """
    rows, factors, k = contrasts.top_factors.shape
    block = max(1, _BLOCK // ((2 + factors) * k * (len(_ANGLES) + len(_STEPS))))
    if rows > block:
        parts = [slice(first, first + block) for first in range(0, rows, block)]
        found = [detect_differences(contrasts.select(part), level) for part in parts]
        return np.concatenate(found)
    # heavy tails of the noise move the critical value as they move a quantile of one contrast
    growth = float(find_quantiles(level, contrasts.kurtosis) / find_quantiles(level, 0.0))
    limits = growth**2 * _limits(contrasts.informative.sum(axis=1), level)
    total = contrasts.bottom.sum(axis=1)
    start = contrasts.top.sum(axis=1) / np.where(total > 0, total, 1.0)
    length, estimate, error = _fit(contrasts, start[:, None])
    differ: BoolArray = length[:, 0] > limits
    if differ.any():
        rest = contrasts.select(differ)
        least = _minimise(rest, estimate[differ], error[differ])
        differ[differ] = least > limits[differ]
    return differ


def _limits(classes: IntArray, level: float) -> FloatArray:
    return np.array([chi_square_quantile(level, int(each) - 1) if each > 1 else math.inf for each in classes])


def _fit(contrasts: Contrasts, r: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the squared lengths at r, and the least-squares r at this covariance with its standard error."""
    top, both, bottom = contrasts.products(r)
    bottom_known = np.where(bottom > 0, bottom, np.inf)  # below 0 where noise makes the covariance indefinite
    return top - 2 * r * both + r**2 * bottom, both / bottom_known, 1 / np.sqrt(bottom_known)


def _minimise(contrasts: Contrasts, estimate: FloatArray, error: FloatArray) -> FloatArray:
    """Return the smallest squared length over all r, (rows,).

    The candidates are near the estimate and, because r is a ratio whose bottom may be zero, at tangents of
    evenly spaced angles. Their centre and scale make the noise nearly independent of the angle.
    """
    constant, linear, quadratic = contrasts.own.sum(axis=-1)[..., None]
    centre = -linear / (2 * quadratic)
    scale = np.sqrt(np.maximum(constant / quadratic - centre**2, 0.0))
    lengths, _, _ = _fit(contrasts, np.hstack([estimate + error * _STEPS, centre + scale * _ANGLES]))
    least: FloatArray = np.where(lengths >= 0, lengths, np.inf).min(axis=1)  # below 0 by rounding only
    return least


# -- discrete features ----------------------------------------------------------------------------


def find_differing_values(frequencies: TableEstimate, k: int, features: int = 1) -> BoolArray:
    """Return for which values, (A,), P(value | class) differs significantly between any of the k classes.

    The statistic of each value is divided by a high quantile of those that equal classes have in simulated
    surveys. A value differs if this ratio is larger than the largest ratio of all values is in most simulated
    surveys. So the level holds for all values together, and, divided by `features`, for as many features.
    """
    values, covariance = len(frequencies.raw) // k, frequencies.covariance
    if frequencies.n == 0 or k == 1:
        return np.zeros(values, dtype=bool)
    tables = frequencies.raw.reshape(1, values, k)
    tables = np.concatenate([tables, simulate_independent_tables(tables[0], covariance)])
    blocks = np.array_split(tables, min(-(-tables.size // _BLOCK), len(tables)))
    lengths = np.concatenate([_measure_differences(each, covariance) for each in blocks])
    usual = np.quantile(lengths[1:], 1 - _USUAL, axis=0)
    ratios = lengths / np.maximum(usual, chi_square_quantile(_USUAL, k - 1))
    largest = ratios[1:].max(axis=1)
    found = [find_p_value(float(each), largest, k - 1) <= LEVEL / features for each in ratios[0]]
    return np.array(found)


def _measure_differences(tables: FloatArray, covariance: FrequencyCovariance) -> FloatArray:
    """Return the squared lengths of the contrasts, (tables, values), at nearly the best r of each value."""
    contrasts = value_contrasts(tables.reshape(-1, tables.shape[2]), covariance, tables.shape[1])
    total = contrasts.bottom.sum(axis=1)
    start = contrasts.top.sum(axis=1) / np.where(total > 0, total, 1.0)
    first, estimate, _ = _fit(contrasts, start[:, None])
    second, _, _ = _fit(contrasts, estimate)
    # a length is below 0 by rounding only
    return np.maximum(np.minimum(first, second), 0.0).reshape(tables.shape[:2])


def value_contrasts(tables: FloatArray, covariance: FrequencyCovariance, values: int) -> Contrasts:
    """Return the contrasts F[a, c] - r G[c], with a row for each value a of each table.

    If r is the true P(a | c) in all classes, the mean of a contrast is 0. So of the covariance of F, see
    :class:`FrequencyCovariance`, the terms with `slope` and with 1/n cancel, and
    diag(v) + shared (1 - A r)^2 11' is left, with v = floor (1 - 2 r + A r^2) + growth P(c) r (1 - r).
    The tables, (tables A, k), have the same covariance; `values` is A.
    """
    shape, one = tables.shape, (len(tables), 1, tables.shape[1])
    class_share = np.repeat(tables.reshape(-1, values, shape[1]).sum(axis=1), values, axis=0)
    shared = math.sqrt(abs(covariance.shared))
    own = covariance.floor * np.array([1.0, -2.0, values])
    return Contrasts(
        top=tables,
        bottom=class_share,
        own=np.broadcast_to(own[:, None, None], (3, *shape)),
        growth=covariance.growth * np.clip(class_share, 0.0, 1.0),
        top_factors=np.full(one, shared),
        bottom_factors=np.full(one, shared * values),
        signs=np.array([math.copysign(1.0, covariance.shared)]),
        informative=np.ones(shape, dtype=bool),
    )


# -- differences of a number ------------------------------------------------------------------------
# Tests of whether classes differ in the mean, the variance or the missing share of a number.
#
# Each of them is a ratio, which has the same value in all classes if the classes are equal. The contrasts of
# :mod:`class_differences` need the covariance between classes, which :class:`ClassMoments` does not have.


@dataclass(frozen=True)
class ClassRatio:
    top: Quantity
    bottom: Quantity
    informative: BoolArray
    """Which classes are compared. Shape (k,)."""
    extra: FloatArray
    """Variance of the ratio beyond the delta method. Shape (k,)."""


def find_differing_statistics(number: ClassMoments) -> dict[str, bool]:
    """Return whether any two classes differ significantly in their means, variances and missing shares.

    The level holds for all of them together (Bonferroni). A statistic without reports does not differ. A
    difference must be significant both at the estimated noise and at the cautious noise: where few people of
    a class report, their estimates are often exact by chance only.
    """
    differ = {"means": False, "variances": False} | ({"missing": False} if number.can_be_missing else {})
    found, found_cautiously = _detect(number), _detect(number.with_cautious_noise())
    return differ | {name: each and found_cautiously[name] for name, each in found.items()}


def _detect(number: ClassMoments) -> dict[str, bool]:
    ratios = compared_ratios(number)
    if not ratios:
        return {}
    found = detect_differences(ratio_contrasts(number, list(ratios.values())), LEVEL / len(ratios))
    return dict(zip(ratios, found.tolist(), strict=True))


def compared_ratios(number: ClassMoments) -> dict[str, ClassRatio]:
    """Return ratios that are equal in equal classes; variances of classes with a known mean only."""
    if not number.prior.known:
        return {}
    ratios = {}
    every, none = np.ones(number.k, dtype=bool), np.zeros(number.k)
    if number.first is not None:
        ratios["means"] = ClassRatio(number.first, number.present, every, none)
    if number.squared_deviation is not None:
        known, extra = np.isfinite(number.raw_mean[0]), number.second_order_variance
        ratios["variances"] = ClassRatio(number.squared_deviation, number.present, known, extra)
    if number.missing is not None:
        ratios["missing"] = ClassRatio(number.missing, number.class_share, every, none)
    return ratios


def ratio_contrasts(number: ClassMoments, ratios: Sequence[ClassRatio]) -> Contrasts:
    own_noise, factors, signs = number.split_noise()
    known = np.array([each.informative for each in ratios])
    extra = np.where(known, [each.extra for each in ratios], 0.0)
    pairs = [[each.top for each in ratios], [each.bottom for each in ratios]]
    values = np.where(known, [[each.value for each in row] for row in pairs], 0.0)
    slopes = np.where(known[:, None], [[each.slopes for each in row] for row in pairs], 0.0)
    own = np.einsum("utik,ijk,vtjk->uvtk", slopes, own_noise, slopes)
    top_factors, bottom_factors = np.einsum("utik,fik->utfk", slopes, factors)
    return Contrasts(
        top=values[0],
        bottom=values[1],
        own=np.array([own[0, 0] + extra * values[1] ** 2, -2 * own[0, 1], own[1, 1]]),
        growth=np.zeros_like(values[0]),
        top_factors=top_factors,
        bottom_factors=bottom_factors,
        signs=signs,
        informative=known,
        kurtosis=max(float(np.max(number.ratio_kurtosis(each.top, each.bottom))) for each in ratios),
    )
