"""The parts of a document, which :mod:`html`, :mod:`markdown` and :mod:`terminal` write."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from markupsafe import Markup

from ldp_aggregator.render.interval import Axis, Mark, draw_mark
from ldp_aggregator.wording.statement import Statement


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


@dataclass(frozen=True)
class Bullets:
    statements: Sequence[Statement]
    kind: ClassVar[str] = "bullets"


@dataclass(frozen=True)
class Terms:
    statements: Sequence[Statement]
    kind: ClassVar[str] = "terms"


@dataclass(frozen=True)
class Note:
    statement: Statement
    kind: ClassVar[str] = "note"


@dataclass(frozen=True)
class Pointer:
    """A statement that is a link to a section of the document."""

    statement: Statement
    section: str
    kind: ClassVar[str] = "pointer"


@dataclass(frozen=True, kw_only=True)
class EstimateCells:
    """One estimate: a class, a value or a statistic, its picture and the texts of its numbers."""

    name: str
    axis: Axis
    mark: Mark | None
    """What is drawn on the axis; None for an unknown estimate."""
    estimate: str
    interval: str
    simultaneous: str
    short: str
    """The estimate with its margin, for a table with a column for each class."""
    is_known: bool
    marked: bool
    ticks: tuple[str, str, str] | None = None
    """The texts of the row's axis; None if all rows have the axis of the table."""

    @property
    def chart(self) -> Markup:
        return draw_mark(self.axis, self.mark)


@dataclass(frozen=True, kw_only=True)
class EstimateGroup:
    """The estimates of all classes for one value, or those of all people."""

    value: str
    """Empty if the table has one group."""
    marked: bool
    rows: tuple[EstimateCells, ...]


@dataclass(frozen=True, kw_only=True)
class EstimateTable:
    caption: str
    name: str
    """The feature that the caption is about; empty for the label."""
    ticks: tuple[str, str, str] | None
    """The texts of the axis: left, middle, right; None if each row has another axis."""
    groups: tuple[EstimateGroup, ...]
    head: str
    """What the names of the rows are."""
    row_mark: str = ""
    """What a mark on a row means; empty if groups are marked."""
    kind: ClassVar[str] = "estimates"

    @property
    def has_values(self) -> bool:
        return any(group.value for group in self.groups)

    @property
    def marked(self) -> bool:
        return any(group.marked for group in self.groups)


@dataclass(frozen=True, kw_only=True)
class RelevanceRow:
    anchor: str
    name: str
    marked: bool
    chart: Markup
    text: str


@dataclass(frozen=True, kw_only=True)
class RelevanceTable:
    caption: str
    rows: Sequence[RelevanceRow]
    kind: ClassVar[str] = "relevance"


Part = Statement | Bullets | Terms | Note | Pointer | PlainTable | EstimateTable | RelevanceTable


@dataclass(frozen=True, kw_only=True)
class Section:
    id: str
    """The anchor on a page."""
    heading: Statement | str
    marked: bool = False
    """Whether the heading has the mark of distinguishable classes."""
    parts: Sequence[Part | Section] = field(default_factory=tuple)
    kind: ClassVar[str] = "section"
