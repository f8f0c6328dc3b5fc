"""Describes a survey that silos or a curator answer, for its author, as text and for JSON."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any

from encoders.canonical import decimal_text
from encoders.explain.text import Counted, format_table, wrap_text
from encoders.survey import BinnedFeature, CategoricalFeature, Feature, NumericFeature, Survey
from encoders.survey.compiled_plan import SILO
from encoders.survey.features import SEPARATOR, Choices
from encoders.survey.silo_plan import SiloPlan
from ldp_design.authoring import TEXTS
from ldp_design.authoring.overview import SurveyWarning, describe_texts

# -- surveys of silos -------------------------------------------------------------------------------


def format_silo_overview(plan: SiloPlan) -> str:
    """Return the tables of a message, what the noise means, the warnings and the digest."""
    mechanism = plan.mechanism
    epsilon = decimal_text(plan.epsilon)
    tables = Counted(len(plan.features), "table")
    k = len(plan.label.values)
    by_label, labels = (" x labels", f" x {k}") if plan.label.exists else ("", "")
    head = ["feature", f"values{by_label}", "cells", "standard error of a count"]
    rows = [
        [
            each["feature"],
            f"{each['values']} {'soft cells' if each['soft'] else 'values'}{labels}",
            f"{each['cells']:,}",
            f"{each['standard_error']:,.1f} rows",
        ]
        for each in describe_tables(plan)
    ]
    sentences = (
        f"A silo sends one message of {plan.message_bytes:,} bytes about at most "
        f"{Counted(plan.rows, 'row')}, at most {plan.rows_per_person:,} per person. Each message "
        f"alone is {epsilon}-differentially private: all rows of one person, added or removed, change the "
        f"probability of any message by a factor of at most e^{epsilon}. Every count has exact discrete "
        f"Laplace noise of scale {float(plan.scale):,.6g} rows. The standard errors are those of one "
        f"message; the sum of m messages has sqrt(m) times as much noise. {mechanism.safe_messages:,} "
        "messages always add up within 64 bits."
    )
    lines = [f"{plan.id}: a silo survey, epsilon {epsilon}, {mechanism.cells:,} cells in {tables}", ""]
    lines += [*format_table([head, *rows], "<<>>"), "", *wrap_text(sentences)]
    if plan.by_invitation:
        lines += ["", "by invitation: ldp-collector tokens create prints one token for each message"]
    lines += ["", *(f"warning: {each.message}" for each in find_silo_warnings(plan))]
    return "\n".join([*lines, *describe_texts(plan), f"digest {plan.digest}"])


def describe_silo_plan(plan: SiloPlan) -> dict[str, Any]:
    return {
        "kind": SILO,
        "rows": plan.rows,
        "rows_per_person": plan.rows_per_person,
        "cells": plan.mechanism.cells,
        "message_bytes": plan.message_bytes,
        "noise_scale": float(plan.scale),
        "safe_messages": plan.mechanism.safe_messages,
        "tables": list(describe_tables(plan)),
    }


def describe_tables(plan: SiloPlan) -> Iterator[dict[str, Any]]:
    """Yield each table with its size and the standard error of a count in one message."""
    for feature, table in zip(plan.features, plan.mechanism.tables, strict=True):
        yield {
            "feature": feature.name,
            "values": table.values,
            "soft": isinstance(feature, NumericFeature),
            "cells": table.end - table.start,
            "standard_error": sqrt(table.noise_variance),
        }


def find_silo_warnings(plan: SiloPlan) -> Iterator[SurveyWarning]:
    if not plan.by_invitation:
        text = TEXTS.write("warnings.silo-open", rows=f"{plan.rows:,}")
        yield SurveyWarning(("survey", "enrolment"), text)


# -- surveys for a curator --------------------------------------------------------------------------


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
        yield SurveyWarning(("survey", "users"), TEXTS.write("warnings.curator-users"))
    for entry in (survey.label, *survey.features):
        if "other" in getattr(entry, "values", ()):
            path = ("label",) if entry is survey.label else ("features", entry.name)
            yield SurveyWarning(path, TEXTS.write("warnings.curator-other", entry=entry.name))


def _describe_values(entry: Feature) -> str:
    if isinstance(entry, Choices):
        return f"any of {', '.join(entry.values)}, separated by {SEPARATOR!r}"
    if isinstance(entry, CategoricalFeature):
        return ", ".join(entry.values)
    if isinstance(entry, BinnedFeature):
        return f"{len(entry.edges) - 1} bins from {entry.edges[0]} to {entry.edges[-1]}"
    return f"number from {entry.low} to {entry.high}"
