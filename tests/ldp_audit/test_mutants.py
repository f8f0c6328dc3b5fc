"""The audit detects each client with a privacy bug by the layer that should detect it."""

from dataclasses import replace

import pytest

from benchmarks.buggy_clients import CERTAIN, MUTANTS, StepwiseClient, compile_survey
from ldp_audit import audit

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_bug_is_flagged(mutant):
    plan = compile_survey(mutant.frequency, mutant.numeric)
    result = audit(plan, mutant.trials, mutant.device(), copies=mutant.copies, requests=mutant.requests)
    assert any(fault.startswith(f"{mutant.layer}: ") for fault in result.faults), result.faults


def test_a_client_that_answers_another_question_than_it_was_invited_to_is_flagged():
    plan = replace(compile_survey(), enrolment="token")
    result = audit(plan, CERTAIN, StepwiseClient(), alpha=1e-8, copies=2)
    assert any("the question that the invitation names" in fault for fault in result.faults)
