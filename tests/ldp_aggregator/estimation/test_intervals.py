"""Differences between classes are detected where they exist, rarely elsewhere; margins of error."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.survey import Plan, read_survey
from ldp_aggregator.estimation import IntervalEstimate, estimate_snapshot
from ldp_aggregator.estimation.intervals import (
    Z95,
    detect_class_differences,
    detect_non_uniform_classes,
    forecast_margins,
    simultaneous_z,
)
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from tests.ldp_aggregator.estimation.conftest import raw_results

SURVEY = """
[survey]
id = "contrasts"
epsilon = {epsilon}
[label]
name = "label"
values = ["a", "b", "c"]
[features.five]
values = ["p", "q", "r", "s", "t"]
[features.number]
range = [0, 1]
missing = "category"
[mechanism]
frequency = "{mechanism}"
"""
PRIOR = [0.7, 0.2, 0.1]


@cache
def plan_of(mechanism: str, epsilon: float) -> Plan:
    return read_survey(SURVEY.format(mechanism=mechanism, epsilon=epsilon)).compile()


def collected(mechanism: str, epsilon: float, users: int, seed: int, differ: bool = False) -> Snapshot:
    """Collect reports of a population whose classes differ, or not."""
    plan = plan_of(mechanism, epsilon)
    rng = np.random.default_rng([seed, 1])
    labels = rng.choice(3, size=users, p=PRIOR)
    five = np.where(differ & (rng.random(users) < 0.5), labels, rng.integers(0, 5, users))
    number = (rng.random(users) * 2**20).astype(np.int64) + differ * (labels << 18)
    return simulate_reports(plan, np.column_stack([five, number]), labels, FastStream([seed]))


@pytest.mark.parametrize("mechanism", ["DE", "OUE", "SHE", "SS"])
@pytest.mark.parametrize(("epsilon", "users"), [(0.5, 300), (2, 4000)])
def test_equal_classes_are_not_distinguishable(mechanism: str, epsilon: float, users: int) -> None:
    # 20 surveys of two features: at most one in twenty is wrong for each, usually far fewer
    alarms = sum(
        feature.distinguishable
        for seed in range(20)
        for feature in raw_results(collected(mechanism, epsilon, users, seed), [0, 1]).features.values()
    )
    assert alarms <= 3


@pytest.mark.parametrize("mechanism", ["DE", "OUE"])
def test_different_classes_are_distinguishable(mechanism: str) -> None:
    estimates = estimate_snapshot(collected(mechanism, 4, 40_000, 1, differ=True))
    five, number = estimates.features
    assert five.distinguishable_entries.tolist() == [True, True, True, False, False]
    assert number.distinguishable_entries == {"means": True, "variances": False, "missing": False}
    document = estimates.as_dict()
    assert document["label"]["non_uniform"] == [True, True, True]
    assert [each["distinguishable"] for each in document["features"]] == [True, True]


def test_without_reports_nothing_is_distinguishable() -> None:
    estimates = estimate_snapshot(Snapshot(plan_of("DE", 1), {}))
    assert not any(feature.distinguishable for feature in estimates.features)
    assert estimates.as_dict()["label"]["non_uniform"] == [False] * 3


def test_simultaneous_intervals_are_wider_unless_there_is_one() -> None:
    assert math.isclose(simultaneous_z(1), Z95)
    assert simultaneous_z(1) < simultaneous_z(10) < simultaneous_z(100) < 4


def test_classes_are_distinguishable_where_simultaneous_intervals_do_not_overlap() -> None:
    far = simultaneous_z(2)
    touching = IntervalEstimate.from_stderr(np.array([0.2, 0.2 + 1.9 * far * 0.01]), np.full(2, 0.01))
    assert not detect_class_differences(touching)
    clear = IntervalEstimate.from_stderr(np.array([0.2, 0.2 + 2.1 * far * 0.01]), np.full(2, 0.01))
    assert detect_class_differences(clear)
    unknown = IntervalEstimate.from_stderr(np.array([0.2, math.nan]), np.array([0.01, math.inf]))
    assert not detect_class_differences(unknown)


def test_a_difference_significant_alone_may_not_be_among_many() -> None:
    alone = np.array([[0.2, 0.2 + 2.1 * simultaneous_z(2) * 0.01]])
    many = np.concatenate([alone, np.full((4, 2), 0.5)])
    assert detect_class_differences(IntervalEstimate.from_stderr(alone, np.full((1, 2), 0.01))).tolist() == [
        True
    ]
    assert (
        detect_class_differences(IntervalEstimate.from_stderr(many, np.full((5, 2), 0.01))).tolist()
        == [False] * 5
    )


def test_the_shares_of_two_classes_are_two_estimates() -> None:
    # with unary encoding the shares need not add up to one, so each may be flagged by itself
    barely = IntervalEstimate.from_stderr(np.array([0.52, 0.48]), np.full(2, 0.02 / 2))
    assert detect_non_uniform_classes(barely).tolist() == [False, False]
    clear = IntervalEstimate.from_stderr(np.array([0.525, 0.475]), np.full(2, 0.02 / 2))
    assert detect_non_uniform_classes(clear).tolist() == [True, True]


def test_margins_shrink_with_the_root_of_the_reports() -> None:
    estimate = IntervalEstimate.from_stderr(np.full((2, 2), 0.5), np.array([[0.1, 0.2], [0.1, math.inf]]))
    found = forecast_margins(estimate)
    assert found["now"] == [pytest.approx(Z95 * 0.1), None]
    assert found["times_2"][0] == pytest.approx(Z95 * 0.1 / math.sqrt(2))
    assert found["times_10"] == [pytest.approx(Z95 * 0.1 / math.sqrt(10)), None]


def test_ten_times_the_reports_bring_the_forecast_margin() -> None:
    before, after = (
        raw_results(collected("OUE", 2, users, 3), [0]).features[0].conditionals
        for users in (20_000, 200_000)
    )
    expected = np.array(forecast_margins(before)["times_10"])
    np.testing.assert_allclose(forecast_margins(after)["now"], expected, rtol=0.3)
