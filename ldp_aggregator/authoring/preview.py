"""One report, seen through: what is asked, what would be sent, what it could have been.

Nothing is sent and nothing is kept. The steps are those of a device; only the device itself, and the
author at her desk, ever see the true answer beside the report.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from encoders.errors import LdpError
from encoders.mechanisms import SHE
from encoders.randomness import RandomSource
from encoders.report import ID_BYTES, Report, pack
from encoders.survey import CategoricalFeature, Feature, Plan, Question
from ldp_aggregator.authoring.layout import in_words, table
from ldp_aggregator.authoring.overview import chance

SHOWN = 16
"""Possible answers listed; a larger domain shows the likeliest."""


@dataclass(frozen=True)
class Preview:
    """What a device would do with one row.

    Attributes
    ----------
    question : Question
    truth : int
        The true answer, a value of the question's domain; it stays on the device.
    payload, report : bytes
        The randomised answer alone, and as it would travel.
    """

    question: Question
    truth: int
    payload: bytes
    report: bytes


def preview(
    plan: Plan, row: Mapping[str, object], label: object, rng: RandomSource, asked: str | None = None
) -> Preview:
    """Take a device's steps with a row, and send nothing.

    Parameters
    ----------
    plan : Plan
    row : Mapping[str, object]
    label : object
    rng : RandomSource
    asked : str, optional
        Name of the question to look at, in place of a drawn one.

    Raises
    ------
    RowError
        If the row does not fit the survey.
    LdpError
        If there is no such question.
    """
    codes, label_code = plan.encode(row, label)
    question = plan.draw(rng) if asked is None else _find(plan, asked)
    report_id = rng.take(ID_BYTES)
    truth = question.value(codes, label_code)
    payload = question.mechanism.perturb(truth, rng)
    report = pack(Report(bytes.fromhex(plan.digest), question.index, report_id, payload))
    return Preview(question, truth, payload, report)


def made_up_row(plan: Plan, rng: RandomSource) -> dict[str, object]:
    """Make up a row, its label with it, of the survey's own values, each equally likely."""
    row = {feature.name: _made_up(feature, rng) for feature in plan.features}
    return row | {plan.label.name: plan.label.values[_below(len(plan.label.values), rng)]}


def explain(plan: Plan, seen: Preview) -> str:
    """Return the preview in words."""
    return "\n".join([*_asked(plan, seen.question), "", *_sent(seen), "", *_could_have_been(plan, seen)])


def _asked(plan: Plan, asked: Question) -> list[str]:
    rows = [
        [f"  {each.name}", f"{chance(plan, each):.1%}", "<- this one" if each is asked else ""]
        for each in plan.questions
    ]
    return ["One question is asked, drawn before the row is looked at:", *table(rows, "<><")]


def _sent(seen: Preview) -> list[str]:
    question, digits = seen.question, seen.report.hex(" ").split()
    lines = [" ".join(digits[start : start + 24]) for start in range(0, len(digits), 24)]
    count = len(seen.payload)
    last = "byte" if count == 1 else f"{count} bytes"
    return [
        "The true answer, which stays on the device:",
        f"  {in_words(question.meaning(seen.truth))}",
        "",
        f"What would be sent, {len(seen.report)} bytes:",
        *(f"  {line}" for line in lines),
        f"The last {last}: the answer, randomised by {question.mechanism.name}. Decoded:",
        f"  {_said(seen)}",
    ]


def _said(seen: Preview) -> str:
    cells = _cells(seen)
    if isinstance(seen.question.mechanism, SHE):
        return f"a noisy number for each of the {len(cells)} possible answers"
    if sum(cells) == 1:
        return in_words(seen.question.meaning(cells.index(1)))
    return f"yes to {sum(cells)} of the {len(cells)} possible answers"


def _cells(seen: Preview) -> list[int]:
    """Return what the collector would add for each possible answer."""
    payloads = np.frombuffer(seen.payload, np.uint8).reshape(1, -1)
    return [int(cell) for cell in seen.question.mechanism.tally(payloads)]


def _could_have_been(plan: Plan, seen: Preview) -> list[str]:
    chances = seen.question.mechanism.likelihood(seen.payload)
    order = sorted(range(len(chances)), key=lambda value: -chances[value])
    shown = order[:SHOWN] + [value for value in order[SHOWN:] if value == seen.truth]
    rest = [f"  ... and {len(chances) - len(shown)} more"] if len(shown) < len(chances) else []
    ratio, epsilon = float(max(chances) / min(chances)), f"{plan.epsilon.normalize():f}"
    return [
        "What it could have been. For each true answer: what the report says of it, its chance to send just",
        "this report, and what somebody would now believe who had thought all answers equally likely:",
        *_answers(seen, chances, shown),
        *rest,
        f"The highest chance is {ratio:.4f} times the lowest; no report of this survey exceeds",
        f"e^{epsilon} = {math.exp(plan.epsilon):.4f}.",
    ]


def _answers(seen: Preview, chances: Sequence[Fraction], shown: Sequence[int]) -> list[str]:
    cells, total = _cells(seen), sum(chances, Fraction(0))
    rows = [["  true answer", "says", "chance", "belief", ""]]
    for value in shown:
        odds = [f"{float(chances[value]):.4g}", f"{float(chances[value] / total):.1%}"]
        mark = "<- the truth" if value == seen.truth else ""
        rows.append([f"  {in_words(seen.question.meaning(value))}", str(cells[value]), *odds, mark])
    return table(rows, "<>>><")


def _find(plan: Plan, name: str) -> Question:
    for question in plan.questions:
        if question.name == name:
            return question
    known = ", ".join(question.name for question in plan.questions)
    raise LdpError(f"there is no question {name!r}; the survey asks {known}")


def _made_up(feature: Feature, rng: RandomSource) -> object:
    code = _below(feature.size, rng)
    if isinstance(feature, CategoricalFeature):
        return feature.values[code] if code < len(feature.values) else None
    if code == len(feature.edges) - 1:
        return None
    middle = float(feature.edges[code]) / 2 + float(feature.edges[code + 1]) / 2
    return int(middle) if middle.is_integer() else middle


def _below(count: int, rng: RandomSource) -> int:
    return int.from_bytes(rng.take(8), "little") % count
