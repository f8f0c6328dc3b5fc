"""One report, seen through: what is asked, what would be sent, what it could have been.

Nothing is sent and nothing is kept. The steps are those of a device; only the device itself, and the
author at her desk, ever see the true answer beside the report.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from encoders.errors import LdpError
from encoders.mechanisms import SHE, Form, NumericMechanism, numeric_rivals
from encoders.mechanisms.numeric import GRID
from encoders.randomness import RandomSource
from encoders.report import ID_BYTES, Report, pack
from encoders.survey import CategoricalFeature, Feature, NumericFeature, Plan, Question
from encoders.survey.questions import MEAN
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
    truth : int or tuple of int
        The true answer, as the question's mechanism takes it; it stays on the device.
    payload, report : bytes
        The randomised answer alone, and as it would travel.
    clipped : tuple of str
        What of the row is beyond its public bounds, see :meth:`encoders.survey.Plan.clipped`.
    """

    question: Question
    truth: Any
    payload: bytes
    report: bytes
    clipped: tuple[str, ...] = ()


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
    return Preview(question, truth, payload, report, plan.clipped(row))


def made_up_row(plan: Plan, rng: RandomSource) -> dict[str, object]:
    """Make up a row, its label with it, of the survey's own values, each equally likely."""
    row = {feature.name: _made_up(feature, rng) for feature in plan.entries}
    return row | {plan.label.name: plan.label.values[_below(len(plan.label.values), rng)]}


def explain(plan: Plan, seen: Preview) -> str:
    """Return the preview in words."""
    parts = [
        _asked(plan, seen.question),
        _sent(seen),
        _could_have_been(plan, seen),
        _why(plan, seen.question),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


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
        *([f"  (clipped to its public range: {', '.join(seen.clipped)})"] if seen.clipped else []),
        "",
        f"What would be sent, {len(seen.report)} bytes:",
        *(f"  {line}" for line in lines),
        f"The last {last}: the answer, randomised by {question.mechanism.name}. Decoded:",
        f"  {_said(seen)}",
    ]


def _said(seen: Preview) -> str:
    cells = _cells(seen)
    if seen.question.moment:
        listed = " ".join(map(str, cells)) if len(cells) <= SHOWN else "noise"
        return f"adds to {len(cells)} counters: {listed}"
    if isinstance(seen.question.mechanism, SHE):
        return f"a noisy number for each of the {len(cells)} possible answers"
    if sum(cells) == 1:
        return in_words(seen.question.meaning(cells.index(1)))
    return f"yes to {sum(cells)} of the {len(cells)} possible answers"


def _cells(seen: Preview) -> list[int]:
    """Return what the collector would add to each of the question's counters."""
    payloads = np.frombuffer(seen.payload, np.uint8).reshape(1, -1)
    return [int(cell) for cell in seen.question.mechanism.tally(payloads)]


def _could_have_been(plan: Plan, seen: Preview) -> list[str]:
    chances = _chances(seen)
    order = sorted(chances, key=lambda value: -chances[value])
    shown = order[:SHOWN] + [value for value in order[SHOWN:] if value == seen.truth]
    rest = [f"  ... and {len(chances) - len(shown)} more"] if len(shown) < len(chances) else []
    epsilon = f"{plan.epsilon.normalize():f}"
    ratio = float(max(chances.values()) / min(chances.values()))
    every = "each true answer: what the report says of it,"
    if seen.question.moment:
        every = "some true answers, the extremes among them:"
    return [
        f"What it could have been. For {every}",
        "the chance to send just this report, and what somebody would now believe who had thought all of",
        "these equally likely:",
        *_answers(seen, chances, shown),
        *rest,
        f"The highest chance is {ratio:.4f} times the lowest; no report of this survey exceeds",
        f"e^{epsilon} = {math.exp(plan.epsilon):.4f}.",
    ]


def _chances(seen: Preview) -> dict[Any, Fraction]:
    """Return P[payload | value] for every value, or for some numbers: lowest, middle, highest, the truth."""
    mechanism = seen.question.mechanism
    if isinstance(mechanism, NumericMechanism):
        return {value: mechanism.chance(seen.payload, value) for value in _some_numbers(seen, mechanism.form)}
    return dict(enumerate(mechanism.likelihood(seen.payload)))


def _some_numbers(seen: Preview, form: Form) -> list[Any]:
    lowest, k = GRID * (1 + form.low), form.labels
    codes = [lowest, (lowest + 2 * GRID) // 2, 2 * GRID] + [2 * GRID + 1] * all(form.missing)
    values: list[Any] = [code * k + label for label in range(k) for code in codes]
    if seen.question.mechanism.several:
        values = [(value,) * len(form.missing) for value in values]
    return [*values, *([] if seen.truth in values else [seen.truth])]


def _answers(seen: Preview, chances: Mapping[Any, Fraction], shown: Sequence[Any]) -> list[str]:
    cells, total = _cells(seen), sum(chances.values(), Fraction(0))
    rows = [["  true answer", "chance", "belief", ""]]
    for value in shown:
        odds = [f"{float(chances[value]):.4g}", f"{float(chances[value] / total):.1%}"]
        mark = "<- the truth" if value == seen.truth else ""
        rows.append([f"  {in_words(seen.question.meaning(value))}", *odds, mark])
    if not seen.question.moment:  # counters of a question about a number stand for no single answer
        for row, says in zip(rows, ["says", *(str(cells[value]) for value in shown)], strict=True):
            row.insert(1, says)
    return table(rows, "<" + ">" * (len(rows[0]) - 2) + "<")


def _why(plan: Plan, question: Question) -> list[str]:
    """Compare the mechanisms that could ask for a number: what "auto" goes by."""
    if question.moment is None or question.mechanism.several:
        return []
    rivals = numeric_rivals(question.form, plan.epsilon)
    rows = [["  mechanism", "standard error with 1,000 reports", ""]]
    for rival in rivals:
        off = math.sqrt(rival.reference_variance / 1000) * len(plan.label.values)
        mark = "<- this one" if rival.name == question.mechanism.name else ""
        rows.append([f"  {rival.name}", f"{off:.3g}", mark])
    asked = "mean" if question.moment == MEAN else "mean square"
    return [
        f"Why {question.mechanism.name}: how far a class's {asked} is off in closed form, of numbers spread",
        'evenly over [-1, 1] and equally frequent classes. numeric = "auto" takes the first:',
        *table(rows, "<><"),
    ]


def _find(plan: Plan, name: str) -> Question:
    for question in plan.questions:
        if question.name == name:
            return question
    known = ", ".join(question.name for question in plan.questions)
    raise LdpError(f"there is no question {name!r}; the survey asks {known}")


def _made_up(feature: Feature, rng: RandomSource) -> object:
    if isinstance(feature, NumericFeature):
        return float(f"{feature.original(_below(2001, rng) / 1000 - 1):.4g}")
    code = _below(feature.size, rng)
    if isinstance(feature, CategoricalFeature):
        return feature.values[code] if code < len(feature.values) else None
    if code == len(feature.edges) - 1:
        return None
    middle = float(feature.edges[code]) / 2 + float(feature.edges[code + 1]) / 2
    return int(middle) if middle.is_integer() else middle


def _below(count: int, rng: RandomSource) -> int:
    return int.from_bytes(rng.take(8), "little") % count
