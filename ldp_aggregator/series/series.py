"""Describes a series of waves: which wave results are of, and the course of each figure over all waves."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ldp_aggregator.arrays import BoolArray, FloatArray, IntArray
from ldp_aggregator.codec import require
from ldp_aggregator.estimation import EstimationError
from ldp_aggregator.estimation.discrete.frequencies import TableEstimate, compute_sum_covariances
from ldp_aggregator.estimation.estimates import estimate_survey
from ldp_aggregator.estimation.figures import (
    CLASS_PRIOR,
    CONDITIONAL,
    MEAN,
    MISSING,
    MISSING_SHARE,
    SHARE,
    VARIANCE,
    find_margins,
    list_figures,
)
from ldp_aggregator.estimation.independence import Independence, chi_square_tail
from ldp_aggregator.estimation.intervals import SIMULTANEOUS_ERROR, Z95, IntervalEstimate, simultaneous_z
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.raw_estimates import RawEstimates, compute_raw_estimates
from ldp_aggregator.snapshot import ALL_WAVES, Snapshot, Total

STEPS = np.concatenate([[0.0], np.logspace(-8, -2, 25)])
"""Variances of a random walk's step from one wave to the next, as shares of the squared range."""
_START = 100.0
"""Variance of the walk's start, in the same unit: nothing is known about it."""


@dataclass(frozen=True)
class Course:
    """One statistic of a feature, or of the label, in each wave with reports; see :class:`Figures`."""

    feature: str
    statistic: str
    values: tuple[str, ...]
    classes: tuple[str, ...]
    bounds: tuple[float, float]
    z: float
    waves: tuple[int, ...]
    """The indices of the waves."""
    levels: IntervalEstimate
    """The estimates of each wave, (waves, values, classes); the simultaneous intervals are those of one."""
    test: Independence | None = None
    """Whether anything changed: the waves and the answers depend on each other. None if unknown."""

    JSON_DERIVED = ("changes", "since_first", "slopes", "trend")

    @property
    def span(self) -> float:
        return self.bounds[1] - self.bounds[0]

    @cached_property
    def changes(self) -> IntervalEstimate:
        return self._compare(np.arange(len(self.waves) - 1))

    @cached_property
    def since_first(self) -> IntervalEstimate:
        return self._compare(np.zeros(len(self.waves) - 1, dtype=np.int64))

    def _compare(self, earlier: IntArray) -> IntervalEstimate:
        """Return the changes from these waves to all but the first (MOVER, Zou and Donner 2008).

        The simultaneous intervals are those of all waves, values and classes, for `changes` and `since_first`
        together.
        """
        levels, later, ends = self.levels, np.arange(1, len(self.waves)), []
        change = levels.value[later] - levels.value[earlier]
        known = self._known[later] & self._known[earlier]
        wide = levels.simultaneous_low, levels.simultaneous_high
        compared = 2 * change.size - change[0].size  # the first change is in both
        wide_z = max(self.z, simultaneous_z(compared))
        for interval, own_z, z in (((levels.low, levels.high), Z95, Z95), (wide, self.z, wide_z)):
            below, above = find_margins(levels.value, levels.stderr, interval, own_z, z, self.bounds)
            low = change - np.hypot(below[later], above[earlier])
            high = change + np.hypot(above[later], below[earlier])
            ends += [np.where(known, np.maximum(low, -self.span), -self.span)]
            ends += [np.where(known, np.minimum(high, self.span), self.span)]
        stderr = np.where(known, np.hypot(levels.stderr[later], levels.stderr[earlier]), np.inf)
        return IntervalEstimate(np.where(known, change, np.nan), stderr, *ends)

    @property
    def _known(self) -> BoolArray:
        """Which levels are known, with a simultaneous interval that is not the whole range."""
        low, high = self.levels.simultaneous_low, self.levels.simultaneous_high
        return np.isfinite(self.levels.stderr) & ((low > self.bounds[0]) | (high < self.bounds[1]))

    @cached_property
    def slopes(self) -> IntervalEstimate:
        """The change from one wave to the next by weighted least squares, (values, classes)."""
        known = self._known
        weights = np.where(known, self.levels.stderr, np.inf) ** -2.0
        times = np.array(self.waves, dtype=np.float64)[:, None, None]
        total = np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
        apart = weights * (times - (weights * times).sum(axis=0) / total)
        precision = np.where(known.sum(axis=0) > 1, (apart * times).sum(axis=0), np.nan)
        slope = (apart * np.where(known, self.levels.value, 0.0)).sum(axis=0) / precision
        stderr = np.nan_to_num(precision**-0.5, nan=np.inf)
        return IntervalEstimate.from_stderr(slope, stderr, (-self.span, self.span))

    @cached_property
    def trend(self) -> IntervalEstimate:
        """The smoothed levels, (waves, values, classes); beside a jump their intervals are too narrow."""
        variances = np.where(self._known, self.levels.stderr / self.span, np.inf) ** 2
        mean, stderr = smooth_levels(self.levels.value / self.span, variances, np.array(self.waves))
        return IntervalEstimate.from_stderr(mean * self.span, stderr * self.span, self.bounds)

    def check_entries(self) -> None:
        shape = (len(self.waves), len(self.values), len(self.classes))
        require(self.levels.value.shape == shape, f"levels: needs the shape {shape}")
        fit = self.span > 0 and self.z > 0 and bool((np.diff(self.waves) > 0).all())
        require(fit, "bounds, z or waves: are not possible")


def find_standing(changes: IntervalEstimate) -> BoolArray:
    return (changes.simultaneous_low > 0) | (changes.simultaneous_high < 0)


def smooth_levels(
    values: FloatArray, variances: FloatArray, waves: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Smooth levels as a random walk with known noise; return the means and standard errors.

    Kalman's filter and the smoother of Rauch et al. 1965, for each of `STEPS`, mixed by likelihood. `values`
    and `variances`, (T, ...), are in units of the range; a variance is infinite if nothing is known.
    """
    shape = (*values.shape[1:], len(STEPS))
    mean, variance, score = np.zeros(shape), np.full(shape, _START), np.zeros(shape)
    filtered = []
    levels, precisions = np.nan_to_num(values)[..., None], variances[..., None] ** -1.0
    gaps = np.diff(waves, prepend=waves[:1])
    for level, precision, gap in zip(levels, precisions, gaps, strict=True):
        before = variance + gap * STEPS
        gain, error = before * precision / (1 + before * precision), level - mean
        score -= (np.log1p(before * precision) + precision * (1 - gain) * error**2) / 2
        mean, variance = mean + gain * error, before * (1 - gain)
        filtered.append((before, mean, variance))
    found = [(mean, variance)]
    for (later, *_), (_, own, own_variance) in zip(filtered[:0:-1], filtered[-2::-1], strict=True):
        share = own_variance / later
        mean, variance = own + share * (mean - own), own_variance + share**2 * (variance - later)
        found.append((mean, variance))
    means, spreads = (np.stack(each) for each in zip(*found[::-1], strict=True))
    weights = np.exp(score - score.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    mixed = (weights * means).sum(axis=-1)
    return mixed, np.sqrt((weights * (spreads + (means - mixed[..., None]) ** 2)).sum(axis=-1))


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


POOLED, OWN = TABLES = ("pooled", "own")
"""Whether the classifier's tables P(value | class) are those of all waves, or of the wave alone."""
MAX_ESTIMATES = 20_000
"""Number of estimates of one statistic in all waves, at most: a trend needs 26 numbers for each of them."""


@dataclass(frozen=True, kw_only=True)
class Series:
    wave: str
    """The wave that the results are of, or "all"."""
    tables: str = OWN
    discount: float = 1.0
    """Of the classifier, see :func:`pool_waves`."""
    waves: tuple[str, ...] = ()
    """The names of the waves with reports; empty if only the counters of one wave were given."""
    reports: tuple[int, ...] = ()
    """Of each wave; each person counts once."""
    unfinished: tuple[str, ...] = ()
    """Waves that were still open when the series was estimated."""
    courses: tuple[Course, ...] = ()
    """One for each statistic of each feature, and for the label."""

    JSON_DERIVED = ("drifting",)

    @property
    def drifting(self) -> tuple[str, ...]:
        """The features whose P(value | class), or mean of a class, changes: at 5% for all together."""
        kinds = (CONDITIONAL, MEAN)
        by_class = [each for each in self.courses if each.classes[0] and each.statistic in kinds]
        p_values = {each.feature: each.test.p_value for each in by_class if each.test}
        return tuple(name for name, each in p_values.items() if each * len(p_values) <= SIMULTANEOUS_ERROR)

    def check_entries(self) -> None:
        require(self.tables in TABLES and 0 < self.discount <= 1, "tables or discount: is not possible")
        counts = {len(self.waves), len(self.reports), *(len(each.waves) for each in self.courses)}
        require(len(counts) == 1, "reports and courses: need the waves with reports")


def estimate_series(
    snapshot: Snapshot, wave: str, tables: str = POOLED, discount: float = 1.0, estimator: str = "default"
) -> Series | None:
    """Return the series of a survey with waves; None without waves.

    `wave` is that of :meth:`Snapshot.select`. If the snapshot is of one wave, no other is known. Raises
    EstimationError if the survey cannot have a classifier with such tables.
    """
    plan, chosen, now = snapshot.plan, snapshot.select(wave).wave, time.time()
    fit = discount == 1 or (0 < discount < 1 and tables == POOLED and wave != ALL_WAVES)
    fit = fit and tables in TABLES and plan.waves is not None and plan.label.exists
    if (tables, discount) != (POOLED, 1) and not fit:
        raise EstimationError(
            "a choice of tables needs a survey with waves and a label; a discount, a number above 0 and at "
            "most 1, also needs pooled tables, and the results of one wave"
        )
    if not plan.waves or snapshot.wave:
        return Series(wave=chosen) if plan.waves else None
    parts = [snapshot.select(each.name) for each in plan.waves.list]
    known = {at: part for at, part in enumerate(parts) if part.total()}
    return Series(
        wave=chosen,
        tables=tables if plan.label.exists else OWN,
        discount=discount,
        waves=tuple(each.wave for each in known.values()),
        reports=tuple(each.people for each in known.values()),
        unfinished=tuple(each.wave for at, each in known.items() if now < plan.waves.list[at].closes),
        courses=_list_courses(list(known.values()), tuple(known), snapshot, estimator) if known else (),
    )


def _list_courses(
    parts: Sequence[Snapshot], waves: tuple[int, ...], snapshot: Snapshot, estimator: str
) -> tuple[Course, ...]:
    plan, courses = snapshot.plan, []
    pooled, *raw = (compute_raw_estimates(each) for each in (snapshot.select(ALL_WAVES), *parts))
    tests = assess_shares(plan.label.name, raw, pooled)
    by_wave = [list_figures(estimate_survey(each, estimator)[0], plan.features) for each in parts]
    for figures in zip(*by_wave, strict=True):
        first, estimates = figures[0], [vars(each.estimate) for each in figures]
        levels = IntervalEstimate(*(np.stack([each[name] for each in estimates]) for name in estimates[0]))
        is_number = first.statistic in (MEAN, MISSING, MISSING_SHARE)
        test = assess_levels(levels) if is_number else tests.get((first.feature, first.statistic))
        is_known = np.isfinite(levels.stderr).any() and levels.value.size <= MAX_ESTIMATES
        if first.statistic != VARIANCE and is_known:
            feature, statistic, values, classes, bounds, z, _ = first
            courses.append(Course(feature, statistic, values, classes, bounds, z, waves, levels, test))
    return tuple(courses)


def pool_waves(snapshot: Snapshot, wave: str, discount: float) -> Snapshot:
    """Return the totals of all waves, weighted by g = discount^distance: (sum g n)^2 / sum g^2 n reports."""
    waves = snapshot.plan.waves
    if waves is None or discount == 1:
        return snapshot.select(ALL_WAVES)
    chosen, totals = waves.find(wave), {}
    weights = [
        (discount ** abs(at - chosen), snapshot.select(each.name)) for at, each in enumerate(waves.list)
    ]
    for key in (each.key for each in snapshot.plan.questions):
        found = [(weight, part.totals[key]) for weight, part in weights if key in part.totals]
        if reports := sum(weight * total.n for weight, total in found):
            n = round(reports**2 / sum(weight**2 * total.n for weight, total in found))
            cells = sum(weight * total.cells for weight, total in found) * (n / reports)
            totals[key] = Total(n, np.rint(cells).astype(np.int64))
    return replace(snapshot, totals=totals, wave=ALL_WAVES)
