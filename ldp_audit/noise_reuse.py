"""Check that noise is not reused: with one report id and a stopped clock, answers must still differ.

Noise that is computed from the public report id, or from the clock, repeats under these conditions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from encoders.errors import ReportError
from encoders.report import unpack
from encoders.survey import Plan
from encoders.survey.report_id import INDEX_BYTES
from ldp_audit.blackbox import clopper_pearson_upper
from ldp_audit.check import FRESHNESS, Check
from ldp_audit.device import Reporter
from ldp_audit.freshness import parse_answer
from ldp_audit.frozen_environment import FrozenEnvironment, freeze_environment
from ldp_audit.messages import Messages, MessagesByPerson
from ldp_audit.people import Person

_REPEATS_BEFORE_TEST = 8
"""Equal answers in a row after which their probability is computed."""
_MAX_REPEATS = 500
"""Reports of one person at most; where it takes more to exclude chance, nothing is decided."""
_REFERENCE_MESSAGES = 5_000


@dataclass(frozen=True)
class RepeatResult:
    """The reports of one person under the same conditions.

    Attributes
    ----------
    person : Person
    repeats : int
        So many had the same answer; 0 if an answer differed, or if chance explains it.
    same_id : bool
        Whether all had the same report id.
    decided : bool
        False if chance explains so many equal answers.
    """

    person: Person
    repeats: int
    same_id: bool
    decided: bool = True


def repeat_for_all(
    device: Reporter, plan: Plan, people: Sequence[Person], messages: MessagesByPerson, alpha: float
) -> list[RepeatResult]:
    """Let each person report under the same conditions, see :func:`repeat_report`; alpha is for each."""
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
    """Let a person report under the same conditions until an answer differs, or chance is excluded.

    Parameters
    ----------
    environment : FrozenEnvironment
    device : Reporter
    plan : Plan
    person : Person
    reference : Messages
        Independent messages of the same person, which show how often an answer occurs by chance.
    alpha : float
        The probability of finding repeats where there are none.
    """
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
    """Return how many equal answers in a row exclude chance, given which independent answers are equal."""
    likely = clopper_pearson_upper(sum(are_equal), len(are_equal), alpha / 2)
    return 1 + math.log(alpha / 2) / math.log(likely) if likely < 1 else math.inf


def _parse_id(message: bytes) -> bytes:
    try:
        return unpack(message).id
    except ReportError:
        return b""


def check_noise_reuse(results: Mapping[str, list[RepeatResult]], way: str) -> Check:
    """Check that answers differed under the same conditions.

    Parameters
    ----------
    results : mapping from a question's name to the result of each person
    way : str
        How reports were made.
    """
    name = f"{way}: answers differ with the same report id at a stopped clock"
    for question, repeated in results.items():
        for each in repeated:
            if each.repeats:
                fixed = "the same id and a stopped clock" if each.same_id else "a stopped clock"
                finding = (
                    f"{question}: ({each.person.name}) gives one answer {each.repeats} times, with {fixed}"
                )
                return Check(FRESHNESS, name, False, finding)
    everyone = [each for repeated in results.values() for each in repeated]
    decided = sum(each.decided for each in everyone)
    finding = f"{decided} people and questions"
    if decided < len(everyone):
        finding = f"{decided} of {len(everyone)} people and questions; the others have likely answers"
    if not all(each.same_id for each in everyone):
        finding += "; the id could not be held, only the clock"
    return Check(FRESHNESS, name, True, finding)
