"""Builds the sections on the author's statements and on what the survey asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from encoders.survey import CategoricalFeature, Feature, Label, Plan
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.display_texts import DisplayTexts, EntryTexts, display_texts
from encoders.survey.numeric_features import NumericFeature
from encoders.survey.parse_value import MISSING_TEXT
from ldp_design.dossier.source import DossierSource, PlanSource
from ldp_design.dossier.statement import Basis, DossierTable, Statement, assumed, computed, declared

NOT_STATED = "Not stated by the author"
ABOUT = {
    "purpose": "Purpose",
    "contact": "Contact",
    "ethics": "Ethics approval",
    "retention": "How long data are kept",
}
"""The entries of [about] that a board reads, and their names."""
_MAX_LISTED = 40


def about(plan: AnyPlan) -> dict[str, str]:
    """Return the author's entries of [about]."""
    return dict(plan.texts.about) if plan.texts else {}


def title_of(plan: AnyPlan) -> str:
    """Return the survey's title; its id if it has none."""
    return display_texts(plan).title


def missing_entries(plan: AnyPlan) -> list[str]:
    """Return the names of the entries of [about] that the author left out."""
    stated = about(plan)
    return [name for key, name in ABOUT.items() if key not in stated]


def build_declarations(source: PlanSource) -> list[tuple[str, Statement]]:
    """Return what the author states about the survey, by name."""
    explanation = display_texts(source.plan).help
    more = [("What the survey explains to a person", declared(explanation))] if explanation else []
    return [(name, describe_entry(source, key)) for key, name in ABOUT.items()] + more


def describe_entry(source: PlanSource, key: str) -> Statement:
    """Return an entry of [about], or that the author left it out."""
    text = about(source.plan).get(key)
    if not text:
        return computed(f"{NOT_STATED}.", source.dossier_command)
    # people agree to this text, so it can be older than the decision of the board
    return declared(f"According to the author: {text}" if key == "ethics" else text)


def build_questions(source: DossierSource) -> dict[str, Any]:
    """Return the tables of questions, one per language, and how a device chooses what it reports."""
    plan = source.plan
    languages = list(plan.texts.languages) if plan.texts else []
    return {
        "tables": [build_table(plan, language) for language in languages or [""]],
        "statements": [*_describe_choice(source), *_describe_computing(source), *_describe_entry(plan)],
    }


def build_table(plan: AnyPlan, language: str) -> DossierTable:
    """Return the questions with their possible answers, in a language of the survey's texts."""
    texts = display_texts(plan, language)
    caption = f"What a person is asked ({language})" if language else "What a person is asked"
    return DossierTable(
        caption=caption,
        head=("Question", "Name in this document", "Possible answers", "If a person leaves it empty"),
        rows=list(_list_rows(plan, texts)),
        basis=Basis.DECLARED,
        language=language,
        note="The last column follows from the survey file; all others are the author's words.",
    )


def _list_rows(plan: AnyPlan, texts: DisplayTexts) -> Iterator[Sequence[str]]:
    label = plan.row_label
    yield _row(label, texts.label, f"{label.name} (the main question)", "nothing is sent")
    for entry in plan.entries:
        shown = texts.features[entry.name]
        skipped = _describe_missing(shown) if entry.missing == "category" else "nothing is sent"
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
    plan, command = source.plan, source.check_command
    asked = dict.fromkeys(each.feature_indices for each in plan.questions if each.feature_indices)
    yield computed(
        f"{source.main} is the main question. A report always contains the answer to it, together with the "
        "answer to the question that was drawn, randomised as one answer."
        if not plan.validation
        else f"{source.main} is the main question.",
        command,
    )
    if len(plan.questions) == 1:
        yield computed("Every device answers the same question.", command)
    else:
        yield computed(f"A report is about one of {_count_questions(plan, len(asked))}.", command)
        yield assumed(
            "The invitation determines which one. Its issuer drew the question at random, with probabilities "
            "that the survey file states."
            if plan.by_invitation
            else "The device draws it at random, with probabilities that the survey file states, and without "
            "looking at the answers."
        )
    if source.grouped:
        yield computed(
            "One report contains the answers to several questions together, randomised as one answer: "
            f"{'; '.join(source.grouped)}.",
            command,
        )
    yield assumed(
        "A person fills in all questions, whichever is drawn: the device checks all answers before it "
        "randomises one. If an answer that must not be empty is empty, nothing is sent, also if another "
        "question was drawn."
    )


def _count_questions(plan: Plan, topics: int) -> str:
    """Return how many questions can be drawn, and which of them are processed in several ways."""
    groups = (
        " or groups of questions" if any(len(each.feature_indices) > 1 for each in plan.questions) else ""
    )
    names = [f"{topics} question{'' if topics == 1 else 's'}{groups}"]
    if any(each.kind == "label" for each in plan.questions):
        names.append("the main question alone")
    numbers = dict.fromkeys(
        ", ".join(each.name for each in question.asked_features)
        for question in plan.questions
        if question.moment
    )
    each = " each" if len(numbers) > 1 else ""
    verb = "are" if len(numbers) > 1 else "is"
    ways = f"{' and '.join(numbers)} {verb}{each} processed in two ways, of which one is drawn too"
    return " or ".join(names) + (f"; {ways}" if numbers else "")


def _describe_computing(source: DossierSource) -> Iterator[Statement]:
    plan, command = source.plan, source.check_command
    if plan.validation:
        model = plan.validation
        yield computed(
            f"This survey is a validation round. The device predicts \u201c{model.label.name}\u201d by a "
            "public model, and reports only whether a prediction is right, randomised as any other answer.",
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
            "The weights were computed from public data, or from randomised reports. The privacy limit does "
            "not cover private data from which weights, lists of answers or ranges were made."
        )


def _describe_entry(plan: Plan) -> Iterator[Statement]:
    if any(not isinstance(each, CategoricalFeature) for each in plan.entries):
        yield assumed(
            "A number outside its range is moved to the end of the range on the device. The application can "
            "show the person which numbers were moved; this is not sent."
        )
