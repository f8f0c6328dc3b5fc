"""The audit bites: each client with a privacy bug is flagged by the layer that should, a sound one is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.buggy_clients import MUTANTS, Mutant, Retold, plan_of
from ldp_audit import audit


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_bug_is_flagged(mutant: Mutant) -> None:
    plan = plan_of(mutant.frequency, mutant.numeric)
    result = audit(plan, mutant.trials, mutant.device(), copies=16, requests=mutant.requests)
    assert not result.passed
    assert any(fault.startswith(f"{mutant.layer}: ") for fault in result.faults), result.faults


def test_a_client_that_answers_another_question_than_it_was_invited_to_is_flagged() -> None:
    result = audit(replace(plan_of(), enrolment="token"), 2000, Retold(), alpha=1e-8, copies=16)
    assert any("the question that the invitation names" in fault for fault in result.faults)


def test_the_base_of_the_mutants_passes() -> None:
    assert audit(plan_of(), 2000, Retold(), alpha=1e-8, copies=16).faults == []
