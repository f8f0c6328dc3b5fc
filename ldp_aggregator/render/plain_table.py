"""A table of texts on any page, see templates/text_table.html."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, kw_only=True)
class PlainTable:
    """A table of texts; the first cell of a row is its heading."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Collection[int] = frozenset()
    """The columns with numbers, which are aligned to the right."""
    shades: Sequence[Sequence[int]] = ()
    """For a heat map: how dark each cell but the first of a row is, from 0 to 5."""
    kind: ClassVar[str] = "table"
