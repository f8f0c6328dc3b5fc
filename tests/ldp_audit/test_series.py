"""The audit of series: it flags every device with a bug, and neither the client nor a device without one."""

import pytest

from benchmarks.buggy_series import MUTANTS, StepwiseSeries, compile_series
from ldp_audit import audit
from ldp_audit.device import PublicClient
from ldp_audit.people import make_people
from ldp_audit.result import RELAY, SERIES
from ldp_audit.series_audit import check_series
from tests.support.relays import waved_plan
from tests.support.waves import SURVEY, compile_waves

PLAN = compile_series()


def faults(device, plan=PLAN, count=400):
    leak, checks = check_series(plan, device, make_people(plan), count, 1e-8)
    failed = [each.name for each in checks if not each.passed]
    return failed + ["leak"] * leak.exceeds(plan.epsilon)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.__name__)
def test_every_mutant_is_flagged(mutant):
    assert faults(mutant())  # each is missed with a probability far below 1e-9


def test_a_device_without_a_bug_passes():
    assert not faults(StepwiseSeries())  # false alarm: 1e-8


@pytest.mark.parametrize(
    ("enrolment", "more"), [("open", ""), ("token", ""), ("open", 'assign = "now"')], ids=str
)
def test_the_client_passes(enrolment, more):
    plan = compile_waves(SURVEY.replace("epsilon = 2", f'epsilon = 2, enrolment = "{enrolment}"'), more)
    assert not faults(PublicClient(), plan, 30)  # false alarm: 1e-8


@pytest.mark.slow
def test_the_audit_of_a_survey_with_waves_has_the_layer():
    plan = compile_waves()
    result = audit(plan, 100, copies=2)
    assert result.passed, result.faults
    assert SERIES in {each.layer for each in result.checks}
    assert SERIES in {each.question for each in result.black_box}


@pytest.mark.slow
def test_a_survey_with_waves_and_a_relay_is_audited():
    result = audit(waved_plan(), 100, copies=2)
    assert result.passed, result.faults
    assert {SERIES, RELAY} <= {each.layer for each in result.checks}
