"""Changes, slopes and trends, computed again in other ways."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from ldp_aggregator.estimation import IntervalEstimate
from ldp_aggregator.estimation.intervals import simultaneous_z
from ldp_aggregator.series import series as module
from ldp_aggregator.series.series import Course, find_standing, smooth_levels

VALUES = np.array([0.2, 0.25, 0.6, 0.5])
ERRORS = np.array([0.03, 0.04, 0.05, 0.04])


def make_course(values=VALUES, errors=ERRORS, waves=(0, 1, 2, 3), below=1.0):
    """Return the course of one share; `below` multiplies the lower sides of the intervals."""
    shape = (len(values), 1, 1)
    z = simultaneous_z(3)
    value, error = (np.asarray(each, dtype=float).reshape(shape) for each in (values, errors))
    known = np.isfinite(error)
    ends = []
    for each in (1.959963984540054, z):
        ends += [np.clip(np.where(known, value - below * each * error, 0), 0, 1)]
        ends += [np.clip(np.where(known, value + each * error, 1), 0, 1)]
    levels = IntervalEstimate(value, error, *ends)
    return Course("tea", "P(value)", ("black",), ("",), (0.0, 1.0), z, tuple(waves), levels)


def test_changes_combine_the_intervals_of_both_waves():
    course, z = make_course(below=1.5), NormalDist().inv_cdf(0.975)
    changes, first = course.changes, course.since_first
    assert np.allclose(changes.value.ravel(), [0.05, 0.35, -0.1])
    assert np.allclose(first.value.ravel(), [0.05, 0.4, 0.3])
    # the low end of the first wave's interval is 1.5 z standard errors away
    assert changes.low[0, 0, 0] == pytest.approx(0.05 - z * math.hypot(1.5 * 0.04, 0.03))
    assert changes.high[0, 0, 0] == pytest.approx(0.05 + z * math.hypot(0.04, 1.5 * 0.03))
    assert first.low[2, 0, 0] == pytest.approx(0.3 - z * math.hypot(1.5 * 0.04, 0.03))


def test_changes_hold_together_at_a_level_for_all_of_them():
    # three changes from the wave before and three from the first, of which one is the same
    changes, z = make_course().changes, NormalDist().inv_cdf(1 - 0.05 / 2 / 5)
    assert changes.simultaneous_low[1, 0, 0] == pytest.approx(0.35 - z * math.hypot(0.05, 0.04))
    assert find_standing(changes).ravel().tolist() == [False, True, False]
    assert (changes.simultaneous_low <= changes.low).all()


def test_a_wave_in_which_nothing_is_known_changes_nothing():
    course = make_course([0.2, math.nan, 0.6], [0.03, math.inf, 0.05], (0, 1, 4))
    assert np.isnan(course.changes.value).all()
    assert (course.changes.low.ravel() == -1).all()
    assert np.isfinite(course.since_first.value.ravel()).tolist() == [False, True]
    assert course.slopes.value.item() == pytest.approx(0.1)  # 0.4 in 4 waves
    assert 0.2 < course.trend.value[1].item() < 0.6


def test_slopes_are_those_of_weighted_least_squares():
    course = make_course(waves=(0, 1, 3, 4))
    slope, covariance = np.polyfit((0, 1, 3, 4), VALUES, 1, w=1 / ERRORS, cov="unscaled")
    assert course.slopes.value.item() == pytest.approx(slope[0])
    assert course.slopes.stderr.item() == pytest.approx(math.sqrt(covariance[0, 0]))


@pytest.mark.parametrize("waves", [(2,), (0, 3)])
def test_few_waves_have_no_or_one_slope(waves):
    slopes = make_course(VALUES[: len(waves)], ERRORS[: len(waves)], waves).slopes
    assert np.isfinite(slopes.value.item()) == (len(waves) > 1)
    assert np.isfinite(slopes.low.item())


def test_the_trend_is_the_mean_of_a_random_walk_given_the_levels(monkeypatch):
    waves, steps = np.array([0, 1, 3, 4]), np.array([0.0, 1e-4, 1e-2])
    monkeypatch.setattr(module, "STEPS", steps)
    found, stderr = smooth_levels(VALUES, ERRORS**2, waves)
    scores, means, variances = [], [], []
    for step in steps:
        walk = 100 + step * np.minimum.outer(waves, waves)
        total = walk + np.diag(ERRORS**2)
        gain = walk @ np.linalg.inv(total)
        scores.append(-0.5 * (np.linalg.slogdet(total)[1] + VALUES @ np.linalg.solve(total, VALUES)))
        means.append(gain @ VALUES)
        variances.append(np.diag(walk - gain @ walk))
    weights = np.exp(np.array(scores) - max(scores))
    weights /= weights.sum()
    mean = weights @ np.array(means)
    spread = weights @ (np.array(variances) + (np.array(means) - mean) ** 2)
    assert np.allclose(found, mean, atol=1e-6)
    assert np.allclose(stderr, np.sqrt(spread), atol=1e-6)


def test_the_trend_of_equal_levels_is_their_mean():
    level = np.full(12, 0.3)
    found, stderr = smooth_levels(level, np.full(12, 0.02**2), np.arange(12))
    assert np.allclose(found, 0.3)
    assert stderr.max() < 0.02 / 2
