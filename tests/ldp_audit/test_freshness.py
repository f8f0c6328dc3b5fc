"""Reports are repeated with the same id and a stopped clock; everything else stays random."""

import os
import secrets
import threading
import time
import uuid
from dataclasses import replace

import pytest

from benchmarks.buggy_clients import Codes, SeededByClock, SeededById, StepwiseClient, compile_survey
from encoders.randomness import PooledEntropy
from encoders.report import unpack
from encoders.survey import Plan, Question
from ldp_audit.audit import collect_reports
from ldp_audit.blackbox import MessagesByPerson
from ldp_audit.device import PublicClient, Reporter, RequestReporter, Row
from ldp_audit.freshness import (
    RepeatResult,
    check_noise_reuse,
    check_two_surveys,
    repeat_for_all,
    repeat_report,
)
from ldp_audit.people import focus_plan, make_people
from ldp_audit.request_capture import freeze_environment

ALPHA = 1e-9
PLAN = focus_plan(compile_survey(), compile_survey().questions[0])
PEOPLE = make_people(PLAN)[:2]


@pytest.fixture(scope="module")
def messages() -> MessagesByPerson:
    """Return independent messages of each person."""
    return collect_reports(StepwiseClient(), PLAN, PEOPLE, 2000)


def repeat(device: Reporter, messages: MessagesByPerson, plan: Plan = PLAN) -> list[RepeatResult]:
    return repeat_for_all(device, plan, PEOPLE, messages, ALPHA)


@pytest.mark.parametrize("device", [PublicClient(), RequestReporter(PublicClient()), StepwiseClient()])
def test_fresh_noise_differs_although_the_id_is_fixed(device, messages):
    results = repeat(device, messages)
    assert [(each.repeats, each.same_id) for each in results] == [(0, True)] * 2
    assert check_noise_reuse({"kind": results}, "reports").finding == "2 people and questions"


@pytest.mark.slow
def test_the_random_part_of_an_invitation_is_fixed():
    plan = replace(PLAN, enrolment="token")
    results = repeat(PublicClient(), collect_reports(PublicClient(), plan, PEOPLE, 2000), plan)
    assert [(each.repeats, each.same_id) for each in results] == [(0, True)] * 2


@pytest.mark.slow
@pytest.mark.parametrize("device", [SeededById(), SeededByClock()])
def test_noise_that_repeats_is_counted(device, messages):
    results = repeat(device, messages)
    for each in results:
        assert each.repeats > 5
        assert each.same_id
    check = check_noise_reuse({"kind": results}, "reports")
    assert check.passed is False
    assert "with the same id and a stopped clock" in check.finding


class PooledClient(StepwiseClient):
    def __init__(self) -> None:
        self.rng = PooledEntropy()


class UuidClient(StepwiseClient):
    def draw_id(self, row: Row, label: str) -> bytes:
        return uuid.uuid4().bytes


@pytest.mark.parametrize("device", [PooledClient(), UuidClient()])
def test_an_id_that_cannot_be_fixed_is_reported_and_is_no_fault(device, messages):
    check = check_noise_reuse({"kind": repeat(device, messages)}, "reports")
    assert check.passed
    assert check.finding.endswith("; only the clock could be stopped, the id could not be fixed")


class ConstantClient(StepwiseClient):
    def randomise(self, plan: Plan, question: Question, codes: Codes, label_code: int, row: Row) -> bytes:
        return bytes(1)


def test_an_answer_that_is_the_same_for_all_devices_is_no_repetition():
    messages = collect_reports(ConstantClient(), PLAN, PEOPLE, 200)
    results = repeat(ConstantClient(), messages)
    assert [(each.repeats, each.decided) for each in results] == [(0, False)] * 2
    words = "0 of 2 people and questions; for the others, chance is not excluded"
    assert check_noise_reuse({"kind": results}, "reports").finding == words


def test_clocks_stop_for_one_thread_only_and_random_bytes_stay_random():
    real = os.urandom, time.time_ns, secrets.token_bytes
    elsewhere: list[int] = []
    with freeze_environment():
        assert time.time_ns() == time.time_ns()
        assert time.perf_counter() == time.perf_counter()
        assert os.urandom(16) != os.urandom(16)
        thread = threading.Thread(target=lambda: elsewhere.extend(time.time_ns() for _ in range(50_000)))
        thread.start()
        thread.join()
    assert len(set(elsewhere)) > 1
    assert (os.urandom, time.time_ns, secrets.token_bytes) == real
    assert time.time_ns() < time.time_ns() or time.time_ns() < time.time_ns()


def test_fixed_bytes_are_drawn_again_where_they_were_drawn(messages):
    with freeze_environment() as environment:
        environment.release_bytes()
        first = StepwiseClient().report(PLAN, PEOPLE[0].row, PEOPLE[0].label)
        environment.fix_bytes(unpack(first).id)
        for _ in range(3):
            environment.start_report()
            again = StepwiseClient().report(PLAN, PEOPLE[0].row, PEOPLE[0].label)
            assert unpack(again).id == unpack(first).id
        reference = messages[PEOPLE[0].name]
        assert repeat_report(environment, StepwiseClient(), PLAN, PEOPLE[0], reference, ALPHA).same_id


@pytest.mark.slow
def test_two_surveys_of_an_honest_device_are_independent(messages):
    person = PEOPLE[0]
    check = check_two_surveys(PublicClient(), PLAN, person, messages[person.name].first(2000), ALPHA, 20)
    assert check.passed, check.finding
