"""Tests of whether classes differ in the mean, the variance or the missing share of a number.

Each of them is a ratio, which has the same value in all classes if the classes are equal. The contrasts of
:mod:`class_differences` need the covariance between classes, which :class:`ClassMoments` does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldp_aggregator.arrays import BoolArray, FloatArray
from ldp_aggregator.estimation.class_differences import LEVEL, Contrasts, detect_differences
from ldp_aggregator.estimation.numeric.delta_method import Quantity
from ldp_aggregator.estimation.numeric.number import ClassMoments


@dataclass(frozen=True)
class ClassRatio:
    """A ratio of two estimates for each class."""

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
    """Return whether the classes differ in each of the compared ratios, at this number's noise."""
    ratios = compared_ratios(number)
    if not ratios:
        return {}
    found = detect_differences(ratio_contrasts(number, list(ratios.values())), LEVEL / len(ratios))
    return dict(zip(ratios, found.tolist(), strict=True))


def compared_ratios(number: ClassMoments) -> dict[str, ClassRatio]:
    """Return the ratios that are equal in equal classes, without those that have no reports.

    Of the variances, only those of classes with a known mean are compared.
    """
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
    """Return the contrasts top - r bottom, with a row for each of the ratios."""
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
