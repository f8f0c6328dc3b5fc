"""Builds the sections on the author's statements and on what the survey asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from encoders.survey import CategoricalFeature, Feature, Label, Plan
from encoders.survey.display_texts import DisplayTexts, EntryTexts, display_texts
from encoders.survey.numeric_features import NumericFeature
from encoders.survey.parse_value import MISSING_TEXT
from ldp_aggregator.authoring.overview import find_setting_warnings
from ldp_aggregator.dossier.source import DossierSource
from ldp_aggregator.dossier.statement import Basis, Statement, Table, assumed, computed, declared

NOT_STATED = "Not stated by the author"
ABOUT = {
    "purpose": "Purpose",
    "contact": "Contact",
    "ethics": "Ethics approval",
    "retention": "Retention of counters and models",
}
"""The entries of [about] that a board reads, and their names."""
_MAX_LISTED = 40


def about(plan: Plan) -> dict[str, str]:
    """Return the author's entries of [about]."""
    return dict(plan.texts.about) if plan.texts else {}


def title_of(plan: Plan) -> str:
    """Return the survey's title; its id if it has none."""
    return display_texts(plan).title


def missing_entries(plan: Plan) -> list[str]:
    """Return the names of the entries of [about] that the author left out."""
    stated = about(plan)
    return [name for key, name in ABOUT.items() if key not in stated]


def build_declarations(source: DossierSource) -> list[tuple[str, Statement]]:
    """Return what the author states about the survey, by name."""
    explanation = display_texts(source.plan).help
    more = [("What the survey explains to a person", declared(explanation))] if explanation else []
    return [(name, describe_entry(source, key)) for key, name in ABOUT.items()] + more


def describe_entry(source: DossierSource, key: str) -> Statement:
    """Return an entry of [about], or that the author left it out."""
    text = about(source.plan).get(key)
    return declared(text) if text else computed(f"{NOT_STATED}.", source.dossier_command)


def build_questions(source: DossierSource) -> dict[str, Any]:
    """Return the tables of questions, one per language, and how a device chooses what it reports."""
    plan = source.plan
    languages = list(plan.texts.languages) if plan.texts else []
    return {
        "tables": [_build_table(plan, language) for language in languages or [""]],
        "statements": [*_describe_choice(source), *_describe_computing(source), *_describe_entry(plan)],
        "warnings": [
            computed(_sentence(each.message), source.check_command) for each in find_setting_warnings(plan)
        ],
    }


def _build_table(plan: Plan, language: str) -> Table:
    texts = display_texts(plan, language)
    caption = f"What a person is asked ({language})" if language else "What a person is asked"
    return Table(
        caption=caption,
        head=("Question", "Name in the data", "Possible answers", "If a person does not answer"),
        rows=list(_list_rows(plan, texts)),
        basis=Basis.DECLARED,
        language=language,
    )


def _list_rows(plan: Plan, texts: DisplayTexts) -> Iterator[Sequence[str]]:
    label = plan.row_label
    yield _row(label, texts.label, f"{label.name} (the outcome)", "no report is sent")
    for entry in plan.entries:
        shown = texts.features[entry.name]
        skipped = _describe_missing(shown) if entry.missing == "category" else "no report is sent"
        yield _row(entry, shown, entry.name, skipped)


def _describe_missing(texts: EntryTexts) -> str:
    text = texts.values.get(MISSING_TEXT, MISSING_TEXT)
    named = "" if text == MISSING_TEXT else f" ({text})"
    return f"counts as one more answer{named}"


def _row(entry: Label | Feature, texts: EntryTexts, name: str, skipped: str) -> Sequence[str]:
    title = f"{texts.title} ({texts.help})" if texts.help else texts.title
    return title, name, _describe_answers(entry, texts), skipped


def _describe_answers(entry: Label | Feature, texts: EntryTexts) -> str:
    if isinstance(entry, Label | CategoricalFeature):
        shown = [_describe_value(value, texts.values.get(value, value)) for value in entry.values]
        return _join(shown)
    if isinstance(entry, NumericFeature):
        return f"a number from {entry.low} to {entry.high}"
    bins = entry.texts[: len(entry.edges) - 1]
    return f"a number from {entry.edges[0]} to {entry.edges[-1]}, put into one of these bins: {_join(bins)}"


def _describe_value(value: str, text: str) -> str:
    return text if text.casefold() == value.casefold() else f"{text} ({value})"


def _join(texts: Sequence[str]) -> str:
    more = f"; and {len(texts) - _MAX_LISTED} more" if len(texts) > _MAX_LISTED else ""
    return "; ".join(texts[:_MAX_LISTED]) + more


def _describe_choice(source: DossierSource) -> Iterator[Statement]:
    plan = source.plan
    label, count = plan.label.name, len(plan.questions)
    if count == 1:
        yield computed("Every device answers the same question.", source.check_command)
    else:
        yield computed(f"A device reports about one of {count} questions.", source.check_command)
        yield assumed(
            "The invitation determines which one. Its issuer drew the question at random by public weights."
            if plan.by_invitation
            else "It draws the question at random by public weights, without looking at the answers."
        )
    if source.grouped:
        yield computed(
            "One report contains the answers to several features together, randomised as one answer: "
            f"{'; '.join(source.grouped)}.",
            source.check_command,
        )
    if plan.validation:
        return
    yield computed(
        f"Each question includes the outcome {label}, which section 8 calls the label. The device randomises "
        "both together, as one answer.",
        source.check_command,
    )


def _describe_computing(source: DossierSource) -> Iterator[Statement]:
    plan, command = source.plan, source.check_command
    if plan.validation:
        model = plan.validation
        yield computed(
            f"This survey is a validation round. The device predicts {model.label.name} by a public model, "
            "and reports only whether a prediction is right, randomised as any other answer.",
            command,
        )
    if projection := plan.row_schema.projection:
        inputs = ", ".join(each.name for each in projection.inputs)
        components = ", ".join(each.name for each in projection.components)
        yield computed(
            f"The device combines {inputs} by public weights into {components} before it randomises. It "
            "reports about these, never about a single one of the combined numbers.",
            command,
        )
        yield assumed(
            "The weights were fitted on public rows, or on randomised reports. Epsilon does not cover "
            "private rows from which weights, value lists or ranges were made."
        )


def _describe_entry(plan: Plan) -> Iterator[Statement]:
    if any(not isinstance(each, CategoricalFeature) for each in plan.entries):
        yield assumed(
            "A number outside its range is moved to the end of the range on the device. The application can "
            "show the person which ones; this is not sent."
        )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
