"""The device's protocol, from a row to the bytes of one report; and the check of a report against a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from encoders.errors import LdpError, Reason, ReportError
from encoders.randomness import RandomSource
from encoders.report import Report, pack, unpack
from encoders.survey.compiled_plan import AnyPlan, draw_report_id, report_id_prefix
from encoders.survey.invitation import read_invitation
from encoders.survey.plan import Plan
from encoders.survey.questions import Question


class RandomisedReport(NamedTuple):
    """One randomised answer. Only `report` leaves the device."""

    question: Question
    truth: Any
    """The true answer, as an input of the question's mechanism."""
    payload: bytes
    report: bytes
    """The randomised answer alone, and the whole report."""

    def __repr__(self) -> str:
        # logs may contain a repr, so it has neither the true answer nor the report
        return f"RandomisedReport(question={self.question.name!r})"


def randomise(
    plan: Plan,
    row: Mapping[str, object],
    label: object,
    rng: RandomSource,
    question_name: str | None = None,
    token: str | None = None,
    wave: int | None = None,
) -> RandomisedReport:
    """Draw a question, randomise the row's answer to it, and pack one report.

    `row` has every feature by name, None for a missing value; other entries are ignored. 8 bytes of `rng` are
    taken for the question, then 16 for the report id, then those of the mechanism.
    A `question_name` replaces the drawn question, for previews. Never send such a report: the choice may
    depend on the row. A `token` determines question, wave and id. `wave` is the index of the wave, if there
    are any.
    Raises RowError if the row or label does not fit the survey, TokenError if the token is missing, not
    needed, or not a token of this survey, and LdpError if there is no such question; all before anything is
    drawn.
    """
    return randomise_coded(plan, plan.encode(row, label), rng, question_name, token, wave)


def randomise_coded(
    plan: Plan,
    coded: tuple[Sequence[int], int],
    rng: RandomSource,
    question_name: str | None = None,
    token: str | None = None,
    wave: int | None = None,
) -> RandomisedReport:
    """Randomise a row that :meth:`Plan.encode` has coded; see :func:`randomise`."""
    # 1. draw the question and the report's id: by public weights, without looking at the row
    question, report_id = _draw_question(plan, rng, question_name, token, wave)
    return _answer(plan, question, report_id, coded, rng)


def _answer(
    plan: Plan, question: Question, report_id: bytes, coded: tuple[Sequence[int], int], rng: RandomSource
) -> RandomisedReport:
    # 2. every value of the row has been checked and coded, also for other questions
    codes, label_code = coded
    # 3. the true answer: the question's features coupled with the label
    truth = question.value(codes, label_code)
    # 4. randomise it under epsilon-local differential privacy: the last line that reads the true answer
    payload = question.mechanism.perturb(truth, rng)
    # 5. pack the report
    report = pack(Report(plan.digest_bytes, question.index, report_id, payload))
    return RandomisedReport(question, truth, payload, report)


def randomise_all(
    plan: Plan,
    coded: tuple[Sequence[int], int],
    rng: RandomSource,
    token: str | None = None,
    wave: int | None = None,
) -> list[RandomisedReport]:
    """Randomise all that a person sends; each answer takes fresh bytes, 16 for its id at first."""
    if not plan.asks_all:
        return [randomise_coded(plan, coded, rng, token=token, wave=wave)]
    asked = [plan.in_wave(each, wave) for each in plan.questions]
    return [_answer(plan, each, draw_report_id(plan, each, rng), coded, rng) for each in asked]


def read_report(plan: AnyPlan, data: bytes) -> Report:
    """Unpack a report and check that it can be a report for this plan.

    Raises ReportError with the reason ``malformed``, ``too-large``, ``wrong-plan``, ``unknown-question``,
    ``bad-payload`` or ``not-enrolled``: no token for the question can have this id.
    """
    report = unpack(data, plan.max_report_bytes)
    if report.plan_digest != plan.digest_bytes:
        raise ReportError(Reason.WRONG_PLAN, "the report answers another plan: fetch the survey's plan again")
    if report.question >= len(plan.counted_questions):
        why = "the plan has no such question: fetch the survey's plan again"
        raise ReportError(Reason.UNKNOWN_QUESTION, why)
    question = plan.counted_questions[report.question]
    question.mechanism.check(report.payload)
    if not report.id.startswith(report_id_prefix(plan, question)):
        raise ReportError(Reason.NOT_ENROLLED, "no token for this question has this id: use an invitation")
    return report


def _draw_question(
    plan: Plan, rng: RandomSource, question_name: str | None, token: str | None, wave: int | None
) -> tuple[Question, bytes]:
    if question_name is None and (invited := read_invitation(plan, token)):
        return invited
    question = plan.draw(rng) if question_name is None else _find_question(plan, question_name)
    question = plan.in_wave(question, wave)
    return question, draw_report_id(plan, question, rng)


def _find_question(plan: Plan, name: str) -> Question:
    for question in plan.questions:
        if question.name == name:
            return question
    known = "; ".join(question.name for question in plan.questions)
    raise LdpError(f"there is no question {name!r}; the survey asks {known}")
