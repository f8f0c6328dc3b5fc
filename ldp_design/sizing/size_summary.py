"""Prints sizes: margins, accuracy and remedies of one, or a comparison of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from encoders.explain.text import wrap_text
from encoders.survey.decimals import decimal_text
from encoders.text_table import format_table
from ldp_aggregator.wording.statement import Statement
from ldp_design.sizing.silo_size import SiloSize
from ldp_design.sizing.size_facts import (
    TEXTS,
    Cell,
    SizeFacts,
    build_accuracy_table,
    build_comparison,
    build_silo_comparison,
    describe_silo_size,
    describe_size,
    list_margins,
    list_narrower_ranges,
    list_table_costs,
)
from ldp_design.sizing.survey_size import ExpectedMargins, PeopleNeeded, Size

_NEEDED_HEAD = [
    "epsilon",
    "yes/no questions",
    "without a label",
    "with a label, all people",
    "people of one class",
]
_NEEDED_LEGEND = (
    "Each person answers one question, so more questions need more people. Assumed: half of the people say "
    "yes, and the label has two classes of equal size. A margin is half of a 95% confidence interval: of the "
    "share who say yes among all people, or among the people of one class."
)


def format_size(size: Size) -> str:
    """Return one size as text, at most 100 columns wide unless names are longer."""
    facts = describe_size(size)
    lines = [f"{size.survey.id}: {_write(TEXTS.find('cells.title', facts))}", ""]
    rows = [["", "asked", "reports", *_find_heads(facts)], *_list_rows(size)]
    lines += _format_cells(rows, "<>>" + "<" * (len(rows[0]) - 3))
    lines += ["", *_wrap_section("margins", facts)]
    if size.relay:
        lines += ["", *_wrap_section("relay", facts)]
    for notes in (list_table_costs(size), list_narrower_ranges(size)):
        lines += ["", *_wrap(notes)] if notes else []
    if size.forecasts:
        lines += ["", *_format_cells(build_accuracy_table(size), "<>>>")]
        lines += ["", *_wrap_section("accuracy", facts)]
    lines += ["", *_conclude(facts)]
    if size.remedies and (short := TEXTS.section("insufficient", facts)):
        changes = ", ".join(map(str, short))
        lines += _wrap([TEXTS.find("comparison.insufficient", changes=changes)])
    return "\n".join(lines)


def format_comparison(sizes: Sequence[Size]) -> str:
    """Return a small table that compares several numbers of people."""
    facts = describe_size(sizes[0], is_comparison=True)
    lines = [f"{sizes[0].survey.id}: {_write(TEXTS.find('cells.title', facts))}", ""]
    lines += _format_comparison(build_comparison(sizes))
    lines += ["", *_wrap_section("margins", facts), *_wrap([TEXTS.find("comparison.options", facts)])]
    return "\n".join(lines)


def format_epsilons(sizes: Sequence[Size]) -> str:
    """Return a small table that compares values of epsilon, and possibly numbers of people for each."""
    facts = describe_size(sizes[0], is_comparison=True, by_epsilon=True)
    lines = [f"{sizes[0].survey.id}: {_write(TEXTS.find('cells.title', facts))}", ""]
    epsilons = ["epsilon", *(decimal_text(each.survey.epsilon) for each in sizes)]
    rows = zip(epsilons, build_comparison(sizes), strict=True)
    lines += _format_comparison([[epsilon, *row] for epsilon, row in rows])
    return "\n".join([*lines, "", *_wrap_section("margins", facts)])


def format_silo_sizes(sizes: Sequence[SiloSize]) -> str:
    """Return one size of a silo survey in detail, or a table that compares several."""
    first, is_comparison = sizes[0], len(sizes) > 1
    facts = describe_silo_size(first, is_comparison)
    lines = [f"{first.survey.id}: {_write(TEXTS.find('cells.silo-title', facts))}", ""]
    if is_comparison:
        lines += _format_comparison(build_silo_comparison(sizes))
    else:
        rows = [[name, *estimates] for name, _, _, *estimates in _list_rows(first)]
        lines += _format_cells([["", *_find_heads(facts)], *rows], "<" * len(rows[0]))
    lines += ["", *_wrap_section("silo_margins", facts)]
    return "\n".join([*lines, *([] if is_comparison else ["", *_conclude(facts)])])


def format_questions(found: Sequence[PeopleNeeded], margin: float) -> str:
    """Return a small table of the people that yes/no questions need."""
    rows = [[f"{epsilon:g}", *(f"{each:,}" for each in counts)] for epsilon, *counts in found]
    lines = [f"people needed for margins of at most {100 * margin:.3g}%", ""]
    return "\n".join([*lines, *format_table([_NEEDED_HEAD, *rows], ">>>>>"), "", *wrap_text(_NEEDED_LEGEND)])


def _conclude(facts: SizeFacts) -> Iterator[str]:
    """Yield which features are noise, and which changes would prevent it."""
    yield from _wrap_section("conclusion", facts)
    if facts.remedies and facts.remedies.has_any:
        changes = TEXTS.section("remedies", facts)
        yield from _format_cells([[f"  {each.title}", each] for each in changes], "<<")


def _list_rows(size: ExpectedMargins) -> Iterator[list[Cell]]:
    """Yield the rows of the table of margins: one or two for the label, each feature and each table."""
    for each in list_margins(size):
        estimates = each.columns(bool(size.label_margin))
        yield [each.margin.name, each.asked, each.reports, *estimates]
        if each.missing:
            yield ["", "", "", *("" for _ in estimates[1:]), each.missing]


def _find_heads(facts: SizeFacts) -> list[Cell]:
    overall = [TEXTS.find("cells.all-people")] if facts.label else []
    return [*overall, "", TEXTS.find("cells.typical-estimate", facts)]


def _format_comparison(rows: Sequence[Sequence[Cell]]) -> list[str]:
    return _format_cells(rows, ">" * (len(rows[0]) - 1) + "<")


def _wrap_section(name: str, facts: SizeFacts) -> list[str]:
    return _wrap(TEXTS.section(name, facts))


def _wrap(statements: Sequence[Statement]) -> list[str]:
    return [line for each in statements for line in wrap_text(_write(each))]


def _format_cells(rows: Sequence[Sequence[Cell]], alignment: str) -> list[str]:
    return format_table([list(map(_write, row)) for row in rows], alignment)


def _write(cell: Cell) -> str:
    """Return a text in signs that every terminal shows; names keep theirs."""
    if not isinstance(cell, Statement):
        return str(cell)
    return cell.fill(str, lambda words: words.replace("`", "").replace("±", "+-"))
