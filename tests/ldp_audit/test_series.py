"""The audit of series: it flags every device with a bug, and neither the client nor a device without one."""

from functools import cache

import pytest

from benchmarks.buggy_series import MUTANTS, StepwiseSeries, compile_series
from benchmarks.buggy_series import SURVEY as DAYS
from encoders.randomness import SystemEntropy
from encoders.survey import read_survey
from ldp_audit import audit
from ldp_audit.device import PublicClient
from ldp_audit.people import make_people
from ldp_audit.result import RELAY, SERIES
from ldp_audit.series_audit import check_series
from tests.support.relays import waved_plan
from tests.support.waves import SURVEY, compile_waves

PLAN = compile_series()


@cache
def compile_days():
    """Return the plan of a survey of 365 days."""
    days = DAYS.replace('"month"', '"day"').replace("count = 12", "count = 365")
    return read_survey(days.replace("open_days = 14\n", "")).compile()


def faults(device, plan=PLAN, count=400):
    leaks, checks = check_series(plan, device, make_people(plan), count, 1e-8)
    failed = [each.name for each in checks if not each.passed]
    return failed + ["leak"] * sum(each.exceeds(plan.epsilon) for each in leaks)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.__name__)
def test_every_mutant_is_flagged(mutant):
    assert faults(mutant())  # each is missed with a probability far below 1e-9


class OneByte(StepwiseSeries):
    """The wave is drawn with one byte."""

    def draw(self, plan, history):
        return SystemEntropy().take(1)[0] % len(plan.waves.list)


class IndexOfOneByte(StepwiseSeries):
    """The index of a wave beyond 255 is cut to one byte."""

    def answer(self, plan, wave, person):
        return super().answer(plan, wave % 256, person)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", [*MUTANTS, OneByte, IndexOfOneByte], ids=lambda each: each.__name__)
def test_every_mutant_is_flagged_in_a_plan_of_many_waves(mutant):
    assert faults(mutant(), compile_days())  # each is missed with a probability below 1e-9


@pytest.mark.slow
def test_a_device_without_a_bug_passes_in_a_plan_of_many_waves():
    assert not faults(StepwiseSeries(), compile_days())  # false alarm: 1e-8


@pytest.mark.slow
def test_the_client_passes_in_a_plan_of_many_waves():
    assert not faults(PublicClient(), compile_days(), 30)  # false alarm: 1e-8


@pytest.mark.slow
def test_a_device_without_a_bug_passes():
    assert not faults(StepwiseSeries())  # false alarm: 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("enrolment", "more"), [("open", ""), ("token", ""), ("open", 'assign = "now"')], ids=str
)
def test_the_client_passes(enrolment, more):
    plan = compile_waves(SURVEY.replace("epsilon = 2", f'epsilon = 2, enrolment = "{enrolment}"'), more)
    assert not faults(PublicClient(), plan, 30)  # false alarm: 1e-8


@pytest.mark.slow
def test_the_audit_of_a_survey_with_waves_has_the_layer():
    plan = compile_waves()
    result = audit(plan, 100, copies=2, requests=10)
    assert result.passed, result.faults
    assert SERIES in {each.layer for each in result.checks}
    assert SERIES in {each.question for each in result.black_box}


@pytest.mark.slow
def test_a_survey_with_waves_and_a_relay_is_audited():
    result = audit(waved_plan(), 100, copies=2, requests=10)
    assert result.passed, result.faults
    assert {SERIES, RELAY} <= {each.layer for each in result.checks}
