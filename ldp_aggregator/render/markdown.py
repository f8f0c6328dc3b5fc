"""Writes the sections of a document as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from ldp_aggregator.render import document
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import Names

_SIGNS = re.compile(r"([\\`*_{}\[\]()#+!|~])")


def escape_markdown(text: str) -> str:
    """Put a backslash in front of what Markdown interprets; replace what HTML interprets by entities."""
    return escape(_SIGNS.sub(r"\\\1", text), quote=False)


def write_statement(statement: Statement) -> str:

    def write(value: object) -> str:
        return escape_markdown(str(value)) if isinstance(value, str | Names) else str(value)

    return statement.fill(write)


def write_document(title: str, sections: Sequence[document.Section]) -> str:
    lines = [f"# {escape_markdown(title)}", ""]
    for section in sections:
        heading = section.heading
        lines += [f"## {write_statement(heading) if isinstance(heading, Statement) else heading}", ""]
        for part in section.parts:
            if isinstance(part, document.Section):
                lines += [f"### {escape_markdown(str(part.heading))}", ""]
            for each in part.parts if isinstance(part, document.Section) else [part]:
                lines += [*_write_part(each), ""]
    return "\n".join(lines)


def _write_part(part: document.Part | document.Section) -> Iterator[str]:
    if isinstance(part, Statement):
        yield write_statement(part)
    elif isinstance(part, document.Note):
        yield write_statement(part.statement)
    elif isinstance(part, document.Pointer):
        yield f"**[{write_statement(part.statement)}](#{part.section})**"
    elif isinstance(part, document.Bullets):
        yield from (f"- {write_statement(each)}" for each in part.statements)
    elif isinstance(part, document.Terms):
        yield from (f"- **{each.title}**: {write_statement(each)}" for each in part.statements)
    elif isinstance(part, document.EstimateTable):  # of all people: one group
        rows = [(each.name, each.estimate, each.interval, each.simultaneous) for each in part.groups[0].rows]
        head = (part.head, "Estimate", "95% interval", "Simultaneous")
        yield from _write_table(
            document.PlainTable(caption=part.caption, head=head, rows=rows, numeric={1, 2, 3})
        )
    elif isinstance(part, document.PlainTable):
        yield from _write_table(part)
    else:
        raise TypeError(f"{part.kind} has no form in Markdown")


def _write_table(table: document.PlainTable) -> Iterator[str]:
    yield _write_row(table.head)
    sides = ("---:" if index in table.numeric else "---" for index in range(len(table.head)))
    yield f"|{'|'.join(sides)}|"
    yield from map(_write_row, table.rows)


def _write_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escape_markdown, cells))} |"
