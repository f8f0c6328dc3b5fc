"""The report of a made-up person, byte by byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import msgpack

from encoders.explain.plausible import MAX_LISTED_ANSWERS, compute_likelihoods, describe_payload
from encoders.explain.preview import Preview, preview
from encoders.explain.wording import Wording
from encoders.mechanisms.probability_text import choose_unit, percent
from encoders.randomness import FastStream
from encoders.report import ARRAY_OF_FIVE, unpack
from encoders.survey import Plan
from ldp_design.authoring.sample_row import format_value, make_sample_row
from ldp_design.dossier.facts import TEXTS
from ldp_design.sizing.size_facts import Cell, Facts

_SEED = 1


def describe_sample(plan: Plan) -> Facts:
    """Return a made-up person, the report of their device, each of its fields, and who could have sent it."""
    stream = FastStream(_SEED)  # fixed, so that the same survey gives the same page
    row = make_sample_row(plan, stream)
    shown = preview(plan, row, row.get(plan.row_label.name), stream)
    question, truth = shown.randomised.question, shown.randomised.truth
    chances = compute_likelihoods(question, shown.randomised.payload, truth)
    listed = _choose_answers(chances, truth)
    return {
        "person": [(name, format_value(value)) for name, value in row.items()],
        "question": question.name,
        "answer_of_person": Wording.from_plan(plan).titled_answer(shown.truth),
        "mechanism": question.mechanism.name,
        "output": question.mechanism.describe_output(truth),
        "report_bytes": len(shown.report),
        "fields": list(_list_fields(plan, shown)),
        "some_answers": len(chances) > len(listed) or bool(question.moment),
        "likelihoods": list(_list_likelihoods(shown, chances, listed)),
    }


def _list_fields(plan: Plan, shown: Preview) -> Iterator[Sequence[Cell]]:
    """Yield the bytes, the name and the meaning of each field of a report."""
    report, question = unpack(shown.report), shown.randomised.question
    version = shown.report[1:2]
    payload = "; ".join(describe_payload(question, report.payload, Wording.from_plan(plan)))
    fields = [
        bytes([ARRAY_OF_FIVE]),
        version,
        *map(msgpack.packb, (report.plan_digest, report.question, report.id, report.payload)),
    ]
    assert b"".join(fields) == shown.report
    facts = {"invited": plan.by_invitation, "version": version[0], "number": report.question}
    meanings = TEXTS.section("fields", facts | {"question": question.name, "payload": payload})
    for data, meaning in zip(fields, meanings, strict=True):
        yield data.hex(" "), meaning.title, meaning


def _choose_answers(chances: dict[Any, Fraction], truth: object) -> list[Any]:
    """Return the most likely answers, and the true one."""
    order = sorted(chances, key=lambda value: -chances[value])
    left = order[MAX_LISTED_ANSWERS:]
    return order[:MAX_LISTED_ANSWERS] + [value for value in left if value == truth]


def _list_likelihoods(
    shown: Preview, chances: dict[Any, Fraction], listed: Sequence[Any]
) -> Iterator[Sequence[Cell]]:
    """Yield each answer, the probability of the report with it, and how much the report suggests it."""
    question, wording = shown.randomised.question, Wording.from_plan(shown.plan)
    write = choose_unit([chances[value] for value in listed])
    total = sum(chances.values())
    for value in listed:
        answer: Cell = wording.answer(question.meaning(value))
        if value == shown.randomised.truth:
            answer = TEXTS.find("words.true-one", answer=answer)
        yield answer, write(chances[value]), percent(chances[value] / total)
