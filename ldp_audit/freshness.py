"""The freshness layer: the same bytes on every retry, other bytes from every copy of a process."""

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
from ldp_audit.blackbox import clopper_pearson_lower, clopper_pearson_upper
from ldp_audit.check import FRESHNESS, Check
from ldp_audit.device import Device, Reporter, RequestDevice
from ldp_audit.people import Person

_TIMEOUT_SECONDS = 60.0


def check_retries(device: Device, plan: Plan, people: Sequence[Person]) -> Check:
    """Check all that each person's device posts while the network fails."""
    name = "a retry sends the same bytes, a report of this plan"
    for person in people:
        bodies = device.attempts(plan, person.row, person.label)
        if len(bodies) < 2 or len(set(bodies)) > 1:
            finding = f"({person.name}) made {len(bodies)} attempts with {len(set(bodies))} different bodies"
            return Check(FRESHNESS, name, False, finding)
        if parse_answer(bodies[0], plan) is None:
            return Check(FRESHNESS, name, False, f"({person.name}) posted something else")
    return Check(FRESHNESS, name, True, f"{len(people)} people")


def collect_forked_reports(device: Reporter, plan: Plan, person: Person, count: int) -> list[bytes]:
    """Return one report of each forked copy of this process; none where processes do not fork.

    One report is made before, so that random bytes which a generator read ahead are copied too.
    """
    if not hasattr(os, "fork"):
        return []
    device.report(plan, person.row, person.label)
    return [_report_in_fork(device, plan, person) for _ in range(count)]


def check_forks(
    plan: Plan, sent: Sequence[bytes], reference: Sequence[bytes], alpha: float, way: str = "reports"
) -> Check:
    """Check the reports of forked copies: a copied state shows in ids, or in answers that are all the same.

    Parameters
    ----------
    plan : Plan
    sent : sequence of bytes
        See :func:`collect_forked_reports`.
    reference : sequence of bytes
        Messages of the same person from one process, which show how often an answer occurs by chance.
    alpha : float
        The probability of finding fault where there is none.
    way : str
        The way of reporting.
    """
    name = f"{way}: {len(sent)} forked copies of a process send different ones"
    if not sent:
        return Check(
            FRESHNESS, f"{way}: forked copies of a process", None, "not tested: this system does not fork"
        )
    different = len(set(sent) - {b""})
    answers = {parse_answer(message, plan) for message in sent}
    if different == len(sent) and len(answers) == 1:
        answer = answers.pop()
        hits = sum(parse_answer(message, plan) == answer for message in reference)
        if clopper_pearson_upper(hits, len(reference), alpha / 2) ** (len(sent) - 1) < alpha / 2:
            return Check(FRESHNESS, name, False, "the ids are different, the answers all the same")
    return Check(FRESHNESS, name, different == len(sent), f"{different} of {len(sent)} are different")


def check_two_surveys(
    device: RequestDevice, plan: Plan, person: Person, reference: Sequence[bytes], alpha: float, devices: int
) -> Check:
    """Check that one device's answers to two surveys are equal no more often than two devices' answers.

    Parameters
    ----------
    device : RequestDevice
    plan : Plan
        A survey that asks nearly always one question. The second survey asks the same under another id.
    person : Person
    reference : sequence of bytes
        Independent messages of the same person.
    alpha : float
        The probability of finding fault where there is none.
    devices : int
    """
    name = "requests: the answers of one device to two surveys are independent"
    second = f"audit-{plan.digest[:16]}"
    plans = (plan, replace(plan, id=second, family=second))
    sent = [device.send(plans, person.row, person.label) for _ in range(devices)]
    if any(len(requests) != len(plans) for requests in sent):
        return Check(FRESHNESS, name, False, "a device that answers two surveys does not send two requests")
    answers = [
        [parse_answer(request.body, each) for request, each in zip(requests, plans, strict=True)]
        for requests in sent
    ]
    equal = sum(one == other for one, other in answers)
    others = [parse_answer(message, plan) for message in reference]
    pairs = list(zip(others[::2], others[1::2], strict=False))
    by_chance = clopper_pearson_upper(sum(one == other for one, other in pairs), len(pairs), alpha / 2)
    finding = f"{equal} of {devices} devices give the same answer twice, up to {by_chance:.0%} by chance"
    return Check(FRESHNESS, name, clopper_pearson_lower(equal, devices, alpha / 2) <= by_chance, finding)


def parse_answer(message: bytes, plan: Plan) -> tuple[int, bytes] | None:
    """Return the question and the payload of a report; None if it is no report of the plan."""
    try:
        report = unpack(message)
    except ReportError:
        return None
    return (report.question, report.payload) if report.plan_digest.hex() == plan.digest else None


def _report_in_fork(device: Reporter, plan: Plan, person: Person) -> bytes:
    """Return the report of a forked child, empty if it makes none in time."""
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_send_report, args=(sender, device, plan, person), daemon=True)
    with warnings.catch_warnings():  # numpy may have started threads, which the child does without
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    sender.close()
    try:
        return receiver.recv_bytes() if receiver.poll(_TIMEOUT_SECONDS) else b""
    except EOFError:
        return b""
    finally:
        receiver.close()
        child.kill()
        child.join()


def _send_report(end: Connection, device: Reporter, plan: Plan, person: Person) -> None:
    end.send_bytes(device.report(plan, person.row, person.label))
    end.close()
