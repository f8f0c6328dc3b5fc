"""The whole way from a row to the bytes that leave the device, told once; and what those bytes answer."""

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
    """What a device makes of one row. Only `report` leaves it.

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

    def __repr__(self) -> str:  # ends up in logs: without the truth
        # nor with the report: to log many previews of one row would be to send them
        return f"RandomisedReport(question={self.question.name!r})"


def randomise(
    plan: Plan,
    row: Mapping[str, object],
    label: object,
    rng: RandomSource,
    asked: str | None = None,
    token: str | None = None,
) -> RandomisedReport:
    """Draw a question, and answer it by a report.

    Parameters
    ----------
    plan : Plan
    row : Mapping[str, object]
        Every feature of the survey by name; None for a missing value. Other entries are ignored.
    label : object
    rng : RandomSource
        Taken in this order: 8 bytes for the question, 16 for the report id, then the mechanism's.
    asked : str, optional
        Name of a question to answer in place of a drawn one: to look at, never to send, since who
        chooses the question may tell by that. Nothing is taken for the question then.
    token : str, optional
        The invitation, where the survey is answered by invitation: it names the question, and is the id;
        nothing is taken for either.

    Raises
    ------
    RowError
        If the row or label does not fit the survey; raised before anything is drawn.
    TokenError
        If the token is none of this survey, or missing, or not asked for; likewise.
    LdpError
        If there is no such question.
    """
    return randomise_coded(plan, plan.encode(row, label), rng, asked, token)


def randomise_coded(
    plan: Plan,
    coded: tuple[Sequence[int], int],
    rng: RandomSource,
    asked: str | None = None,
    token: str | None = None,
) -> RandomisedReport:
    """Do the same for a row that :meth:`Plan.encode` has coded: from here on there are only integers."""
    codes, label_code = coded  # all of the row was checked, whatever is asked
    question, report_id = _question(plan, rng, asked, token)
    truth = question.value(codes, label_code)
    payload = question.mechanism.perturb(truth, rng)  # the last line that sees the truth
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


def _question(plan: Plan, rng: RandomSource, asked: str | None, token: str | None) -> tuple[Question, bytes]:
    """Return the question and the report's id: drawn by public weights, not by the row, or invited to."""
    invited = read_invitation(plan, token) if asked is None else None
    if invited:
        return invited
    question = plan.draw(rng) if asked is None else _named(plan, asked)
    return question, draw_report_id(plan, question, rng)


def _named(plan: Plan, name: str) -> Question:
    for question in plan.questions:
        if question.name == name:
            return question
    known = "; ".join(question.name for question in plan.questions)
    raise LdpError(f"there is no question {name!r}; the survey asks {known}")
