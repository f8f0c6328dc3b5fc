"""The freshness layer: retries send equal bytes, copies of a process different ones, and no noise repeats.

Noise that is computed from the public report id or from the clock repeats if the report id is the same and
the clock is stopped. Under these conditions payloads must still differ.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context

from encoders.errors import ReportError
from encoders.report import unpack
from encoders.survey import Plan
from encoders.survey.compiled_plan import INDEX_BYTES
from ldp_audit.blackbox import Messages, MessagesByPerson, clopper_pearson_lower, clopper_pearson_upper
from ldp_audit.device import Device, Reporter, RequestDevice
from ldp_audit.people import Person
from ldp_audit.request_capture import FrozenEnvironment, freeze_environment
from ldp_audit.result import FRESHNESS, Check

_FORK_TIMEOUT_SECONDS = 60.0
_REPEATS_BEFORE_TEST = 8
"""Number of equal payloads in a row after which their probability is computed."""
_MAX_REPEATS = 500
"""Largest number of reports of one person; if more are needed to exclude chance, the test decides nothing."""
_REFERENCE_MESSAGES = 5_000


def check_retries(device: Device, plan: Plan, people: Sequence[Person]) -> Check:
    """Check that each person's device posts the same valid report in each attempt while the network fails."""
    name = "a retry sends the same bytes, a report of this plan"
    for person in people:
        bodies = device.attempts(plan, person.row, person.label)
        if len(bodies) < 2 or len(set(bodies)) > 1:
            finding = f"({person.name}) made {len(bodies)} attempts with {len(set(bodies))} different bodies"
            return Check(FRESHNESS, name, False, finding)
        if parse_answer(bodies[0], plan) is None:
            return Check(FRESHNESS, name, False, f"({person.name}) posted no report of this plan")
    return Check(FRESHNESS, name, True, f"{len(people)} people")


def collect_forked_reports(device: Reporter, plan: Plan, person: Person, count: int) -> list[bytes]:
    """Return one report of each forked copy of this process, which has made one before; [] without forks."""
    if not hasattr(os, "fork"):
        return []
    device.report(plan, person.row, person.label)
    return [_report_in_fork(device, plan, person) for _ in range(count)]


def check_forks(
    plan: Plan, sent: Sequence[bytes], reference: Sequence[bytes], alpha: float, way: str = "reports"
) -> Check:
    """Check the reports of forked copies: a copied random state causes equal ids, or all payloads equal.

    `reference` are messages of the same person from one process, which show how often a payload occurs by
    chance. `alpha` is the probability of finding a fault in a client that has none.
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
            return Check(FRESHNESS, name, False, "the ids are different, but all payloads are the same")
    return Check(FRESHNESS, name, different == len(sent), f"{different} of {len(sent)} are different")


def check_two_surveys(
    device: RequestDevice, plan: Plan, person: Person, reference: Sequence[bytes], alpha: float, devices: int
) -> Check:
    """Check that one device's payloads for two surveys are equal no more often than payloads of two devices.

    `plan` nearly always asks one question; the second survey asks the same. For `reference` and `alpha` see
    :func:`check_forks`.
    """
    name = "requests: the payloads of one device for two surveys are independent"
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
    finding = f"{equal} of {devices} devices send the same payload twice, up to {by_chance:.0%} by chance"
    return Check(FRESHNESS, name, clopper_pearson_lower(equal, devices, alpha / 2) <= by_chance, finding)


@dataclass(frozen=True)
class RepeatResult:
    """The reports of one person under the same conditions."""

    person: Person
    repeats: int
    """Number of reports in a row with the same payload; 0 if a payload differed, or if chance explains it."""
    same_id: bool
    decided: bool = True
    """False if chance can explain that many equal payloads, so that the test decides nothing."""


def repeat_for_all(
    device: Reporter, plan: Plan, people: Sequence[Person], messages: MessagesByPerson, alpha: float
) -> list[RepeatResult]:
    """Call :func:`repeat_report` for each person, each with the error probability `alpha`."""
    with freeze_environment() as environment:
        return [
            repeat_report(environment, device, plan, person, messages[person.name], alpha)
            for person in people
        ]


def repeat_report(
    environment: FrozenEnvironment,
    device: Reporter,
    plan: Plan,
    person: Person,
    reference: Messages,
    alpha: float,
) -> RepeatResult:
    """Report under the same conditions until a payload differs, or chance is excluded."""
    environment.release_bytes()
    first = device.report(plan, person.row, person.label)
    answer, report_id = parse_answer(first, plan), _parse_id(first)
    environment.fix_bytes(report_id[INDEX_BYTES:] if plan.by_invitation else report_id)
    same_id, required = True, float(_MAX_REPEATS)
    for repeats in range(2, _MAX_REPEATS + 1):
        environment.start_report()
        message = device.report(plan, person.row, person.label)
        same_id = same_id and _parse_id(message) == report_id
        if parse_answer(message, plan) != answer:
            return RepeatResult(person, 0, same_id)
        if repeats == _REPEATS_BEFORE_TEST:
            sample = reference.first(_REFERENCE_MESSAGES)
            required = _required_repeats([parse_answer(each, plan) == answer for each in sample], alpha)
        if repeats >= required:
            return RepeatResult(person, repeats, same_id)
        if required > _MAX_REPEATS:
            break
    return RepeatResult(person, 0, same_id, decided=False)


def _required_repeats(are_equal: Sequence[bool], alpha: float) -> float:
    """Return the number of equal payloads in a row that excludes chance; `are_equal` compares other pairs."""
    likely = clopper_pearson_upper(sum(are_equal), len(are_equal), alpha / 2)
    return 1 + math.log(alpha / 2) / math.log(likely) if likely < 1 else math.inf


def check_noise_reuse(results: Mapping[str, list[RepeatResult]], way: str) -> Check:
    """Check that the payloads of each person differed under the same conditions."""
    name = f"{way}: answers differ with the same report id at a stopped clock"
    for question, repeated in results.items():
        for each in repeated:
            if each.repeats:
                fixed = "the same id and a stopped clock" if each.same_id else "a stopped clock"
                finding = (
                    f"{question}: ({each.person.name}) sends one payload {each.repeats} times, with {fixed}"
                )
                return Check(FRESHNESS, name, False, finding)
    everyone = [each for repeated in results.values() for each in repeated]
    decided = sum(each.decided for each in everyone)
    finding = f"{decided} people and questions"
    if decided < len(everyone):
        finding = f"{decided} of {len(everyone)} people and questions; for the others, chance is not excluded"
    if not all(each.same_id for each in everyone):
        finding += "; only the clock could be stopped, the id could not be fixed"
    return Check(FRESHNESS, name, True, finding)


def parse_answer(message: bytes, plan: Plan) -> tuple[int, bytes] | None:
    """Return the question and the payload of a report; None if the message is not a report of the plan."""
    try:
        report = unpack(message)
    except ReportError:
        return None
    return (report.question, report.payload) if report.plan_digest.hex() == plan.digest else None


def _parse_id(message: bytes) -> bytes:
    try:
        return unpack(message).id
    except ReportError:
        return b""


def _report_in_fork(device: Reporter, plan: Plan, person: Person) -> bytes:
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(
        target=lambda: sender.send_bytes(device.report(plan, person.row, person.label)), daemon=True
    )
    with warnings.catch_warnings():  # numpy may have started threads, which the child does without
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    sender.close()
    try:
        return receiver.recv_bytes() if receiver.poll(_FORK_TIMEOUT_SECONDS) else b""
    except EOFError:
        return b""
    finally:
        receiver.close()
        child.kill()
        child.join()
