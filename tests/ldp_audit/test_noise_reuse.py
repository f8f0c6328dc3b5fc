"""Repeating a report under the same conditions: what is held, and that nothing else is."""

from __future__ import annotations

import os
import secrets
import threading
import time
import uuid
from dataclasses import replace

import pytest

from encoders.randomness import PooledEntropy
from encoders.report import unpack
from ldp_audit.audit import listen
from ldp_audit.device import PublicClient, Sent
from ldp_audit.freshness import two_surveys
from ldp_audit.noise_reuse import conditions, fresh_noise, repeat, repeat_all
from ldp_audit.people import cases_of, focused
from tests.ldp_audit.mutants import Retold, SeededByClock, SeededById, plan_of

ALPHA = 1e-9
WHOLE = plan_of()
PLAN = focused(WHOLE, WHOLE.questions[0])
PEOPLE = cases_of(PLAN)[:2]
HEARD = listen(Retold(), PLAN, PEOPLE, 2000)


def found_with(device, plan=PLAN, heard=HEARD):
    return repeat_all(device, plan, PEOPLE, heard, ALPHA)


@pytest.mark.parametrize("device", [PublicClient(), Sent(PublicClient()), Retold()])
def test_fresh_noise_is_seen_although_the_id_is_held(device) -> None:
    found = found_with(device)
    assert [(each.count, each.same_id) for each in found] == [(0, True)] * 2
    assert fresh_noise({"kind": found}, "reports").found == "2 people and questions"


def test_the_random_part_of_an_invitation_is_held() -> None:
    plan = replace(PLAN, enrolment="token")
    found = found_with(PublicClient(), plan, listen(PublicClient(), plan, PEOPLE, 2000))
    assert [(each.count, each.same_id) for each in found] == [(0, True)] * 2


@pytest.mark.parametrize("device", [SeededById(), SeededByClock()])
def test_noise_that_repeats_is_counted(device) -> None:
    for each in found_with(device):
        assert each.count > 5
        assert each.same_id
    check = fresh_noise({"kind": found_with(device)}, "reports")
    assert check.passed is False
    assert "with the same id and a stopped clock" in check.found


class Pooled(Retold):
    def __init__(self) -> None:
        self.rng = PooledEntropy()


class IdOfItsOwn(Retold):
    def id(self, row, label):
        return uuid.uuid4().bytes


@pytest.mark.parametrize("device", [Pooled(), IdOfItsOwn()])
def test_an_id_that_cannot_be_held_is_said_and_is_no_fault(device) -> None:
    check = fresh_noise({"kind": found_with(device)}, "reports")
    assert check.passed
    assert check.found.endswith("; the id could not be held, only the clock")


class Certain(Retold):
    def payload(self, plan, question, codes, label_code, row):
        return bytes(1)


def test_an_answer_that_is_the_same_for_all_devices_is_no_repetition() -> None:
    heard = listen(Certain(), PLAN, PEOPLE, 200)
    found = found_with(Certain(), heard=heard)
    assert [(each.count, each.decided) for each in found] == [(0, False)] * 2
    words = "0 of 2 people and questions; the others have likely answers"
    assert fresh_noise({"kind": found}, "reports").found == words


def test_clocks_stop_and_random_bytes_stay_random_for_one_thread_and_only_meanwhile() -> None:
    real = os.urandom, time.time_ns, secrets.token_bytes
    elsewhere: list[int] = []
    with conditions():
        assert time.time_ns() == time.time_ns()
        assert time.perf_counter() == time.perf_counter()
        assert os.urandom(16) != os.urandom(16)
        thread = threading.Thread(target=lambda: elsewhere.extend(time.time_ns() for _ in range(50_000)))
        thread.start()
        thread.join()
    assert len(set(elsewhere)) > 1
    assert (os.urandom, time.time_ns, secrets.token_bytes) == real
    assert time.time_ns() < time.time_ns() or time.time_ns() < time.time_ns()


def test_held_bytes_are_drawn_again_where_they_were_drawn() -> None:
    with conditions() as held:
        held.release()
        first = Retold().report(PLAN, PEOPLE[0].row, PEOPLE[0].label)
        held.hold(unpack(first).id)
        for _ in range(3):
            held.start()
            again = Retold().report(PLAN, PEOPLE[0].row, PEOPLE[0].label)
            assert unpack(again).id == unpack(first).id
        assert repeat(held, Retold(), PLAN, PEOPLE[0], HEARD[PEOPLE[0].name], ALPHA).same_id


def test_two_surveys_of_an_honest_device_are_independent() -> None:
    case = PEOPLE[0]
    check = two_surveys(PublicClient(), PLAN, case, HEARD[case.name].first(2000), ALPHA, 20)
    assert check.passed, check.found
