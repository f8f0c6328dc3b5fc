"""HTML of receipts, plans, previews and models for notebooks; all text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from html import escape
from typing import Any

MAX_QUESTIONS = 20
_WARNING = (
    "This preview contains the person's true answer, and a notebook stores it with this cell: clear the "
    "output before you save or share the notebook."
)


def table_html(title: str, rows: Iterable[tuple[str, str]]) -> str:
    cells = "".join(
        f'<tr><th style="text-align: left">{escape(name)}</th>'
        f'<td style="text-align: left">{escape(text)}</td></tr>'
        for name, text in rows
    )
    return f"<table><caption>{escape(title)}</caption>{cells}</table>"


def preview_html(text: str) -> str:
    return f"<p><strong>{escape(_WARNING)}</strong></p><pre>{escape(text)}</pre>"


def receipt_html(receipt: Any) -> str:
    rows = [(each.name, value) for each in fields(receipt) if (value := getattr(receipt, each.name))]
    return table_html(
        "rehearsal" if receipt.rehearsal else "receipt", [(name, _text(value)) for name, value in rows]
    )


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return "; ".join(": ".join(each) if isinstance(each, tuple) else str(each) for each in value)
    return str(value)


def plan_html(plan: Any) -> str:
    rows = [("epsilon", str(plan.epsilon)), ("digest", plan.digest), ("enrolment", plan.enrolment)]
    if plan.family != plan.id:
        rows.append(("family", plan.family))
    if plan.label.exists:
        rows.append(("label", f"{plan.label.name}: {', '.join(plan.label.values)}"))
    for question in plan.questions[:MAX_QUESTIONS]:
        chance = f"asked with probability {plan.question_probability(question):.1%}"
        rows.append((f"question {question.name}", f"mechanism {question.mechanism.name}, {chance}"))
    if len(plan.questions) > MAX_QUESTIONS:
        rows.append(("questions", f"{len(plan.questions) - MAX_QUESTIONS} more"))
    return table_html(f"survey {plan.id}", rows)
