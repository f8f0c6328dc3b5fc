"""Simultaneous intervals, the detection of a non-uniform prior, and margins of error."""

import math

import numpy as np
import pytest

from ldp_aggregator.estimation import IntervalEstimate
from ldp_aggregator.estimation.intervals import (
    Z95,
    detect_non_uniform_classes,
    forecast_margins,
    simultaneous_z,
)
from tests.ldp_aggregator.estimation.conftest import collect_differing, raw_results


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
    assert found["now"] == [pytest.approx(Z95 * 0.1), None]
    assert found["times_2"][0] == pytest.approx(Z95 * 0.1 / math.sqrt(2))
    assert found["times_10"] == [pytest.approx(Z95 * 0.1 / math.sqrt(10)), None]


def test_ten_times_the_reports_bring_the_forecast_margin():
    before, after = (
        raw_results(collect_differing("OUE", 2, users, 3), [0]).features[0].conditionals
        for users in (20_000, 200_000)
    )
    expected = np.array(forecast_margins(before)["times_10"])
    np.testing.assert_allclose(forecast_margins(after)["now"], expected, rtol=0.3)
