"""Builds the section on what leaves the device: the report of a made-up person, byte by byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgpack

from encoders.explain.plausible import MAX_LISTED_ANSWERS, compute_likelihoods, describe_payload
from encoders.explain.preview import Preview, preview
from encoders.explain.wording import Wording
from encoders.mechanisms.probability_text import choose_unit, percent
from encoders.randomness import FastStream
from encoders.report import ARRAY_OF_FIVE, unpack
from encoders.survey.parse_value import MISSING_TEXT
from ldp_design.authoring.overview import report_bytes
from ldp_design.authoring.sample_row import make_sample_row
from ldp_design.dossier.source import DossierSource
from ldp_design.dossier.statement import Basis, DossierTable, Statement, assumed, computed

_SEED = 1


def build_sample(source: DossierSource) -> dict[str, Any]:
    """Return a made-up person, the report of their device, each of its fields, and who could have sent it."""
    stream = FastStream(_SEED)  # fixed, so that the same survey gives the same page
    row = make_sample_row(source.plan, stream)
    shown = preview(source.plan, row, row[source.plan.row_label.name], stream)
    command = source.dossier_command
    return {
        "statements": _describe_message(source),
        "person": DossierTable(
            caption="A made-up person; these answers are not sent",
            head=("Question", "Answer"),
            rows=[(name, _format_value(value)) for name, value in row.items()],
            basis=Basis.COMPUTED,
            command=command,
        ),
        "randomised": _describe_randomisation(shown, command),
        "fields": DossierTable(
            caption=f"The report: all {len(shown.report)} bytes that are sent, in hexadecimal",
            head=("Bytes", "Field", "Meaning"),
            rows=list(_list_fields(source, shown)),
            basis=Basis.COMPUTED,
            command=command,
        ),
        "likelihoods": _build_likelihoods(shown, command),
        "note": computed(
            "This person and this noise are drawn from a fixed seed, so that the document can be repeated. "
            "The command ldp-survey preview shows another person, with fresh noise.",
            command,
        ),
    }


def _format_value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return MISSING_TEXT if value is None else str(value)


def _describe_message(source: DossierSource) -> list[Statement]:
    lengths = sorted({report_bytes(source.plan, question) for question in source.plan.questions})
    size = f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
    depends = "" if len(lengths) == 1 else " The length depends on the question alone, never on the answer."
    return [
        computed(f"A report has {size} bytes.{depends}", source.check_command),
        assumed(
            "It is the body of one HTTPS request. The method, the path and the headers of the request are "
            "the same for every device."
        ),
    ]


def _describe_randomisation(shown: Preview, command: str) -> list[Statement]:
    question, truth = shown.randomised.question, shown.randomised.truth
    answer = Wording.from_plan(shown.plan).titled_answer(shown.truth)
    return [
        computed(f"The question is: {question.name}.", command),
        computed(
            f"The true answer is: {answer}. It is not sent.",
            command,
        ),
        computed(
            f"The device sends a random answer instead, drawn by the mechanism {question.mechanism.name}: "
            f"{question.mechanism.describe_output(truth)}.",
            command,
        ),
    ]


def _list_fields(source: DossierSource, shown: Preview) -> Iterator[Sequence[str]]:
    """Yield the bytes, the name and the meaning of each field of a report."""
    report, plan = unpack(shown.report), source.plan
    wording = Wording.from_plan(plan)
    question = shown.randomised.question
    version = shown.report[1:2]
    identifier = (
        "the invitation, which the collector counts once"
        if plan.by_invitation
        else "16 random bytes, drawn for this report alone; the collector counts each id once"
    )
    fields = [
        (bytes([ARRAY_OF_FIVE]), "start", "a list of five entries (msgpack)"),
        (version, "version", f"the version of this format, {version[0]}"),
        (
            msgpack.packb(report.plan_digest),
            "plan digest",
            "2 bytes of type and length, then the SHA-256 of this survey's plan; the same for everybody",
        ),
        (
            msgpack.packb(report.question),
            "question",
            f"question {report.question}, counted from 0: {question.name}",
        ),
        (msgpack.packb(report.id), "id", f"2 bytes of type and length, then {identifier}"),
        (
            msgpack.packb(report.payload),
            "randomised answer",
            f"type and length, then: {'; '.join(describe_payload(question, report.payload, wording))}",
        ),
    ]
    assert b"".join(each for each, _, _ in fields) == shown.report
    for data, name, meaning in fields:
        yield data.hex(" "), name, meaning


def _build_likelihoods(shown: Preview, command: str) -> DossierTable:
    question, payload = shown.randomised.question, shown.randomised.payload
    truth, wording = shown.randomised.truth, Wording.from_plan(shown.plan)
    chances = compute_likelihoods(question, payload, truth)
    order = sorted(chances, key=lambda value: -chances[value])
    listed = order[:MAX_LISTED_ANSWERS]
    listed += [value for value in order[MAX_LISTED_ANSWERS:] if value == truth]
    write = choose_unit([chances[value] for value in listed])
    total = sum(chances.values())
    left = len(chances) - len(listed)
    some = "some of the true answers" if left or question.moment else "each possible true answer"
    return DossierTable(
        caption=f"Who could have sent this report: its probability for {some}",
        head=("True answer", "Probability of this report", "Belief in it, if all were equally likely before"),
        rows=[
            (
                wording.answer(question.meaning(value)) + (" (the true one)" if value == truth else ""),
                write(chances[value]),
                percent(chances[value] / total),
            )
            for value in listed
        ],
        basis=Basis.COMPUTED,
        command=command,
        numeric={1, 2},
    )
