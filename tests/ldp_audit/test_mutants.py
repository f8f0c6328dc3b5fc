"""The audit detects each client with a privacy bug by the layer that should detect it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.buggy_clients import CERTAIN, MUTANTS, StepwiseClient, compile_survey
from ldp_audit import audit

pytestmark = pytest.mark.slow

FEW_MESSAGES = ("LabelInTheClear", "MomentByValue", "SeededById")
"""A bug for each layer that 100 messages of each person show too; for the other bugs there are unit tests."""


def list_mutants() -> Iterator[Any]:
    for mutant in MUTANTS:
        is_long = mutant.trials > CERTAIN or mutant.requests > CERTAIN
        yield pytest.param(mutant, id=mutant.name, marks=[pytest.mark.statistics] * is_long)
        if mutant.name in FEW_MESSAGES:
            marks = [pytest.mark.repeated] * is_long
            yield pytest.param(replace(mutant, trials=CERTAIN), id=f"{mutant.name}-small", marks=marks)


@pytest.mark.parametrize("mutant", [*list_mutants()])
def test_a_bug_is_flagged(mutant):
    plan = compile_survey(mutant.frequency, mutant.numeric)
    result = audit(plan, mutant.trials, mutant.device(), copies=mutant.copies, requests=mutant.requests)
    assert any(fault.startswith(f"{mutant.layer}: ") for fault in result.faults), result.faults


def test_a_client_that_answers_another_question_than_it_was_invited_to_is_flagged():
    plan = replace(compile_survey(), enrolment="token")
    result = audit(plan, CERTAIN, StepwiseClient(), alpha=1e-8, copies=2)
    assert any("the question that the invitation names" in fault for fault in result.faults)
