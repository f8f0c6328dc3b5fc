"""Describes a plan of silos for its author, as text and for `ldp-survey check --json`."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any

from encoders.explain.text import Counted, wrap_text
from encoders.survey import NumericFeature
from encoders.survey.decimals import decimal_text
from encoders.survey.plan_checks import SILO
from encoders.survey.silo_plan import SiloPlan
from encoders.text_table import format_table
from ldp_design.authoring.overview import SurveyWarning
from ldp_design.authoring.survey_texts import describe_texts


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
    """Return the facts of a plan of silos for JSON."""
    return {
        "id": plan.id,
        "family": plan.family,
        "digest": plan.digest,
        "epsilon": float(plan.epsilon),
        "by_invitation": plan.by_invitation,
        **({"label": plan.label.name} if plan.label.exists else {}),
        "features": [each.name for each in plan.features],
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


def find_silo_warnings(plan: SiloPlan) -> list[SurveyWarning]:
    """Return warnings about settings of a plan that are allowed, but seldom intended."""
    warnings = []
    if not plan.by_invitation:
        text = (
            "anybody who reaches the collector can send messages, and each may pretend to count "
            f'{plan.rows:,} rows: enrolment = "token" admits invited silos only, one message for each token'
        )
        warnings.append(SurveyWarning(("survey", "enrolment"), text))
    return warnings
