"""Renders the result of an audit: as text for a terminal, and as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from encoders.text_table import format_table
from ldp_audit.result import AuditResult

_EXACT_HEAD = ("question", "mechanism", "realised epsilon", "unused share", "payloads enumerated", "")
_BLACK_BOX_HEAD = ("question", "epsilon at least", "detectable up to", "event", "between", "pairs")
_CHECKS_HEAD = ("check", "finding", "")
_EXPLANATION = (
    "Exact: the probability of an output differs between two people by at most the factor e^(realised "
    "epsilon). Black box: a lower bound on epsilon, estimated from the bytes of the messages alone; it must "
    "not exceed the nominal epsilon. Checks: except for the randomised answer and the random id, messages "
    "must be the same for everybody. A correct client fails one audit in a million by chance."
)


def render_text(result: AuditResult) -> str:
    """Return the result as text for a terminal."""
    parts = [_title(result), ""]
    for head, rows in _tables(result):
        parts += [*format_table([head, *rows], "<" * len(head)), ""]
    return "\n".join([*parts, *_conclusions(result)])


def render_html(result: AuditResult) -> str:
    """Return the result as one self-contained page."""
    return _PAGE.format(
        title=escape(_title(result)),
        explanation=escape(_EXPLANATION),
        tables="\n".join(_html_table(head, rows) for head, rows in _tables(result)),
        conclusions="".join(f"<li>{escape(line)}</li>" for line in _conclusions(result)),
    )


def _title(result: AuditResult) -> str:
    plan = result.plan
    return f"{plan.id}: epsilon {plan.epsilon}, {result.trials:,} messages of each person, plan {plan.digest}"


def _conclusions(result: AuditResult) -> list[str]:
    faults = [f"FAULT: {fault}" for fault in result.faults]
    warnings = [f"warning: {warning}" for warning in result.warnings]
    return [*warnings, *(f"note: {note}" for note in result.notes), *(faults or ["passed"])]


def _tables(result: AuditResult) -> list[tuple[Sequence[str], list[Sequence[str]]]]:
    exact = [
        (
            each.question,
            each.mechanism,
            each.realised_epsilon,
            f"{each.unused_share:.1e}",
            str(each.enumerated_payloads or "by factors"),
            _mark(each.passed),
        )
        for each in result.exact
    ]
    black_box = [
        (
            each.question,
            f"{each.leak.epsilon_lower_bound:.4f}",
            f"{each.leak.max_detectable_epsilon:.1f}",
            each.leak.event,
            f"({each.leak.likelier_person}) and ({each.leak.other_person})",
            str(each.pairs),
        )
        for each in result.black_box
    ]
    checks = [(each.name, each.finding, _mark(each.passed)) for each in result.checks]
    return [(_EXACT_HEAD, [*exact]), (_BLACK_BOX_HEAD, [*black_box]), (_CHECKS_HEAD, [*checks])]


def _mark(passed: bool | None) -> str:
    return {True: "ok", False: "FAULT", None: "no decision"}[passed]


def _html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [_html_row("th", head), *(_html_row("td", row) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


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
</style></head>
<body><h1>{title}</h1>
<p>{explanation}</p>
{tables}
<ul>{conclusions}</ul>
</body></html>
"""
