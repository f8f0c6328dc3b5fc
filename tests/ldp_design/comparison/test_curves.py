"""Means over overlapping splits, and the epsilon from which on a curve reaches a level."""

import math

import numpy as np
import pytest
from scipy.stats import t

from ldp_design.comparison.trust_comparison import Crossing, average, find_crossing
from tests.support.comparisons import EPSILONS, spread

TEST_SHARE = 0.25


def crossing_of(values: list[float], deviation: float = 0.0) -> Crossing:
    return find_crossing(EPSILONS, np.array([spread(each, deviation) for each in values]), TEST_SHARE)


@pytest.mark.slow
def test_the_variance_of_a_paired_difference_allows_for_the_overlap_of_splits():
    # Two classifiers that learn nothing, on many sets of rows; each set is split ten times.
    rng = np.random.default_rng(1)
    sets, rows, splits = 4000, 100, 10
    differences = rng.choice([-1, 0, 1], size=(sets, rows), p=[0.2, 0.5, 0.3])
    means, variances = [], []
    for values in differences:
        tests = np.stack([rng.permutation(rows)[: rows // 5] for _ in range(splits)])
        found = average(values[tests].mean(axis=1), TEST_SHARE)
        means.append(found.value)
        variances.append(found.stderr**2)
    # the empirical variance has a relative standard error of sqrt(2 / 4000) = .022, the mean one less
    assert np.mean(variances) / np.var(means, ddof=1) == pytest.approx(1.0, abs=5 * 0.03)


def test_an_interval_is_that_of_student_with_one_degree_less_than_splits():
    values = np.array([0.7, 0.8, 0.9])
    found = average(values, TEST_SHARE)
    assert found.value == pytest.approx(0.8)
    assert found.stderr == pytest.approx(math.sqrt((1 / 3 + 0.25) * 0.01))
    assert found.high - found.value == pytest.approx(t.ppf(0.975, 2) * found.stderr)
    assert found.value - found.low == pytest.approx(t.ppf(0.975, 2) * found.stderr)


def test_a_crossing_is_interpolated_in_log_epsilon():
    assert crossing_of([-0.3, -0.2, -0.1, 0.1, 0.2]) == Crossing(
        *[pytest.approx(math.sqrt(2))] * 3, (EPSILONS[0], EPSILONS[-1])
    )
    assert crossing_of([-0.3, -0.2, -0.1, 0.3, 0.4]).value == pytest.approx(2**0.25)


def test_a_curve_that_never_reaches_the_level_needs_more_than_the_largest_epsilon():
    assert crossing_of([-0.5, -0.4, -0.3, -0.2, -0.1]) == Crossing(
        math.inf, math.inf, math.inf, (EPSILONS[0], EPSILONS[-1])
    )


def test_a_curve_that_always_reaches_the_level_needs_at_most_the_smallest_epsilon():
    assert crossing_of([0.0, 0.1, 0.1, 0.2, 0.2]) == Crossing(0.0, 0.0, 0.0, (EPSILONS[0], EPSILONS[-1]))


def test_a_curve_that_crosses_twice_needs_the_epsilon_from_which_on_it_stays():
    found = crossing_of([-0.1, 0.1, -0.1, 0.1, 0.2])
    assert found.value == pytest.approx(math.sqrt(2))
    assert found.is_repeated
    lost = crossing_of([-0.1, 0.1, 0.1, 0.1, -0.2])
    assert lost.value == math.inf
    assert lost.is_repeated
    assert not crossing_of([-0.1, -0.1, -0.1, 0.1, 0.2]).is_repeated


def test_noise_widens_the_interval_of_a_crossing_to_both_sides():
    values = [-0.4, -0.2, -0.1, 0.1, 0.3]
    exact, noisy, noisier = (crossing_of(values, deviation) for deviation in (0.0, 0.05, 0.1))
    assert noisier.low < noisy.low < exact.low == exact.value == exact.high < noisy.high < noisier.high
    assert noisy.value == exact.value == noisier.value


def test_the_interval_holds_the_epsilons_at_which_zero_is_within_the_interval_of_the_mean():
    values, deviation = [-0.4, -0.2, -0.1, 0.1, 0.3], 0.05
    margin = average(spread(0.0, deviation), TEST_SHARE).high
    found = crossing_of(values, deviation)
    assert found.low == pytest.approx(crossing_of([each + margin for each in values]).value)
    assert found.high == pytest.approx(crossing_of([each - margin for each in values]).value)


def test_an_interval_beyond_the_tested_epsilons_is_open():
    assert crossing_of([-0.4, -0.2, -0.1, -0.05, 0.01], 0.05).high == math.inf
    assert crossing_of([-0.01, 0.1, 0.2, 0.3, 0.4], 0.05).low == 0.0


def test_one_epsilon_is_enough():
    def cross(value: float) -> float:
        return find_crossing([1.0], np.array([spread(value, 0.0)]), TEST_SHARE).value

    assert (cross(0.1), cross(-0.1)) == (0.0, math.inf)
