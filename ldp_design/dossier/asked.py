"""The tables of what a survey asks or counts, one for each language, and how a device chooses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from encoders.explain.text import Counted
from encoders.survey import CategoricalFeature, Feature, Label, Plan
from encoders.survey.choices import Choices
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.display_texts import EntryTexts, display_texts, join_texts
from encoders.survey.numeric_features import NumericFeature
from encoders.survey.parse_value import MISSING_TEXT
from ldp_aggregator.statements.finding import Finding
from ldp_design.dossier.facts import TEXTS
from ldp_design.sizing.size_facts import Cell, Facts

_MAX_LISTED = 40


def list_languages(plan: AnyPlan) -> list[str]:
    """Return the languages of the texts of a survey; "" alone if it has none."""
    return list(plan.texts.languages) if plan.texts and plan.texts.languages else [""]


def list_questions(plan: AnyPlan, language: str) -> Iterator[Sequence[Cell]]:
    """Yield the label and each feature, in a language of the survey's texts: the rows of a table."""
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


def _describe_answers(entry: Label | Feature, texts: EntryTexts) -> Finding:
    if isinstance(entry, Choices):
        choices = _join([_write_value(value, texts.values.get(value, value)) for value in entry.values])
        return TEXTS.find("words.several-answers", values=choices)
    if isinstance(entry, Label | CategoricalFeature):
        return _join([_write_value(value, texts.values.get(value, value)) for value in entry.values])
    if isinstance(entry, NumericFeature):
        return TEXTS.find("words.number", low=str(entry.low), high=str(entry.high))
    bins = _join(entry.texts[: len(entry.edges) - 1])
    return TEXTS.find("words.bins", low=str(entry.edges[0]), high=str(entry.edges[-1]), bins=bins)


def _write_value(value: str, text: str) -> str:
    return text if text.casefold() == value.casefold() else join_texts(f"{text} ({value})", [text])


def _join(texts: Sequence[str]) -> Finding:
    listed = join_texts("; ".join(texts[:_MAX_LISTED]), texts[:_MAX_LISTED])
    return TEXTS.find("words.values", values=listed, more=max(len(texts) - _MAX_LISTED, 0))


def describe_choice(plan: Plan) -> Facts:
    """Return the facts on how a device chooses what it reports, and what it computes before."""
    topics = dict.fromkeys(each.feature_indices for each in plan.questions if each.feature_indices)
    numbers = dict.fromkeys(
        ", ".join(each.name for each in question.asked_features)
        for question in plan.questions
        if question.moment
    )
    projection = plan.row_schema.projection
    return {
        "one_question": len(plan.questions) == 1,
        "grouped": "; ".join(each.name for each in plan.questions if len(each.feature_indices) > 1),
        "values_alone": "; ".join(
            each.name for each in plan.questions if plan.label.exists and not each.label.exists
        ),
        "levels": " and ".join(
            dict.fromkeys(
                plan.features[each.feature_indices[0]].name for each in plan.questions if each.width > 1
            )
        ),
        "topic_count": Counted(len(topics), "question"),
        "main_alone": any(each.kind == "label" for each in plan.questions),
        "numbers": " and ".join(numbers),
        "several_numbers": len(numbers) > 1,
        "validation": bool(plan.validation),
        "predicted": plan.validation.label.name if plan.validation else "",
        "inputs": ", ".join(each.name for each in projection.inputs) if projection else "",
        "components": ", ".join(each.name for each in projection.components) if projection else "",
        "has_ranges": any(not isinstance(each, CategoricalFeature) for each in plan.entries),
    }
