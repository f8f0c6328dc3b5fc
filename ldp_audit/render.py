"""Renders the result of an audit: as text for a terminal, and as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from html import escape
from textwrap import wrap

from encoders.epsilon_proof import exp_bounds
from encoders.text_table import format_table
from ldp_audit import legend
from ldp_audit.exact_epsilon import ExactResult
from ldp_audit.result import TIMING, AuditResult, BlackBoxResult, Check

_TEXT_WIDTH = 110
_NEGLIGIBLE_SHARE = 1e-12
_FAR_ABOVE_EPSILON = 1.0
"""If the greatest bound exceeds epsilon by less than this, the messages show only the largest leaks."""


@dataclass(frozen=True, kw_only=True)
class _ExplainedTable:
    """A table, with the explanation above it and the meanings of its columns below it."""

    explanation: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    columns: Mapping[str, str]


def render_text(result: AuditResult) -> str:
    """Return the result as text for a terminal."""
    parts = [_title(result), ""]
    for table in _tables(result):
        parts += [*wrap(table.explanation, _TEXT_WIDTH), ""]
        parts += [*format_table([table.head, *table.rows], "<" * len(table.head)), ""]
        for name, meaning in table.columns.items():
            parts += wrap(f"{name}: {meaning}", _TEXT_WIDTH, initial_indent="  ", subsequent_indent="    ")
        parts.append("")
    return "\n".join([*parts, *_conclusions(result)])


def render_html(result: AuditResult) -> str:
    """Return the result as one self-contained page."""
    return _PAGE.format(
        title=escape(_title(result)),
        tables="\n".join(map(_html_table, _tables(result))),
        conclusions="".join(f"<li>{escape(line)}</li>" for line in _conclusions(result)),
    )


def _title(result: AuditResult) -> str:
    plan = result.plan
    return f"{plan.id}: epsilon {plan.epsilon}, {result.trials:,} messages of each person, plan {plan.digest}"


def _conclusions(result: AuditResult) -> list[str]:
    faults = [f"FAULT: {fault}" for fault in result.faults]
    warnings = [f"warning: {warning}" for warning in result.warnings]
    notes = [f"note: {note}" for note in result.notes]
    return [*warnings, *notes, *(faults or [legend.summarise_pass(result)])]


def _tables(result: AuditResult) -> list[_ExplainedTable]:
    epsilon = result.plan.epsilon
    return [
        _ExplainedTable(
            explanation=legend.EXACT,
            head=("question", "mechanism", *legend.EXACT_COLUMNS, ""),
            rows=[_exact_row(each, epsilon) for each in result.exact],
            columns=legend.EXACT_COLUMNS,
        ),
        _ExplainedTable(
            explanation=legend.BLACK_BOX,
            head=("question", *legend.BLACK_BOX_COLUMNS, ""),
            rows=[_black_box_row(each, epsilon) for each in result.black_box],
            columns=legend.BLACK_BOX_COLUMNS,
        ),
        _ExplainedTable(
            explanation=legend.CHECKS,
            head=("check", "finding", ""),
            rows=[(each.name, each.finding, _mark_check(each)) for each in result.checks],
            columns={"p": legend.explain_p_values(result)},
        ),
    ]


def _exact_row(each: ExactResult, epsilon: Decimal) -> Sequence[str]:
    return (
        each.question,
        each.mechanism,
        _compare_exactly(each, epsilon),
        "below 1e-12" if abs(each.unused_share) < _NEGLIGIBLE_SHARE else f"{each.unused_share:.1e}",
        str(each.enumerated_payloads or "by factors"),
        "ok" if each.passed else "FAULT",
    )


def _compare_exactly(each: ExactResult, epsilon: Decimal) -> str:
    """Return a bound on the realised epsilon that is true without rounding."""
    if each.ratio > exp_bounds(epsilon)[0]:
        return f"> {epsilon} (exact)"
    if not each.passed:
        return f"claimed: <= {each.realised_epsilon}; the enumeration differs"
    is_close = Decimal(each.realised_epsilon) >= epsilon
    return f"<= {epsilon} (exact)" if is_close else f"<= {each.realised_epsilon}"


def _black_box_row(each: BlackBoxResult, epsilon: Decimal) -> Sequence[str]:
    return (
        each.question,
        f"{each.leak.epsilon_lower_bound:.4f}",
        f"{each.leak.max_detectable_epsilon:.1f}",
        each.leak.event,
        f"({each.leak.likelier_person}) and ({each.leak.other_person})",
        str(each.pairs),
        _mark_bound(each, epsilon),
    )


def _mark_bound(each: BlackBoxResult, epsilon: Decimal) -> str:
    if each.exceeds(epsilon):
        return "FAULT"
    if not each.can_exceed(epsilon):
        return "too few messages to show any leak"
    if each.leak.max_detectable_epsilon < float(epsilon) + _FAR_ABOVE_EPSILON:
        return "ok (shows only leaks far above epsilon)"
    return "ok"


def _mark_check(check: Check) -> str:
    if check.passed is None:
        return f"not part of the result; see {legend.TIME_SECTION}" if check.layer == TIMING else "not tested"
    return "ok" if check.passed else "FAULT"


def _html_table(table: _ExplainedTable) -> str:
    lines = [_html_row("th", table.head), *(_html_row("td", row) for row in table.rows)]
    terms = (f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in table.columns.items())
    return f"<p>{escape(table.explanation)}</p>\n<table>{''.join(lines)}</table>\n<dl>{''.join(terms)}</dl>"


def _html_row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


_PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em }}
h1 {{ font-size: 1.2em; overflow-wrap: anywhere }}
table {{ border-collapse: collapse; margin: 1.5em 0 }}
th, td {{ border-bottom: 1px solid #ccc; padding: .2em .8em .2em 0; text-align: left }}
dt {{ font-weight: bold }}
</style></head>
<body><h1>{title}</h1>
{tables}
<ul>{conclusions}</ul>
</body></html>
"""
