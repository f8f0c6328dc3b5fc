"""Writes the sections of a document as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from ldp_aggregator.findings.finding import Finding
from ldp_aggregator.findings.values import Names
from ldp_aggregator.render.document import Bullets, Note, Notice, Part, Pointer, Section, Terms
from ldp_aggregator.render.text_table import PlainTable

_SIGNS = re.compile(r"([\\`*_{}\[\]()#+!|~])")


def escape_markdown(text: str) -> str:
    """Put a backslash in front of what Markdown interprets; replace what HTML interprets by entities."""
    return escape(_SIGNS.sub(r"\\\1", text), quote=False)


def write_finding(finding: Finding) -> str:
    """Return a finding as Markdown, in which names are escaped."""

    def write(value: object) -> str:
        return escape_markdown(str(value)) if isinstance(value, str | Names) else str(value)

    return finding.fill(write)


def write_document(title: str, sections: Sequence[Section]) -> str:
    """Return a document of sections; pictures of estimates are left out."""
    lines = [f"# {escape_markdown(title)}", ""]
    for section in sections:
        heading = section.heading
        lines += [f"## {write_finding(heading) if isinstance(heading, Finding) else heading}", ""]
        for part in section.parts:
            lines += [*_write_part(part), ""]
    return "\n".join(lines)


def _write_part(part: Part | Section) -> Iterator[str]:
    if isinstance(part, Finding):
        yield write_finding(part)
    elif isinstance(part, Note):
        yield write_finding(part.finding)
    elif isinstance(part, Notice):
        yield f"**{write_finding(part.finding)}**"
    elif isinstance(part, Pointer):
        yield f"**[{write_finding(part.finding)}](#{part.section})**"
    elif isinstance(part, Bullets):
        yield from (f"- {write_finding(each)}" for each in part.findings)
    elif isinstance(part, Terms):
        yield from (f"- **{each.title}**: {write_finding(each)}" for each in part.findings)
    elif isinstance(part, PlainTable):
        yield _write_row(part.head)
        yield (
            "|"
            + "|".join("---:" if index in part.numeric else "---" for index in range(len(part.head)))
            + "|"
        )
        yield from map(_write_row, part.rows)
    else:
        raise TypeError(f"{part.kind} has no form in Markdown")


def _write_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escape_markdown, cells))} |"
