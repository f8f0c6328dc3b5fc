"""Renders the result of an audit: as text for a terminal, and as one HTML page; the words are in texts/."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from textwrap import wrap

from encoders.epsilon_proof import exp_bounds
from encoders.explain.text import format_table
from ldp_aggregator.render.document import PlainTable
from ldp_aggregator.render.html import load_template
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import Count
from ldp_audit.outcomes import ExactResult
from ldp_audit.result import TEXTS, TIMING, AuditResult, BlackBoxResult, Check

_TEXT_WIDTH = 110
_NEGLIGIBLE_SHARE = 1e-12
_FAR_ABOVE_EPSILON = 1.0
"""If the greatest bound exceeds epsilon by less than this, the messages show only the largest leaks."""


@dataclass(frozen=True, kw_only=True)
class ExplainedTable:
    """A table, with the explanation above it and the meanings of its columns below it."""

    explanation: Statement
    table: PlainTable
    columns: Sequence[Statement]


def render_text(result: AuditResult) -> str:
    lines = [str(_describe_audit(result)), ""]
    for each in _list_tables(result):
        lines += [*wrap(str(each.explanation), _TEXT_WIDTH), ""]
        lines += [*format_table([each.table.head, *each.table.rows], "<" * len(each.table.head)), ""]
        for column in each.columns:
            text = f"{column.title}: {column}"
            lines += wrap(text, _TEXT_WIDTH, initial_indent="  ", subsequent_indent="    ")
        lines.append("")
    return "\n".join([*lines, *map(str, _list_conclusions(result))])


def render_html(result: AuditResult) -> str:
    plan = result.plan
    return load_template("ldp_audit", "audit.html").render(
        title=plan.texts.about.get("title") if plan.texts else None,
        survey=plan.id,
        digest=plan.digest,
        audited=_describe_audit(result),
        tables=_list_tables(result),
        conclusions=_list_conclusions(result),
    )


def _describe_audit(result: AuditResult) -> Statement:
    plan, trials = result.plan, Count(result.trials)
    return TEXTS.find(
        "conclusions.audited", survey=plan.id, epsilon=plan.epsilon, trials=trials, digest=plan.digest
    )


def _list_conclusions(result: AuditResult) -> list[Statement]:
    sentences = {"warning": result.warnings, "note": result.notes, "fault": result.faults}
    found = [
        TEXTS.find(f"conclusions.{kind}", sentence=each)
        for kind, several in sentences.items()
        for each in several
    ]
    passed = TEXTS.find(
        "conclusions.passed",
        epsilon=result.epsilon,
        asks_all=result.plan.asks_all,
        together=result.plan.epsilon,
    )
    return [*found, passed] if result.passed else found


def _list_tables(result: AuditResult) -> list[ExplainedTable]:
    epsilon = result.epsilon
    return [
        _explain("exact", ("question", "mechanism"), (_exact_row(each, epsilon) for each in result.exact)),
        _explain(
            "black-box",
            ("question",),
            (_black_box_row(each, epsilon) for each in result.black_box),
            label=result.plan.row_label.exists,
        ),
        ExplainedTable(
            explanation=TEXTS.find("checks.table"),
            table=PlainTable(
                caption=str(TEXTS.find("checks.caption")),
                head=("check", "finding", "result"),
                rows=[(each.name, each.finding, _mark_check(each)) for each in result.checks],
            ),
            columns=[TEXTS.find("checks.p", audits=Count(round(1 / result.alpha)))],
        ),
    ]


def _explain(
    file: str, head: Sequence[str], rows: Iterable[Sequence[str]], **values: object
) -> ExplainedTable:
    """Return a table, whose explanation, caption and columns are in a text file in this order."""
    explanation, caption, *columns = TEXTS.section(file, **values)
    table = PlainTable(
        caption=str(caption), head=(*head, *(each.title for each in columns), "result"), rows=list(rows)
    )
    return ExplainedTable(explanation=explanation, table=table, columns=columns)


def _exact_row(each: ExactResult, epsilon: Decimal) -> Sequence[str]:
    spent = TEXTS.find(
        "marks.spent",
        epsilon=epsilon,
        realised=each.realised_epsilon,
        is_above=each.ratio > exp_bounds(epsilon)[0],
        is_close=Decimal(each.realised_epsilon) >= epsilon,
        passed=each.passed,
    )
    return (
        each.question,
        each.mechanism,
        str(spent),
        "below 1e-12" if abs(each.unused_share) < _NEGLIGIBLE_SHARE else f"{each.unused_share:.1e}",
        str(each.enumerated_payloads or "by factors"),
        "ok" if each.passed else "FAULT",
    )


def _black_box_row(each: BlackBoxResult, epsilon: Decimal) -> Sequence[str]:
    mark = TEXTS.find(
        "marks.bound",
        is_exceeded=each.exceeds(epsilon),
        is_detectable=each.can_exceed(epsilon),
        is_sensitive=each.leak.max_detectable_epsilon >= float(epsilon) + _FAR_ABOVE_EPSILON,
    )
    return (
        each.question,
        f"{each.leak.epsilon_lower_bound:.4f}",
        f"{each.leak.max_detectable_epsilon:.1f}",
        each.leak.event,
        f"({each.leak.likelier_person}) and ({each.leak.other_person})",
        str(each.pairs),
        str(mark),
    )


def _mark_check(check: Check) -> str:
    is_decided, is_timing = check.passed is not None, check.layer == TIMING
    return str(
        TEXTS.find("marks.check", has_passed=bool(check.passed), is_decided=is_decided, is_timing=is_timing)
    )
