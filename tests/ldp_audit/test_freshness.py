"""Repeating a report under the same conditions: what is held, and that nothing else is."""

from __future__ import annotations

import os
import secrets
import threading
import time
import uuid
from dataclasses import replace

import pytest

from benchmarks.buggy_clients import Retold, SeededByClock, SeededById, plan_of
from encoders.randomness import PooledEntropy
from encoders.report import unpack
from ldp_audit.audit import collect_reports
from ldp_audit.device import PublicClient, RequestReporter
from ldp_audit.freshness import check_noise_reuse, check_two_surveys, repeat_for_all, repeat_report
from ldp_audit.frozen_environment import freeze_environment
from ldp_audit.people import focus_plan, make_people

ALPHA = 1e-9
WHOLE = plan_of()
PLAN = focus_plan(WHOLE, WHOLE.questions[0])
PEOPLE = make_people(PLAN)[:2]
MESSAGES = collect_reports(Retold(), PLAN, PEOPLE, 2000)


def repeat(device, plan=PLAN, messages=MESSAGES):
    return repeat_for_all(device, plan, PEOPLE, messages, ALPHA)


@pytest.mark.parametrize("device", [PublicClient(), RequestReporter(PublicClient()), Retold()])
def test_fresh_noise_is_seen_although_the_id_is_fixed(device) -> None:
    results = repeat(device)
    assert [(each.repeats, each.same_id) for each in results] == [(0, True)] * 2
    assert check_noise_reuse({"kind": results}, "reports").finding == "2 people and questions"


def test_the_random_part_of_an_invitation_is_fixed() -> None:
    plan = replace(PLAN, enrolment="token")
    results = repeat(PublicClient(), plan, collect_reports(PublicClient(), plan, PEOPLE, 2000))
    assert [(each.repeats, each.same_id) for each in results] == [(0, True)] * 2


@pytest.mark.parametrize("device", [SeededById(), SeededByClock()])
def test_noise_that_repeats_is_counted(device) -> None:
    for each in repeat(device):
        assert each.repeats > 5
        assert each.same_id
    check = check_noise_reuse({"kind": repeat(device)}, "reports")
    assert check.passed is False
    assert "with the same id and a stopped clock" in check.finding


class Pooled(Retold):
    def __init__(self) -> None:
        self.rng = PooledEntropy()


class IdOfItsOwn(Retold):
    def id(self, row, label):
        return uuid.uuid4().bytes


@pytest.mark.parametrize("device", [Pooled(), IdOfItsOwn()])
def test_an_id_that_cannot_be_fixed_is_reported_and_is_no_fault(device) -> None:
    check = check_noise_reuse({"kind": repeat(device)}, "reports")
    assert check.passed
    assert check.finding.endswith("; the id could not be held, only the clock")


class Certain(Retold):
    def payload(self, plan, question, codes, label_code, row):
        return bytes(1)


def test_an_answer_that_is_the_same_for_all_devices_is_no_repetition() -> None:
    messages = collect_reports(Certain(), PLAN, PEOPLE, 200)
    results = repeat(Certain(), messages=messages)
    assert [(each.repeats, each.decided) for each in results] == [(0, False)] * 2
    words = "0 of 2 people and questions; the others have likely answers"
    assert check_noise_reuse({"kind": results}, "reports").finding == words


def test_clocks_stop_and_random_bytes_stay_random_for_one_thread_and_only_meanwhile() -> None:
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


def test_fixed_bytes_are_drawn_again_where_they_were_drawn() -> None:
    with freeze_environment() as environment:
        environment.release_bytes()
        first = Retold().report(PLAN, PEOPLE[0].row, PEOPLE[0].label)
        environment.fix_bytes(unpack(first).id)
        for _ in range(3):
            environment.start_report()
            again = Retold().report(PLAN, PEOPLE[0].row, PEOPLE[0].label)
            assert unpack(again).id == unpack(first).id
        assert repeat_report(environment, Retold(), PLAN, PEOPLE[0], MESSAGES[PEOPLE[0].name], ALPHA).same_id


def test_two_surveys_of_an_honest_device_are_independent() -> None:
    person = PEOPLE[0]
    check = check_two_surveys(PublicClient(), PLAN, person, MESSAGES[person.name].first(2000), ALPHA, 20)
    assert check.passed, check.finding
