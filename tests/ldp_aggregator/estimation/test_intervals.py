"""Simultaneous intervals, the detection of a non-uniform prior, and margins of error."""

import math

import numpy as np
import pytest

from ldp_aggregator.estimation import IntervalEstimate, estimate_snapshot
from ldp_aggregator.estimation.intervals import (
    Z95,
    detect_non_uniform_classes,
    forecast_margins,
    ratio_intervals,
    simultaneous_z,
)
from ldp_aggregator.estimation.sequential_intervals import hold_at_all_looks
from ldp_aggregator.snapshot import Snapshot, Total
from tests.ldp_aggregator.estimation.conftest import collect_differing, raw_results
from tests.support.surveys import make_plan


def test_simultaneous_intervals_are_wider_unless_there_is_one():
    assert math.isclose(simultaneous_z(1), Z95)
    assert simultaneous_z(1) < simultaneous_z(10) < simultaneous_z(100) < 4


def test_the_shares_of_two_classes_are_two_estimates():
    # with unary encoding the shares need not add up to one, so each may be flagged by itself
    barely = IntervalEstimate.from_stderr(np.array([0.52, 0.48]), np.full(2, 0.02 / 2))
    assert detect_non_uniform_classes(barely).tolist() == [False, False]
    clear = IntervalEstimate.from_stderr(np.array([0.525, 0.475]), np.full(2, 0.02 / 2))
    assert detect_non_uniform_classes(clear).tolist() == [True, True]


def test_margins_shrink_with_the_root_of_the_reports():
    estimate = IntervalEstimate.from_stderr(np.full((2, 2), 0.5), np.array([[0.1, 0.2], [0.1, math.inf]]))
    found = forecast_margins(estimate)
    assert found[1].tolist() == [pytest.approx(Z95 * 0.1), math.inf]
    assert found[2][0] == pytest.approx(Z95 * 0.1 / math.sqrt(2))
    assert found[10].tolist() == [pytest.approx(Z95 * 0.1 / math.sqrt(10)), math.inf]


def test_ten_times_the_reports_bring_the_forecast_margin():
    before, after = (
        raw_results(collect_differing("OUE", 2, users, 3), [0]).features[0].conditionals
        for users in (20_000, 200_000)
    )
    np.testing.assert_allclose(forecast_margins(after)[1], forecast_margins(before)[10], rtol=0.3)


# -- estimates outside the possible range ----------------------------------------------------------

BOUNDS = [(0.0, 1.0), (18.0, 90.0), (0.0, math.inf)]


def list_ends(low, high):
    """Return values at the ends of the range, then far outside of it."""
    return np.array([low, low - 5.0, low - 1e6]), np.array([high, high + 5.0, high + 1e6])


@pytest.mark.parametrize("bounds", BOUNDS)
def test_an_estimate_outside_the_range_has_the_interval_of_the_end_of_the_range(bounds):
    noise = np.full(3, 0.1)
    by_stderr = [IntervalEstimate.from_stderr(ends, noise, bounds) for ends in list_ends(*bounds)[:1]]
    if math.isfinite(bounds[1]):
        by_stderr.append(IntervalEstimate.from_stderr(list_ends(*bounds)[1], noise, bounds))
    for estimate in by_stderr:
        for low, high in (
            (estimate.low, estimate.high),
            (estimate.simultaneous_low, estimate.simultaneous_high),
        ):
            assert (low == low[0]).all()
            assert (high == high[0]).all()
        np.testing.assert_allclose(estimate.high - estimate.low, Z95 * 0.1)


@pytest.mark.parametrize("bottom", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("bounds", BOUNDS[:2])
def test_a_ratio_outside_the_range_has_the_interval_of_the_end_of_the_range(bounds, bottom):
    for ends in list_ends(*bounds):
        bottoms = np.full(3, bottom)
        noise = np.full(3, 0.01), np.full(3, 0.002), np.full(3, 0.001)
        for low, high in np.reshape(ratio_intervals(ends * bottom, bottoms, *noise, 3, bounds), (2, 2, 3)):
            np.testing.assert_allclose(low, low[0])
            np.testing.assert_allclose(high, high[0])
            assert (high - low > 0.05).all()


def test_the_interval_only_grows_towards_the_end_of_the_range():
    # it contains what is possible of the interval around the estimate, so it misses no more often
    value = np.linspace(-1.0, 1.0, 201)
    noise = np.full(201, 0.01), np.full(201, 0.05), np.full(201, -0.02)
    _, high, _, simultaneous = ratio_intervals(value, np.ones(201), *noise, 5)
    _, uncut, _, simultaneous_uncut = ratio_intervals(value, np.ones(201), *noise, 5, (-9.0, 9.0))
    assert (high >= np.clip(uncut, 0.0, 1.0)).all()
    assert (simultaneous >= np.clip(simultaneous_uncut, 0.0, 1.0)).all()
    assert (np.diff(high) >= 0).all()


def test_no_interval_of_an_impossible_estimate_is_a_point():
    plan = make_plan(
        label=None,
        features={
            "tea": {"values": ["black", "green", "white"], "ordered": True},
            "age": {"range": [18, 90]},
        },
    )
    totals = {}
    for question in plan.questions:
        counts = np.zeros(question.cells, dtype=np.int64)
        counts[0] = 2000
        totals[question.key] = Total(2000, counts)
    estimates = estimate_snapshot(Snapshot(plan, totals, {}))
    for shown in (estimates, hold_at_all_looks(estimates, plan)):
        tea, age = shown.features
        assert (tea.shares.value < 0).any()
        assert (tea.shares.value > 1).any()
        outside = [tea.shares, tea.ordered.cumulative, age.overall.means, age.overall.deviations]
        for each in outside:
            assert (each.high > each.low).all()
            assert (each.simultaneous_high >= each.high).all()
            assert (each.simultaneous_low <= each.low).all()
