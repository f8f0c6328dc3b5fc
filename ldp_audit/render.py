"""An audit for people: as text for a terminal, and as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from encoders.text_table import format_table
from ldp_audit.audit import Audit

_EXACT = ("question", "mechanism", "realised epsilon", "loss", "outputs enumerated", "")
_MEASURED = ("question", "epsilon at least", "could tell up to", "told by", "between", "pairs")
_CHECKS = ("what should hold", "found", "")
_MEANING = (
    "Exact: no two people's probabilities of any output differ by more than e^(realised epsilon). Black box: "
    "a lower bound on epsilon from the bytes alone, which must not exceed the nominal one. The rest must "
    "tell nothing. By chance, a sound client fails one run in a million."
)


def as_text(audit: Audit) -> str:
    """Return the audit as text."""
    parts = [_title(audit), ""]
    for head, rows in _tables(audit):
        parts += [*format_table([head, *rows], "<" * len(head)), ""]
    return "\n".join([*parts, *_verdict(audit)])


def as_html(audit: Audit) -> str:
    """Return the audit as one self-contained page."""
    tables = "\n".join(_table(head, rows) for head, rows in _tables(audit))
    verdict = "".join(f"<li>{escape(line)}</li>" for line in _verdict(audit))
    return _PAGE.format(title=escape(_title(audit)), meaning=escape(_MEANING), tables=tables, verdict=verdict)


def _title(audit: Audit) -> str:
    plan = audit.plan
    return f"{plan.id}: epsilon {plan.epsilon}, {audit.trials:,} messages of each person, plan {plan.digest}"


def _verdict(audit: Audit) -> list[str]:
    verdict = [f"FAULT: {fault}" for fault in audit.faults] or ["passed"]
    warnings = [f"warning: {warning}" for warning in audit.warnings]
    return [*warnings, *(f"note: {note}" for note in audit.notes), *verdict]


def _tables(audit: Audit) -> list[tuple[Sequence[str], list[Sequence[str]]]]:
    exact = [
        (e.question, e.mechanism, e.realised, f"{e.loss:.1e}", _count(e.enumerated), _mark(e.passed))
        for e in audit.exact
    ]
    measured = [
        (
            each.question,
            f"{each.leak.bound:.4f}",
            f"{each.leak.ceiling:.1f}",
            each.leak.event,
            f"({each.leak.likelier}) and ({each.leak.other})",
            str(each.pairs),
        )
        for each in audit.measured
    ]
    checks = [(each.name, each.found, _mark(each.passed)) for each in audit.checks]
    return [(_EXACT, [*exact]), (_MEASURED, [*measured]), (_CHECKS, [*checks])]


def _count(enumerated: int) -> str:
    return str(enumerated) if enumerated else "by factors"


def _mark(passed: bool | None) -> str:
    return {True: "ok", False: "FAULT", None: "told, not judged"}[passed]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [_row("th", head), *(_row("td", row) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def _row(tag: str, cells: Sequence[str]) -> str:
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
<p>{meaning}</p>
{tables}
<ul>{verdict}</ul>
</body></html>
"""
