"""Writes the sections of a document for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from encoders.explain.text import Counted, format_table, wrap_text
from ldp_aggregator.render import document
from ldp_aggregator.wording.statement import Statement

MAX_FEATURES = 12
MAX_VALUES = 12
MAX_CLASSES = 6
_WIDTH = 96
"""Largest width of a table of estimates."""
_MAX_NAME = 30
_MAX_CLASS_NAME = 14
_MARK = "*"


def write_document(sections: Sequence[document.Section], how_to_see_all: str) -> str:
    """Return a document of sections; `how_to_see_all` ends the lines that say what was cut."""
    lines: list[str] = []
    for section in sections:
        lines += ["", str(section.heading), *_write_parts(section.parts, how_to_see_all)]
    return "\n".join(lines[1:])


def _write_parts(parts: Sequence[document.Part | document.Section], how_to_see_all: str) -> Iterator[str]:
    for part in parts:
        if isinstance(part, document.Section):
            continue  # below, since only some of many are shown
        yield from _write_part(part, how_to_see_all)
    sections = [part for part in parts if isinstance(part, document.Section)]
    if len(sections) > MAX_FEATURES:  # those whose classes are distinguishable first
        sections.sort(key=lambda section: not section.marked)
    for section in sections[:MAX_FEATURES]:
        for table in section.parts:
            if isinstance(table, document.EstimateTable):
                yield from ("", *_write_part(table, how_to_see_all))
            elif isinstance(table, document.PlainTable):
                lines = _write_part(replace(table, rows=table.rows[:MAX_VALUES]), how_to_see_all)
                heading = str(section.heading)
                colon = "" if heading.endswith("?") else ":"
                yield from ("", f"  {heading}{colon} {table.caption}", *(f"  {line}" for line in lines))
                if len(table.rows) > MAX_VALUES:
                    more = Counted(len(table.rows) - MAX_VALUES, "more row")
                    yield f"    ... and {more}: {how_to_see_all}"
    if len(sections) > MAX_FEATURES:
        more = Counted(len(sections) - MAX_FEATURES, "more feature")
        yield from ("", f"  ... and {more}: {how_to_see_all}")


def _write_part(part: document.Part, how_to_see_all: str) -> Iterator[str]:
    if isinstance(part, Statement):
        yield from wrap_text(str(part), "  ")
    elif isinstance(part, document.Note | document.Pointer):
        yield from wrap_text(str(part.statement), "  ")
    elif isinstance(part, document.Bullets):
        for each in part.statements:
            first, *others = wrap_text(str(each), "    ")
            yield from (f"  - {first.lstrip()}", *others)
    elif isinstance(part, document.Terms):
        for each in part.statements:
            yield from wrap_text(f"{each.title}: {each}", "  ")
    elif isinstance(part, document.PlainTable):
        sides = "".join(">" if index in part.numeric else "<" for index in range(len(part.head)))
        lines = _fit([part.head, *part.rows], sides)
        if part.shades and max(map(len, lines)) > _WIDTH:  # without the intervals of the cells
            rows = ([name, *(cell.partition(" (")[0] for cell in cells)] for name, *cells in part.rows)
            lines = _fit([part.head, *rows], sides)
        yield from (f"  {line}" for line in lines)
    elif isinstance(part, document.EstimateTable):
        write = _write_estimates if part.name and (part.head == "Class" or part.has_values) else _write_rows
        yield from write(part, how_to_see_all)


def _write_rows(table: document.EstimateTable, how_to_see_all: str) -> Iterator[str]:
    rows = [["", "", "", "95% interval", "simultaneous"]]
    for cells in table.groups[0].rows[:MAX_VALUES]:
        mark = _MARK if cells.marked else ""
        rows.append([cells.name, mark, cells.estimate, cells.interval, cells.simultaneous])
    yield from [f"  {_make_title(table)}"] if table.name else []
    yield from (f"  {'  ' if table.name else ''}{line}" for line in _fit(rows, "<<>>>"))
    if len(table.groups[0].rows) > MAX_VALUES:
        more = Counted(len(table.groups[0].rows) - MAX_VALUES, "more value")
        yield f"    ... and {more}: {how_to_see_all}"


def _make_title(table: document.EstimateTable) -> str:
    return f"{table.name}: {table.caption[:1].lower()}{table.caption[1:]}"


def _write_estimates(table: document.EstimateTable, how_to_see_all: str) -> Iterator[str]:
    classes, is_by_class = [cells.name for cells in table.groups[0].rows], table.head == "Class"
    rows = [["", "", *classes[:MAX_CLASSES]]]
    for group in table.groups[:MAX_VALUES]:
        cells = [each.short for each in group.rows[:MAX_CLASSES]]
        rows.append([group.value, _MARK if group.marked else "", *cells])
    sides = "<<" + ">" * (len(rows[0]) - 2)
    lines = _fit(rows, sides, _MAX_CLASS_NAME)
    yield f"  {_make_title(table)}"
    yield from (f"    {line}" for line in lines)
    cut = [
        str(Counted(count - most, *kinds))
        for count, most, kinds in (
            (len(table.groups), MAX_VALUES, ("more value",)),
            (len(classes), MAX_CLASSES, ("more class", "more classes") if is_by_class else ("more column",)),
        )
        if count > most
    ]
    if cut:
        yield f"    ... and {' and '.join(cut)}: {how_to_see_all}"


def _fit(rows: Sequence[Sequence[str]], sides: str, max_head: int = _WIDTH) -> list[str]:
    lines = format_table(rows, sides)
    if max(map(len, lines)) <= _WIDTH:
        return lines
    head, *others = rows
    cut = [[_shorten(name, _MAX_NAME), *cells] for name, *cells in others]
    return format_table([[_shorten(each, max_head) for each in head], *cut], sides)


def _shorten(name: str, limit: int) -> str:
    return name if len(name) <= limit else f"{name[: limit - 3]}..."
