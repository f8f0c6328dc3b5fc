"""The layer of once and afresh: the same bytes on every retry, other bytes from every copy of a process."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection

from encoders.errors import ReportError
from encoders.report import unpack
from encoders.survey import Plan
from ldp_audit.blackbox import at_least, at_most
from ldp_audit.check import FRESHNESS, Check
from ldp_audit.device import Device, Reporting, Sending
from ldp_audit.people import Case

_SECONDS = 60.0


def retries(device: Device, plan: Plan, people: Sequence[Case]) -> Check:
    """Look at all that each person's device posts while the network fails."""
    name = "a retry sends the same bytes, a report of this plan"
    for case in people:
        bodies = device.attempts(plan, case.row, case.label)
        if len(bodies) < 2 or len(set(bodies)) > 1:
            found = f"({case.name}) made {len(bodies)} attempts with {len(set(bodies))} different bodies"
            return Check(FRESHNESS, name, False, found)
        if answer_of(bodies[0], plan) is None:
            return Check(FRESHNESS, name, False, f"({case.name}) posted something else")
    return Check(FRESHNESS, name, True, f"{len(people)} people")


def copies_of(device: Reporting, plan: Plan, case: Case, count: int) -> list[bytes]:
    """Return what forked copies of this process send, each once; nothing where processes do not fork.

    A generator's state is warmed up first, so that a pool read ahead is copied too.
    """
    if not hasattr(os, "fork"):
        return []
    device.report(plan, case.row, case.label)
    return [_from_a_copy(device, plan, case) for _ in range(count)]


def forks(
    plan: Plan, sent: Sequence[bytes], alike: Sequence[bytes], alpha: float, way: str = "reports"
) -> Check:
    """Judge what copies sent: a copied state shows in ids, or in answers that are all the same.

    Parameters
    ----------
    plan : Plan
    sent : sequence of bytes
        See :func:`copies_of`.
    alike : sequence of bytes
        Messages of the same person from one process, to know how often an answer occurs by chance.
    alpha : float
        The chance of finding fault where there is none.
    way : str
        How they were sent.
    """
    name = f"{way}: {len(sent)} forked copies of a process send different ones"
    if not sent:
        return Check(
            FRESHNESS, f"{way}: forked copies of a process", None, "not tested: this system does not fork"
        )
    different = len(set(sent) - {b""})
    answers = {answer_of(message, plan) for message in sent}
    if different == len(sent) and len(answers) == 1:
        answer = answers.pop()
        hits = sum(answer_of(message, plan) == answer for message in alike)
        if at_most(hits, len(alike), alpha / 2) ** (len(sent) - 1) < alpha / 2:
            return Check(FRESHNESS, name, False, "the ids are different, the answers all the same")
    return Check(FRESHNESS, name, different == len(sent), f"{different} of {len(sent)} are different")


def two_surveys(
    device: Sending, plan: Plan, case: Case, alike: Sequence[bytes], alpha: float, devices: int
) -> Check:
    """Check that one device's answers to two surveys are equal no more often than two devices' answers.

    Parameters
    ----------
    device : Sending
    plan : Plan
        A survey that asks nearly always one question. The second survey asks the same under another id.
    case : Case
    alike : sequence of bytes
        Independent messages of the same person.
    alpha : float
        The chance of finding fault where there is none.
    devices : int
    """
    name = "requests: the answers of one device to two surveys are independent"
    second = f"audit-{plan.digest[:16]}"
    plans = (plan, replace(plan, id=second, family=second))
    sent = [device.send(plans, case.row, case.label) for _ in range(devices)]
    if any(len(requests) != len(plans) for requests in sent):
        return Check(FRESHNESS, name, False, "a device that answers two surveys does not send two requests")
    answers = [
        [answer_of(request.body, each) for request, each in zip(requests, plans, strict=True)]
        for requests in sent
    ]
    equal = sum(one == other for one, other in answers)
    others = [answer_of(message, plan) for message in alike]
    pairs = list(zip(others[::2], others[1::2], strict=False))
    by_chance = at_most(sum(one == other for one, other in pairs), len(pairs), alpha / 2)
    found = f"{equal} of {devices} devices give the same answer twice, up to {by_chance:.0%} by chance"
    return Check(FRESHNESS, name, at_least(equal, devices, alpha / 2) <= by_chance, found)


def answer_of(message: bytes, plan: Plan) -> tuple[int, bytes] | None:
    """Return the question and the randomised answer, None of what is no report of the plan."""
    try:
        report = unpack(message)
    except ReportError:
        return None
    return (report.question, report.payload) if report.plan_digest.hex() == plan.digest else None


def _from_a_copy(device: Reporting, plan: Plan, case: Case) -> bytes:
    """Return what a forked child sends, nothing if it sends nothing in time."""
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(there, device, plan, case), daemon=True)
    with warnings.catch_warnings():  # numpy may have started threads, which the child does without
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    there.close()
    try:
        return here.recv_bytes() if here.poll(_SECONDS) else b""
    except EOFError:
        return b""
    finally:
        here.close()
        child.kill()
        child.join()


def _send(end: Connection, device: Reporting, plan: Plan, case: Case) -> None:
    end.send_bytes(device.report(plan, case.row, case.label))
    end.close()
