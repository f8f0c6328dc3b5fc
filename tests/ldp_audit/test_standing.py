"""The audit of standing consent: it flags every device with a bug, and no sound one."""

from dataclasses import replace

import pytest

pytest.importorskip("cryptography")

from benchmarks.buggy_standing import MUTANTS, StepwiseStanding
from encoders.survey import Plan, read_survey
from encoders.survey.waves import Series
from ldp_audit import audit
from ldp_audit.device import PublicClient
from ldp_audit.people import make_people
from ldp_audit.result import SERIES
from ldp_audit.series_audit import check_standing
from tests.support.relays import relayed_plan
from tests.support.surveys import SLEEP

PLAN = replace(read_survey(SLEEP).compile(), series=Series("sleep", "A" * 42 + "E="))


def faults(device: object, plan: Plan = PLAN, count: int = 100) -> list[str]:
    checks = check_standing(plan, device, make_people(plan), count, 1e-8)
    return [each.name for each in checks if not each.passed]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.__name__)
def test_every_mutant_is_flagged(mutant):
    assert faults(mutant(), count=4)


def test_a_device_without_a_bug_passes():
    assert not faults(StepwiseStanding())  # false alarm: 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("plan", [PLAN, relayed_plan()], ids=["collector", "relay"])
def test_the_client_passes(plan):
    assert not faults(PublicClient(), plan, 5)  # false alarm: 1e-8


@pytest.mark.slow
def test_the_audit_of_a_survey_in_a_series_has_the_layer():
    result = audit(PLAN, 100, copies=2, requests=10)
    assert result.passed, result.faults
    assert SERIES in {each.layer for each in result.checks}
