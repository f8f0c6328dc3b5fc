"""Computing times are compared, and told."""

from __future__ import annotations

import numpy as np

from encoders.survey import Plan
from ldp_audit.device import PublicClient, Row
from ldp_audit.people import cases_of
from ldp_audit.timing import compare_times, same_time, timing
from tests.ldp_audit.mutants import plan_of


def test_medians_and_laws_are_compared() -> None:
    rng = np.random.default_rng(1)
    times = {name: rng.normal(10_000, 300, 4000).astype(np.int64) for name in "abc"}
    same = compare_times(times)
    assert same.apart < 0.005
    assert same.p > 1e-6
    later = compare_times({**times, "b": times["b"] + 500})
    assert "b" in later.people
    assert abs(later.apart - 0.05) < 0.005
    assert later.p < 1e-6
    assert abs(later.median - 10) < 0.3


class Slow(PublicClient):
    """Whose answer is rare waits longer."""

    def report(self, plan: Plan, row: Row, label: str) -> bytes:
        for _ in range(400 if row["kind"] == "d" else 0):
            pass
        return super().report(plan, row, label)


def test_a_device_that_takes_longer_for_some_is_told_of_and_not_judged() -> None:
    plan = plan_of()
    people = cases_of(plan)
    slow = timing(Slow(), plan, people, 300)
    assert slow.apart > 0.2
    check = same_time(PublicClient(), plan, people, 50)
    assert (check.layer, check.passed) == ("timing", None)
    assert "microseconds, p = " in check.found


def test_every_person_is_timed_as_often() -> None:
    plan = plan_of()
    found = timing(PublicClient(), plan, cases_of(plan)[:3], 50)
    assert found.runs == 50
    assert found.median > 1
