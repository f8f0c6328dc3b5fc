"""Makes sections with the headings of headings.md."""

from __future__ import annotations

from collections.abc import Sequence

from ldp_aggregator.findings.words import TEXTS
from ldp_aggregator.render.document import Part, Section


def make_section(name: str, parts: Sequence[Part | Section], **values: object) -> Section:
    """Return a section with the heading of this name; `values` fill the heading."""
    return Section(id=name, heading=TEXTS.find(f"headings.{name}", **values), parts=parts)
