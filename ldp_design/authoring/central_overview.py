"""Describes a central survey for `ldp-survey check`, as text and for JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from encoders.explain.text import Counted, wrap_text
from encoders.survey import BinnedFeature, CategoricalFeature, Feature, Survey
from encoders.survey.choices import SEPARATOR, Choices
from encoders.text_table import format_table
from ldp_design.authoring.overview import SurveyWarning


def format_central_overview(survey: Survey) -> str:
    """Return the columns that the rows need, what else a curator states, and warnings."""
    rows = [(f"{name} (label)", ", ".join(survey.label.values), "refused") for name in survey.label.names]
    for entry in survey.entries:
        missing = "one more value" if entry.missing == "category" else "refused"
        rows.append((entry.name, _describe_values(entry), missing))
    lines = [f"{survey.id}: a survey for a curator, {Counted(len(survey.features), 'feature')}", ""]
    lines += [*format_table([("column of the rows", "values", "an empty cell"), *rows], "<<<"), ""]
    sentences = ["The rows are a CSV file with these columns; other columns are ignored."]
    if survey.users:
        sentences.append(f"{survey.users:,} in [survey] users is taken for a public number of rows.")
    purpose = "train" if survey.label.exists else "estimate"
    sentences.append("This file is public too, so write it from what is public, not from the rows.")
    sentences.append(f"To {purpose}:")
    lines += wrap_text(" ".join(sentences))
    lines += ["  ldp-central train SURVEY.toml ROWS.csv --epsilon 1 -o model.json", ""]
    return "\n".join([*lines, *(f"warning: {each.message}" for each in find_central_warnings(survey))])


def describe_central_survey(survey: Survey) -> dict[str, Any]:
    """Return the facts of a central survey for JSON."""
    return {
        "id": survey.id,
        "kind": survey.kind,
        **({"label": survey.label.name} if survey.label.exists else {}),
        "features": [each.name for each in survey.features],
        "users": survey.users,
    }


def find_central_warnings(survey: Survey) -> Iterator[SurveyWarning]:
    """Yield warnings about settings that are allowed, but cost accuracy."""
    if not survey.users and survey.label.exists:
        text = "without users a training spends 2% of its epsilon on a noisy number of rows"
        yield SurveyWarning(("survey", "users"), f"{text}: state it if it was public before")
    for entry in (survey.label, *survey.features):
        if "other" in getattr(entry, "values", ()):
            path = ("label",) if entry is survey.label else ("features", entry.name)
            text = 'each value costs accuracy: delete "other" if no row can have it'
            yield SurveyWarning(path, f"{entry.name}: {text}")


def _describe_values(entry: Feature) -> str:
    if isinstance(entry, Choices):
        return f"any of {', '.join(entry.values)}, separated by {SEPARATOR!r}"
    if isinstance(entry, CategoricalFeature):
        return ", ".join(entry.values)
    if isinstance(entry, BinnedFeature):
        return f"{len(entry.edges) - 1} bins from {entry.edges[0]} to {entry.edges[-1]}"
    return f"number from {entry.low} to {entry.high}"
