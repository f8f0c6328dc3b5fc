"""Tests whether anything changed between waves, with the noise of the mechanism at the pooled shares.

The statistic is the sum over the waves of x' C^-1 x. Of shares, x is the difference to the pooled shares. Of
P(value | class), it is F[a, c] - r[a, c] G[c], with the pooled ratio r, so that the prior may change. C is
the covariance of x in closed form. The sum of all shares is known to be 1, so its error is subtracted first,
and one cell of each distribution is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import IntervalEstimate
from ldp_aggregator.estimation.discrete.covariance import TableEstimate
from ldp_aggregator.estimation.discrete.frequencies import compute_sum_covariances
from ldp_aggregator.estimation.figures import CLASS_PRIOR, CONDITIONAL, SHARE
from ldp_aggregator.estimation.independence import Independence, chi_square_tail
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.raw_estimates import RawEstimates

MAX_CELLS = 512
"""Number of cells of a question, at most, that is tested: the covariance has the square of it."""
_NO_ERROR = 1e-9
"""The sum of all shares has no error if its variance is below this share of that of all cells together."""

Key = tuple[str, str]
"""The name of the feature, or of the label, and the statistic."""


def assess_shares(label: str, waves: Sequence[RawEstimates], pooled: RawEstimates) -> dict[Key, Independence]:
    """Test all shares, also by class, and the classes; of an entry's choices the one that changes most."""
    found: dict[Key, list[Independence]] = {}
    for key, test in _list_tests(label, waves, pooled):
        found.setdefault(key, []).extend([test] if test else [])
    least = {key: min(tests, key=lambda each: each.p_value) for key, tests in found.items() if tests}
    return {
        key: replace(each, p_value=min(1.0, len(found[key]) * each.p_value)) for key, each in least.items()
    }


def assess_levels(levels: IntervalEstimate) -> Independence | None:
    """Test means, (waves, 1, classes), whose estimates in different classes are nearly independent."""
    known = np.isfinite(levels.stderr)
    weights = np.where(known, levels.stderr, np.inf) ** -2.0
    values, total = np.where(known, levels.value, 0.0), np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
    distances = weights * (values - (weights * values).sum(axis=0) / total) ** 2
    return _make_test(float(distances.sum()), int((known.sum(axis=0) - 1).clip(0).sum()))


def _make_test(statistic: float, degrees: int) -> Independence | None:
    return Independence(statistic, degrees, chi_square_tail(statistic, degrees)) if degrees > 0 else None


def _list_tests(
    label: str, waves: Sequence[RawEstimates], pooled: RawEstimates
) -> Iterator[tuple[Key, Independence | None]]:
    k, parts = pooled.k, (pooled, *waves)
    for index, feature in enumerate(pooled.features):
        yield (feature.row_name, SHARE), _test_tables([each.share_estimates[index] for each in parts], 1)
        if k > 1:
            tables = [each.feature_estimates[index] for each in parts]
            yield (feature.row_name, CONDITIONAL), _test_tables(tables, k)
    known = [each for each in waves if each.prior.known]
    if k > 1 and len(known) > 1:
        counts = np.array([each.reports for each in known]) / pooled.reports
        values = [each.prior.estimate.value for each in known]
        yield (
            (label, CLASS_PRIOR),
            _test_contrasts(values, pooled.prior.estimate.value, pooled.prior.covariance, counts, 1),
        )


def _test_tables(estimates: Sequence[TableEstimate | ClassMoments | None], k: int) -> Independence | None:
    tables = [each for each in estimates if each and not isinstance(each, ClassMoments) and each.n]
    if len(tables) < 3 or len(tables[0].raw) > MAX_CELLS:
        return None
    pooled, *waves = tables
    covariance = compute_sum_covariances(pooled, np.eye(len(pooled.raw)), 1, 0)
    counts = np.array([each.n for each in waves]) / pooled.n
    return _test_contrasts([each.raw for each in waves], pooled.raw, covariance, counts, k)


def _test_contrasts(
    waves: Sequence[FloatArray], pooled: FloatArray, covariance: FloatArray, counts: FloatArray, k: int
) -> Independence | None:
    """Test waves' shares, (A k,), given the covariance of pooled ones and each wave's share of reports."""
    shares, with_sum = np.stack([pooled, *waves]), covariance.sum(axis=1)
    if with_sum.sum() > _NO_ERROR * np.trace(covariance):
        shares = shares - np.outer(shares.sum(axis=1) - 1, with_sum / with_sum.sum())
        covariance = covariance - np.outer(with_sum, with_sum) / with_sum.sum()
    by_class = shares[0].reshape(-1, k)
    if (by_class.sum(axis=0) <= 0).any():
        return None
    ratios = by_class / by_class.sum(axis=0)
    own = np.eye(len(by_class))[:, :, None] - ratios[:, None]
    contrasts = np.einsum("abc,cd->acbd", own, np.eye(k))[:-1].reshape(-1, by_class.size)
    found = contrasts @ shares[1:].T
    solved = np.linalg.solve(contrasts @ covariance @ contrasts.T, found)
    return _make_test(float(counts @ (found * solved).sum(axis=0)), (len(waves) - 1) * len(contrasts))
