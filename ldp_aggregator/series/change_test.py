"""Tests whether anything changed between waves, with the noise of the mechanism at the pooled shares.

The statistic is the sum over the waves of x' C^-1 x. Of shares, x is the difference to the pooled shares. Of
P(value | class), it is F[a, c] - r[a, c] G[c], with the pooled ratio r, so that the prior may change. C is
the covariance of x in closed form. The sum of all shares is known to be 1, so its error is subtracted first,
and one cell of each distribution is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from encoders.survey import Feature
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.class_prior import PooledPrior
from ldp_aggregator.estimation.discrete.covariance import TableEstimate
from ldp_aggregator.estimation.discrete.frequencies import compute_sum_covariances
from ldp_aggregator.estimation.figures import CLASS_PRIOR, CONDITIONAL, SHARE
from ldp_aggregator.estimation.independence import chi_square_tail
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.raw_estimates import RawEstimates
from ldp_aggregator.series.course import ChangeTest

MAX_CELLS = 512
"""Number of cells of a question, at most, that is tested: the covariance has the square of it."""
_NO_ERROR = 1e-9
"""The sum of all shares has no error if its variance is below this share of that of all cells together."""

Tests = dict[tuple[str, str], ChangeTest]
"""By the name of the feature, or of the label, and the statistic."""


def make_test(statistic: float, degrees: int) -> ChangeTest | None:
    """Return the test of a chi-square statistic; None without degrees of freedom."""
    return ChangeTest(statistic, degrees, chi_square_tail(statistic, degrees)) if degrees > 0 else None


def assess_changes(label: str, waves: Sequence[RawEstimates], pooled: RawEstimates) -> Tests:
    """Test the shares of each discrete feature, of all people and by class, and those of the classes.

    Of several choices of one entry, the one that changes most is tested, at the level of all together.
    """
    found: dict[tuple[str, str], list[ChangeTest]] = {}
    for key, test in _list_tests(label, waves, pooled):
        if test:
            found.setdefault(key, []).append(test)
    return {key: _join(tests) for key, tests in found.items()}


def _join(tests: Sequence[ChangeTest]) -> ChangeTest:
    least = min(tests, key=lambda each: each.p_value)
    return ChangeTest(least.statistic, least.degrees, min(1.0, len(tests) * least.p_value))


def _list_tests(
    label: str, waves: Sequence[RawEstimates], pooled: RawEstimates
) -> Iterator[tuple[tuple[str, str], ChangeTest | None]]:
    k = pooled.k
    for index, feature in enumerate(pooled.features):
        of_all = [each.share_estimates[index] for each in (pooled, *waves)]
        yield (feature.row_name, SHARE), _test_tables(of_all, feature, 1)
        if k > 1:
            by_class = [each.feature_estimates[index] for each in (pooled, *waves)]
            yield (feature.row_name, CONDITIONAL), _test_tables(by_class, feature, k)
    if k > 1 and pooled.prior.known:
        counted = [each for each in waves if each.prior.known]
        values = [each.prior.estimate.value for each in counted]
        counts = np.array([each.reports for each in counted]) / pooled.reports
        yield (
            (label, CLASS_PRIOR),
            _test_contrasts(
                values, pooled.prior.estimate.value, _find_prior_covariance(pooled.prior), counts, 1
            ),
        )


def _find_prior_covariance(prior: PooledPrior) -> FloatArray:
    """Return the covariance of the estimated P(class), (k, k)."""
    shares, between = prior.estimate.value, prior.between
    covariance = np.asarray(
        between.constant
        + between.linear * np.add.outer(shares, shares)
        - between.product * np.outer(shares, shares)
    )
    np.fill_diagonal(covariance, prior.estimate.stderr**2)
    return covariance


def _test_tables(
    estimates: Sequence[TableEstimate | ClassMoments | None], feature: Feature, k: int
) -> ChangeTest | None:
    """Test the tables, (A k,), of one feature: the pooled one, and then that of each wave."""
    tables = [each for each in estimates if each and not isinstance(each, ClassMoments) and each.n]
    if len(tables) < 3 or feature.size * k > MAX_CELLS:
        return None
    pooled, *waves = tables
    covariance = compute_sum_covariances(pooled, np.eye(feature.size * k), 1, 0)
    counts = np.array([each.n for each in waves]) / pooled.n
    return _test_contrasts([each.raw for each in waves], pooled.raw, covariance, counts, k)


def _test_contrasts(
    waves: Sequence[FloatArray],
    pooled: FloatArray,
    covariance: FloatArray,
    counts: FloatArray,
    k: int,
) -> ChangeTest | None:
    """Test shares, (A k,), of waves with these shares of all reports, (waves,).

    `covariance`, (A k, A k), is that of the `pooled` shares.
    """
    shares = np.stack([pooled, *waves])
    with_sum = covariance.sum(axis=1)
    if with_sum.sum() > _NO_ERROR * np.trace(covariance):
        shares = shares - np.outer(shares.sum(axis=1) - 1, with_sum / with_sum.sum())
        covariance = covariance - np.outer(with_sum, with_sum) / with_sum.sum()
    pooled, by_class = shares[0], shares[0].reshape(-1, k)
    size = len(by_class)
    if k == 1:
        contrasts = np.eye(size)[:-1]
    elif (by_class.sum(axis=0) <= 0).any():
        return None
    else:
        ratios = by_class / by_class.sum(axis=0)
        own = np.eye(size)[:, :, None] - ratios[:, None]
        contrasts = np.einsum("abc,cd->acbd", own, np.eye(k))[:-1].reshape(-1, size * k)
    found = (shares[1:] - (pooled if k == 1 else 0.0)) @ contrasts.T
    solved = np.linalg.solve(contrasts @ covariance @ contrasts.T, found.T)
    statistic = float((counts * (found.T * solved).sum(axis=0)).sum())
    return make_test(statistic, (len(waves) - 1) * len(contrasts))
