"""The device's protocol: from a row to the bytes of one report; and the check of such bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from encoders.errors import LdpError, Reason, ReportError
from encoders.randomness import RandomSource
from encoders.report import Report, pack, unpack
from encoders.survey.invitation import read_invitation
from encoders.survey.plan import Plan
from encoders.survey.questions import Question
from encoders.survey.report_id import draw_report_id, report_id_prefix


class RandomisedReport(NamedTuple):
    """One randomised answer. Only `report` leaves the device.

    Attributes
    ----------
    question : Question
        The one question that is answered.
    truth : int or tuple of int
        The true answer, as the question's mechanism takes it.
    payload, report : bytes
        The randomised answer alone, and as it travels.
    """

    question: Question
    truth: Any
    payload: bytes
    report: bytes

    def __repr__(self) -> str:
        # a repr ends up in logs: it shows neither the truth nor the report, which would be as good as sent
        return f"RandomisedReport(question={self.question.name!r})"


def randomise(
    plan: Plan,
    row: Mapping[str, object],
    label: object,
    rng: RandomSource,
    question_name: str | None = None,
    token: str | None = None,
) -> RandomisedReport:
    """Draw a question, and answer it by one report.

    Parameters
    ----------
    plan : Plan
    row : Mapping[str, object]
        Every feature of the survey by name; None for a missing value. Other entries are ignored.
    label : object
    rng : RandomSource
        Taken in this order: 8 bytes for the question, 16 for the report id, then the mechanism's.
    question_name : str, optional
        Name of a question to answer in place of a drawn one, without the 8 bytes. Never send such a report:
        the choice of the question may depend on the row.
    token : str, optional
        The invitation, where the survey is answered by invitation. It names the question and is the id, so
        only the mechanism's bytes are taken.

    Raises
    ------
    RowError
        If the row or label does not fit the survey; raised before anything is drawn.
    TokenError
        If the token is none of this survey, or missing, or not asked for; likewise.
    LdpError
        If there is no such question.
    """
    return randomise_coded(plan, plan.encode(row, label), rng, question_name, token)


def randomise_coded(
    plan: Plan,
    coded: tuple[Sequence[int], int],
    rng: RandomSource,
    question_name: str | None = None,
    token: str | None = None,
) -> RandomisedReport:
    """Do the same for a row that :meth:`Plan.encode` has coded; see :func:`randomise`."""
    # 1. every value of the row has been checked and coded, whichever question is drawn
    codes, label_code = coded
    # 2. draw the question and the report's id: by public weights, without looking at the row
    question, report_id = _draw_question(plan, rng, question_name, token)
    # 3. the true answer: the question's features coupled with the label
    truth = question.value(codes, label_code)
    # 4. randomise it under epsilon-local differential privacy: the last line that sees the truth
    payload = question.mechanism.perturb(truth, rng)
    # 5. pack the report
    report = pack(Report(plan.digest_bytes, question.index, report_id, payload))
    return RandomisedReport(question, truth, payload, report)


def read_report(plan: Plan, data: bytes) -> Report:
    """Unpack a report and check that a device which answers this plan could have sent it.

    Raises
    ------
    ReportError
        With the reason ``malformed``, ``too-large``, ``wrong-plan``, ``unknown-question``, ``bad-payload`` or
        ``not-enrolled``: no token has this id, whichever were given out.
    """
    report = unpack(data)
    if report.plan_digest != plan.digest_bytes:
        raise ReportError(Reason.WRONG_PLAN, "the report answers another plan; fetch the survey's plan again")
    if report.question >= len(plan.questions):
        raise ReportError(Reason.UNKNOWN_QUESTION, f"the plan has {len(plan.questions)} questions")
    question = plan.questions[report.question]
    question.mechanism.check(report.payload)
    if not report.id.startswith(report_id_prefix(plan, question)):
        raise ReportError(Reason.NOT_ENROLLED, "no token for this question begins like that")
    return report


def _draw_question(
    plan: Plan, rng: RandomSource, question_name: str | None, token: str | None
) -> tuple[Question, bytes]:
    """Return the question and the report's id: those of the invitation, or drawn."""
    if question_name is None and (invited := read_invitation(plan, token)):
        return invited
    question = plan.draw(rng) if question_name is None else _find_question(plan, question_name)
    return question, draw_report_id(plan, question, rng)


def _find_question(plan: Plan, name: str) -> Question:
    for question in plan.questions:
        if question.name == name:
            return question
    known = "; ".join(question.name for question in plan.questions)
    raise LdpError(f"there is no question {name!r}; the survey asks {known}")
