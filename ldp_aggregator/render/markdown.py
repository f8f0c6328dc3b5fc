"""Writes findings and names as Markdown."""

from __future__ import annotations

import re
from html import escape

from ldp_aggregator.findings.finding import Finding
from ldp_aggregator.findings.values import Names

_SIGNS = re.compile(r"([\\`*_{}\[\]()#+!|~])")


def escape_markdown(text: str) -> str:
    """Put a backslash in front of what Markdown interprets; replace what HTML interprets by entities."""
    return escape(_SIGNS.sub(r"\\\1", text), quote=False)


def write_finding(finding: Finding) -> str:
    """Return a finding as Markdown, in which names are escaped."""

    def write(value: object) -> str:
        return escape_markdown(str(value)) if isinstance(value, str | Names) else str(value)

    return finding.fill(write)
