"""Explains one report to a person: what is asked, what would be sent, and which true answers it fits.

Nothing is sent and nothing is stored. A preview takes the same steps as a report. Only the device, and an
author at their desk, see the true answer beside the report. A report that waits to be sent is explained
without the row, which is not stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from encoders.explain.plausible import describe_likelihoods, describe_payload
from encoders.explain.text import format_answer, wrap_text
from encoders.randomness import RandomSource
from encoders.survey.plan import Plan
from encoders.survey.questions import Question
from encoders.survey.randomise import RandomisedReport, randomise, read_report
from encoders.text_table import format_table


@dataclass(frozen=True)
class Preview:
    """What a device would do with one row. `str` explains it; `repr` does not show the truth.

    Attributes
    ----------
    plan : Plan
    randomised : RandomisedReport
        The question itself, and the true answer as its mechanism takes it.
    clipped : tuple of str
        What of the row is beyond its public bounds, see :meth:`encoders.survey.Plan.clipped_names`.
    """

    plan: Plan = field(repr=False)
    randomised: RandomisedReport
    clipped: tuple[str, ...] = field(default=(), repr=False)

    @property
    def question(self) -> str:
        """Name of the question that is asked."""
        return self.randomised.question.name

    @property
    def truth(self) -> dict[str, str]:
        """The true answer in words, by the names of features and label. It stays on the device."""
        return self.randomised.question.meaning(self.randomised.truth)

    @property
    def report(self) -> bytes:
        """What would be sent."""
        return self.randomised.report

    @property
    def epsilon(self) -> float:
        """What sending it would spend."""
        return float(self.plan.epsilon)

    def __str__(self) -> str:
        return explain(self)


def preview(
    plan: Plan,
    row: Mapping[str, object],
    label: object,
    rng: RandomSource,
    question_name: str | None = None,
    token: str | None = None,
) -> Preview:
    """Take a device's steps with a row, and send nothing.

    Parameters
    ----------
    plan : Plan
    row : Mapping[str, object]
    label : object
    rng : RandomSource
    question_name : str, optional
        Name of the question to look at, in place of a drawn one.
    token : str, optional
        The invitation; without one, a survey by invitation is looked at as if one had been drawn.

    Raises
    ------
    RowError
        If the row does not fit the survey.
    TokenError
        If the token is none of this survey.
    LdpError
        If there is no such question.
    """
    if plan.by_invitation and question_name is None and token is None:
        question_name = plan.draw(rng).name
    return Preview(plan, randomise(plan, row, label, rng, question_name, token), plan.clipped_names(row))


def explain(shown: Preview) -> str:
    """Return a preview in words. It contains the truth, so it is for the person alone."""
    plan, (question, truth, payload, report) = shown.plan, shown.randomised
    clipped = [f"  (clipped to its public range: {', '.join(shown.clipped)})"] if shown.clipped else []
    return _paragraphs(
        _describe_questions(plan, question, "asked", "is"),
        _describe_validation(plan),
        ["The true answer, which stays on the device:", f"  {format_answer(shown.truth)}", *clipped],
        [
            f"What is sent for it is drawn at random, by the mechanism {question.mechanism.name}:",
            *wrap_text(f"{question.mechanism.describe_output(truth)}.", "  "),
        ],
        _describe_bytes(report, "What would be sent") + _describe_randomised_answer(question, payload),
        _describe_invitation(plan),
        describe_likelihoods(plan, question, payload, truth),
    )


def explain_report(plan: Plan, report: bytes) -> str:
    """Return a packed report in words, as anyone can read it who has the plan.

    Raises
    ------
    ReportError
        If no device that answers this plan sends these bytes.
    """
    read = read_report(plan, report)
    question = plan.questions[read.question]
    return _paragraphs(
        _describe_questions(plan, question, "answered", "was"),
        _describe_validation(plan),
        _describe_bytes(report, "The report") + _describe_randomised_answer(question, read.payload),
        _describe_invitation(plan),
        describe_likelihoods(plan, question, read.payload),
    )


def _paragraphs(*parts: list[str]) -> str:
    return "\n\n".join("\n".join(part) for part in parts if part)


def _describe_questions(plan: Plan, asked: Question, done: str, tense: str) -> list[str]:
    if plan.by_invitation:
        how, chances = "the one that the invitation names", ["" for _ in plan.questions]
    else:
        how = f"drawn before the row {tense} looked at"
        chances = [f"{plan.question_probability(each):.1%}" for each in plan.questions]
    rows = [
        [f"  {each.name}", chance, "<- this one" if each is asked else ""]
        for each, chance in zip(plan.questions, chances, strict=True)
    ]
    return [f"One question is {done}, {how}:", *format_table(rows, "<><")]


def _describe_validation(plan: Plan) -> list[str]:
    model = plan.validation
    if not model:
        return []
    used = ", ".join(model.features[place].name for place in model.order)
    return wrap_text(
        "What is asked is whether a model that comes with the survey guesses "
        f"{model.label.name} right from this row: by all of its features, or by the top few alone, in this "
        f"order: {used}. The device does the guessing."
    )


def _describe_invitation(plan: Plan) -> list[str]:
    if not plan.by_invitation:
        return []
    return [
        "The invitation is part of it, and names the question: who knows that it was given to you knows",
        "that this report is yours. The answer in it is as random as without.",
    ]


def _describe_bytes(report: bytes, head: str) -> list[str]:
    digits = report.hex(" ").split()
    lines = [" ".join(digits[start : start + 24]) for start in range(0, len(digits), 24)]
    return [f"{head}, {len(report)} bytes:", *(f"  {line}" for line in lines)]


def _describe_randomised_answer(question: Question, payload: bytes) -> list[str]:
    last = "byte" if len(payload) == 1 else f"{len(payload)} bytes"
    return [
        f"The last {last}: the answer, randomised by {question.mechanism.name}. Decoded:",
        *(f"  {line}" for line in describe_payload(question, payload)),
    ]
