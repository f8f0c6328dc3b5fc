"""Computing times of people are compared and reported."""

import numpy as np
import pytest

from benchmarks.buggy_clients import compile_survey
from encoders.survey import Plan
from ldp_audit.device import PublicClient, Row
from ldp_audit.people import make_people
from ldp_audit.timing import check_timing, compare_times, measure_timing


def test_medians_and_distributions_are_compared():
    rng = np.random.default_rng(1)
    times = {name: rng.normal(10_000, 300, 4000).astype(np.int64) for name in "abc"}
    same = compare_times(times)
    assert same.relative_difference < 0.005
    assert same.p > 1e-6
    slower = compare_times({**times, "b": times["b"] + 500})
    assert "b" in slower.people
    assert abs(slower.relative_difference - 0.05) < 0.005
    assert slower.p < 1e-6
    assert abs(slower.median - 10) < 0.3


class SlowForSome(PublicClient):
    """Takes longer for people with a rare answer."""

    def report(self, plan: Plan, row: Row, label: str) -> bytes:
        for _ in range(400 if row["kind"] == "d" else 0):
            pass
        return super().report(plan, row, label)


@pytest.mark.slow
def test_a_device_that_takes_longer_for_some_is_reported_without_a_decision():
    plan = compile_survey()
    people = make_people(plan)
    slow = measure_timing(SlowForSome(), plan, people, 300)
    assert slow.relative_difference > 0.2
    check = check_timing(PublicClient(), plan, people, 50)
    assert (check.layer, check.passed) == ("timing", None)
    assert "microseconds, p = " in check.finding


def test_every_person_is_timed_as_often():
    plan = compile_survey()
    found = measure_timing(PublicClient(), plan, make_people(plan)[:3], 50)
    assert found.runs == 50
    assert found.median > 1
