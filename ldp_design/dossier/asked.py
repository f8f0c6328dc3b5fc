"""The tables of what a survey asks or counts, how a device chooses, and the report of a made-up person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import msgpack

from encoders.explain.plausible import MAX_LISTED_ANSWERS, compute_likelihoods, describe_payload
from encoders.explain.preview import Preview, preview
from encoders.explain.text import Wording
from encoders.mechanisms import DE, OUE, SS, SUE, THE
from encoders.mechanisms.probability_text import choose_unit, percent
from encoders.randomness import FastStream
from encoders.report import ARRAY_OF_FIVE, unpack
from encoders.survey import CategoricalFeature, Feature, Label, Plan
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.display_texts import DisplayText, EntryTexts, display_texts, join_texts
from encoders.survey.features import BinnedFeature, ChoiceFeature, Choices, NumericFeature
from encoders.survey.parse_value import MISSING_TEXT
from encoders.survey.questions import SQUARE, Question
from encoders.survey.waves import NOW
from ldp_aggregator.wording.language import LANGUAGE
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import Counted, localise, quote, write_bins, write_percent
from ldp_design.authoring.overview import longest_report
from ldp_design.authoring.sample_row import format_value, make_sample_row
from ldp_design.dossier.dossier_page import TEXTS, join_names, quote_program
from ldp_design.sizing.size_summary import Cell

# -- what is asked ----------------------------------------------------------------------------------


_MAX_LISTED = 40


def list_asked(plan: AnyPlan, caption: str = "tables.asked") -> list[tuple[Statement, list[Sequence[Cell]]]]:
    """Return a table of what is asked for each language of the texts: its caption and rows."""
    languages = (plan.texts and plan.texts.languages) or [""]
    return [(TEXTS.find(caption, language=each), list(_list_questions(plan, each))) for each in languages]


def _list_questions(plan: AnyPlan, language: str) -> Iterator[Sequence[Cell]]:
    texts, label = display_texts(plan, language), plan.row_label
    required = TEXTS.find("words.required")
    if texts.label:
        name = TEXTS.find("words.main-question", name=label.name)
        yield _write_title(texts.label), name, _describe_answers(label, texts.label), required
    for entry in plan.entries:
        shown = texts.features[entry.name]
        text = shown.values.get(MISSING_TEXT, MISSING_TEXT)
        skipped = TEXTS.find("words.one-more-answer", text="" if text == MISSING_TEXT else text)
        is_optional = entry.missing == "category"
        answers = _describe_answers(entry, shown)
        yield _write_title(shown), entry.name, answers, skipped if is_optional else required


def _write_title(texts: EntryTexts) -> str:
    parts = [texts.title, texts.help]
    return join_texts(f"{texts.title} ({texts.help})", parts) if texts.help else texts.title


def _describe_answers(entry: Label | Feature, texts: EntryTexts) -> Statement:
    if isinstance(entry, Choices):
        choices = _join([texts.values.get(value, value) for value in entry.values])
        return TEXTS.find("words.several-answers", values=choices)
    if isinstance(entry, Label | CategoricalFeature):
        return _join([texts.values.get(value, value) for value in entry.values])
    if isinstance(entry, NumericFeature):
        return TEXTS.find("words.number", low=localise(str(entry.low)), high=localise(str(entry.high)))
    low, high = localise(entry.edges[0]), localise(entry.edges[-1])
    return TEXTS.find("words.bins", low=low, high=high, bins=_join(write_bins(entry.edges)))


def _join(texts: Sequence[str]) -> Statement:
    listed = join_texts("; ".join(texts[:_MAX_LISTED]), texts[:_MAX_LISTED])
    return TEXTS.find("words.values", values=listed, more=max(len(texts) - _MAX_LISTED, 0))


def describe_questions(plan: Plan) -> SimpleNamespace:
    """Return the facts on what a survey asks, and how a device chooses and processes what it reports."""
    topics = dict.fromkeys(each.feature_indices for each in plan.questions if each.feature_indices)
    numbers = dict.fromkeys(
        quote(", ".join(each.name for each in question.asked_features))
        for question in plan.questions
        if question.moment == SQUARE
    )
    levels = [quote(each.asked_features[0].name) for each in plan.questions if each.width > 1]
    alone = [quote(each.name) for each in plan.questions if plan.label.exists and not each.label.exists]
    projection, languages = plan.row_schema.projection, plan.texts.languages if plan.texts else {}
    worded = {name for each in languages.values() for name in each.get("features", {})}
    lengths = [longest_report(plan, question) for question in plan.questions]
    return SimpleNamespace(
        entries=len(plan.entries),
        one_entry=len(plan.entries) == 1,
        series=plan.series.name if plan.series else "",
        waves=Counted(len(plan.waves.list), "wave") if plan.waves else "",
        waves_now=plan.waves is not None and plan.waves.assign == NOW,
        one_question=len(plan.questions) == 1,
        # number of questions or groups of them, of which one is drawn
        topic_count=Counted(len(topics), "question"),
        # the groups of questions that one report answers
        grouped="; ".join(quote(each.name) for each in plan.questions if len(each.feature_indices) > 1),
        # the questions whose reports do not contain the label
        values_alone="; ".join(alone),
        # the features with intervals of several widths
        levels=join_names(dict.fromkeys(levels)),
        main_alone=any(each.kind == "label" for each in plan.questions),
        numbers=join_names(numbers),
        several_numbers=len(numbers) > 1,
        inputs=", ".join(each.name for each in projection.inputs) if projection else "",
        components=", ".join(each.name for each in projection.components) if projection else "",
        has_ranges=any(not isinstance(each, CategoricalFeature) for each in plan.entries),
        # the features without a text in any language
        unworded=", ".join(each.name for each in plan.entries if each.name not in worded),
        shortest=min(lengths),
        longest=max(lengths),
        lengths_differ=min(lengths) < max(lengths),
    )


# -- the report of a made-up person, byte by byte ---------------------------------------------------


_SEED = 1


def describe_sample(plan: Plan) -> SimpleNamespace:
    stream = FastStream(_SEED)  # fixed, so that the same survey gives the same page
    row = make_sample_row(plan, stream)
    first = plan.questions[0].name if plan.asks_all else None  # of the reports that each person sends
    shown = preview(plan, row, row.get(plan.row_label.name), stream, first)
    question, truth = shown.randomised.question, shown.randomised.truth
    chances = compute_likelihoods(question, shown.randomised.payload, truth)
    listed = _choose_answers(chances, truth)
    return SimpleNamespace(
        person=[(quote(name), _write_cell(value, name)) for name, value in row.items()],
        question=quote(question.name),
        answer=_write_answer(plan, shown.truth),
        mechanism=question.mechanism.name,
        report_bytes=len(shown.report),
        fields=list(_list_fields(plan, shown)),
        # whether the table of likelihoods does not have all possible answers
        some_answers=len(chances) > len(listed) or bool(question.moment),
        likelihoods=list(_list_likelihoods(shown, chances, listed)),
    )


def _list_fields(plan: Plan, shown: Preview) -> Iterator[Sequence[Cell]]:
    report, question = unpack(shown.report), shown.randomised.question
    version = shown.report[1:2]
    fields = [
        bytes([ARRAY_OF_FIVE]),
        version,
        *map(msgpack.packb, (report.plan_digest, report.question, report.id, report.payload)),
    ]
    assert b"".join(fields) == shown.report
    meanings = TEXTS.section(
        "fields",
        plan=plan,
        version=version[0],
        number=report.question,
        question=quote(question.name),
        payload=_describe_payload(plan, question, report.payload),
    )
    for data, meaning in zip(fields, meanings, strict=True):
        yield data.hex(" "), meaning.title, meaning


def _describe_payload(plan: Plan, question: Question, payload: bytes) -> str:
    mechanism, wording = question.mechanism, Wording.from_plan(plan, LANGUAGE.get().tag)
    cells = mechanism.contribution(payload)
    if isinstance(mechanism, DE):
        return _write_answer(plan, question.meaning(cells.index(1)))
    if isinstance(mechanism, SS | SUE | OUE | THE):
        return TEXTS.write("words.yes-answers", number=sum(cells), answers=len(cells))
    return quote_program("; ".join(describe_payload(question, payload, wording)))


def _choose_answers(chances: dict[Any, Fraction], truth: object) -> list[Any]:
    order = sorted(chances, key=lambda value: -chances[value])
    left = order[MAX_LISTED_ANSWERS:]
    return order[:MAX_LISTED_ANSWERS] + [value for value in left if value == truth]


def _list_likelihoods(
    shown: Preview, chances: dict[Any, Fraction], listed: Sequence[Any]
) -> Iterator[Sequence[Cell]]:
    """Yield each answer, the probability of the report with it, and how much the report suggests it."""
    question = shown.randomised.question
    write = choose_unit([chances[value] for value in listed])
    total = sum(chances.values())
    for value in listed:
        answer: Cell = _write_answer(shown.plan, question.meaning(value))
        if value == shown.randomised.truth:
            answer = TEXTS.find("words.true-one", answer=answer)
        yield answer, _write_chance(write(chances[value])), _write_chance(percent(chances[value] / total))


# -- what programs say in English, in the language of the page --------------------------------------


def _write_answer(plan: Plan, answer: Mapping[str, str]) -> str:
    """Return an answer with texts of the author, or else in the language of the page."""
    features = {each.name: each for each in plan.features}
    shown = []
    for name, value in answer.items():
        known = {MISSING_TEXT: TEXTS.write("words.no-answer")}
        feature = features.get(name)
        if isinstance(feature, BinnedFeature):
            known |= zip(feature.texts, write_bins(feature.edges), strict=False)
        elif isinstance(feature, ChoiceFeature):
            known |= {each: TEXTS.write(f"words.{each}") for each in ("yes", "no")}
        elif isinstance(feature, NumericFeature) and value not in known:
            number, _, squared = value.partition(" ")
            number = localise(number)
            known[value] = TEXTS.write("words.squared", number=number) if squared else number
        text = quote(name, value)
        shown.append(f"{quote(name)} = {text if isinstance(text, DisplayText) else known.get(value, value)}")
    return ", ".join(shown)


def _write_cell(value: object, name: str) -> str:
    if value is None or value == []:
        return TEXTS.write("words.none-ticked" if value == [] else "words.no-answer")
    if isinstance(value, list):
        return format_value([quote(name, each) for each in value])
    return quote(name, value) if isinstance(value, str) else localise(format_value(value))


def _write_chance(text: str) -> str:
    if not text.startswith("1 in "):
        return write_percent(text.removesuffix("%"))
    return TEXTS.write("words.one-in", number=localise(text.removeprefix("1 in ")))
