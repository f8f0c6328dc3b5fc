"""Shows sizes as tables and as text: margins, accuracy and remedies of one, or a comparison of several."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import NamedTuple

from encoders.canonical import decimal_text
from encoders.explain.text import format_table, wrap_text
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import (
    Count,
    Number,
    NumberMargin,
    RoundShare,
    Share,
    ShareMargin,
    localise,
)
from ldp_design.sizing.margins import Grade, Margin
from ldp_design.sizing.relay_size import RelaySize
from ldp_design.sizing.series_size import SeriesMargins
from ldp_design.sizing.silo_size import SiloSize
from ldp_design.sizing.size_facts import (
    MAX_NAMES_LENGTH,
    MIN_CHANGE,
    TEXTS,
    describe_silo_size,
    describe_size,
)
from ldp_design.sizing.survey_size import ExpectedMargins, PeopleNeeded, Size

Cell = Statement | str | float
"""A cell of a table: a statement, a name, or a number that states how it is written."""


# -- tables -------------------------------------------------------------------------------------


class MarginCells(NamedTuple):
    """What tables show of a margin."""

    margin: Margin
    asked: Statement
    reports: str
    all_people: Statement
    estimate: Statement
    """A typical estimate: of the people of one class, if there are such estimates, else of all people."""
    missing: Statement | None
    """The margin of the share of missing answers, if they may be missing."""

    @property
    def grade(self) -> str:
        return write_grade(self.margin.grade)

    def columns(self, has_label: bool) -> list[Cell]:
        """Return grade and estimates; if there is a label, of all people and of those of one class."""
        grade = self.grade
        if not has_label:
            return [grade, self.estimate]
        return [self.all_people, grade, "" if self.all_people is self.estimate else self.estimate]


def write_grade(grade: Grade) -> str:
    return TEXTS.write(f"cells.{grade}")


def list_margins(size: ExpectedMargins) -> Iterator[MarginCells]:
    """Yield the rows of tables about the label, each feature and each table of the survey."""
    for margin in size.margins:
        facts = _describe_margin(size, margin)
        asked_alone = margin.kind != "label" or margin.question_probability
        estimate = TEXTS.find("cells.estimate", facts)
        yield MarginCells(
            margin=margin,
            asked=TEXTS.find("cells.asked", facts),
            reports=" + ".join(str(Count(n)) for n in margin.reports) if asked_alone else "-",
            all_people=estimate if margin.overall is None else TEXTS.find("cells.overall", facts),
            estimate=estimate,
            missing=None if margin.missing is None else TEXTS.find("cells.missing", facts),
        )


def _describe_margin(size: ExpectedMargins, margin: Margin) -> SimpleNamespace:
    write = ShareMargin if margin.values else NumberMargin
    return SimpleNamespace(
        label=bool(size.label_margin),
        is_label=margin.kind == "label",
        asked_alone=margin.question_probability > 0,
        asked=Share(margin.question_probability),
        is_share=bool(margin.values),
        is_table=margin.kind == "table",
        has_pilot=bool(size.pilot),
        is_known=math.isfinite(margin.margin),
        is_silo=isinstance(size, SiloSize),
        has_reports=all(margin.reports),
        typical=Share(margin.typical),
        margin=write(margin.margin),
        overall=write(margin.overall or 0),
        overall_is_known=math.isfinite(margin.overall or 0),
        deviation=NumberMargin(math.inf if margin.deviation is None else margin.deviation),
        missing=ShareMargin(margin.missing or 0),
    )


def list_table_costs(size: Size) -> list[Statement]:
    return [
        TEXTS.find(
            "tables.cost",
            table=" x ".join(each.features),
            combinations=Count(each.cells),
            typical=Share(1 / each.cells),
            margin=ShareMargin(each.margin),
            margins=", ".join(f"{name} {ShareMargin(margin)}" for name, margin in each.without.items()),
            others_change=abs((each.other_people or 1) - 1) > MIN_CHANGE,
            other_people=RoundShare(each.other_people or 1),
        )
        for each in size.tables
    ]


def list_narrower_ranges(size: Size) -> list[Statement]:
    """Return what a narrower range gains each number whose spread is stated."""
    now = {each.name: each for each in size.margins}
    return [
        TEXTS.find(
            "ranges.narrower",
            name=each.name,
            spread=NumberMargin(each.typical),
            wide=NumberMargin(now[each.name].unit),
            narrow=NumberMargin(each.unit),
            margin=f"{NumberMargin(each.margin)} ({each.grade})",
            margin_now=f"{NumberMargin(now[each.name].margin)} ({now[each.name].grade})",
        )
        for each in size.narrower_ranges
    ]


def compare_margins(size: ExpectedMargins) -> list[Cell]:
    """Return the margin of the label, the widest shares, and the features that are noise."""
    features, names, label = size.features, ", ".join(size.noise), size.label_margin
    widest = [ShareMargin(max(each.share for each in features)) if features else "-"]
    if label:
        overall = [ShareMargin(max(each.overall_share for each in features)) if features else "-"]
        widest = [ShareMargin(label.margin), *overall, *widest]
    return [
        *widest,
        TEXTS.find(
            "cells.noisy",
            few_names=0 < len(names) < MAX_NAMES_LENGTH,
            noisy=len(size.noise),
            features=len(features),
            names=names,
        ),
    ]


def build_comparison(sizes: Sequence[Size]) -> list[list[Cell]]:
    """Return the head and the rows of the table that compares several numbers of people."""
    rows = [[Count(each.users), *compare_margins(each)] for each in sizes]
    return [_comparison_head(sizes[0], "people"), *rows]


def build_silo_comparison(sizes: Sequence[SiloSize]) -> list[list[Cell]]:
    """Return the head and the rows of the table that compares sizes of a silo survey."""
    rows = [
        [
            localise(decimal_text(each.survey.epsilon)),
            *map(Count, (each.rows, each.silos)),
            *compare_margins(each),
        ]
        for each in sizes
    ]
    return [_comparison_head(sizes[0], "epsilon", "rows", "silos"), *rows]


def _comparison_head(size: Size | SiloSize, *first: str) -> list[Cell]:
    by_label = ("label-margin", "widest-share", "widest-by-label")
    label = size.survey.label
    names = (*(by_label if label.exists else ("widest-share",)), "noise-features")
    shown = (TEXTS.find(f"cells.{name}", label=label.name) for name in names)
    return [*(TEXTS.write(f"cells.{name}") for name in first), *shown]


def build_relay_table(relay: RelaySize) -> list[list[Cell]]:
    """Return the head and the rows of the table that compares ways to keep the promise of a relay."""
    names = ("same-promise", "epsilon", "widest-share", "same-margins")
    rows: list[list[Cell]] = [[TEXTS.find(f"cells.{name}") for name in names]]
    for each in relay.ways:
        users = "-" if each.users is None else Count(each.users)
        name = TEXTS.find(f"cells.ask-{each.ask or 'without'}")
        rows.append([name, Number(each.epsilon), ShareMargin(each.margin), users])
    return rows


def build_series_table(rows: Sequence[SeriesMargins], planned: int = 0) -> list[list[Cell]]:
    """Return the head and rows of margins with waves; with `planned`, rows are series of other numbers."""
    names = ["people", "waves"] * bool(planned) + ["level", "change", "detectable", "slope"]
    head = TEXTS.find("cells.series-changed" if planned else "cells.series")
    cells: list[list[Cell]] = [[head, *(TEXTS.find(f"cells.{name}") for name in names)]]
    for each in rows:
        write = ShareMargin if each.is_share else NumberMargin
        name = TEXTS.find("cells.series-of-class", name=each.name) if each.of_class else each.name
        slope = each.slope * (each.waves / planned if planned else 1)
        cells.append(
            [
                TEXTS.find(f"cells.series-{name}") if planned else name,
                *[Count(each.users), Count(each.waves)] * bool(planned),
                *map(write, (each.level, each.change, each.detectable)),
                f"{100 * slope:.2f}%" if each.is_share else NumberMargin(slope),
            ]
        )
    return cells


def build_accuracy_table(size: Size) -> list[list[Cell]]:
    """Return the head and the rows of the table of accuracies, for a size with forecasts."""
    names = ("accuracy", "average", "eight-of-ten", "best-possible")
    rows: list[list[Cell]] = [[TEXTS.find(f"cells.{name}") for name in names]]
    for name, each in size.forecasts.items():
        interval = TEXTS.find("cells.range", low=Share(each.low), high=Share(each.high))
        rows.append([TEXTS.find(f"cells.{name}"), Share(each.mean), interval, Share(each.best_possible)])
    majority = next(iter(size.forecasts.values())).majority
    return [*rows, [TEXTS.find("cells.guessing"), Share(majority), "", ""]]


# -- text --------------------------------------------------------------------------------------------


def format_size(size: Size) -> str:
    """Return one size as text, at most 100 columns wide unless names are longer."""
    facts = describe_size(size)
    lines = [f"{size.survey.id}: {_write(TEXTS.find('cells.title', facts))}", ""]
    rows = [["", "asked", "reports", *_find_heads(facts)], *_list_rows(size)]
    lines += _format_cells(rows, "<>>" + "<" * (len(rows[0]) - 3))
    lines += ["", *_wrap_section("margins", facts)]
    if size.relay:
        lines += ["", *_format_cells(build_relay_table(size.relay), "<>>>")]
        lines += ["", *_wrap_section("relay", facts)]
    if size.series:
        planned = size.series.changes[0].waves
        lines += ["", *_format_cells(build_series_table(size.series.estimates), "<>>>>")]
        lines += ["", *_format_cells(build_series_table(size.series.changes, planned), "<>>>>>>")]
        lines += ["", *_wrap_section("series", facts)]
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


def format_comparison(sizes: Sequence[Size], *, by_epsilon: bool = False) -> str:
    """Return a small table that compares numbers of people, or values of epsilon and perhaps both."""
    facts, rows = describe_size(sizes[0], is_comparison=True, by_epsilon=by_epsilon), build_comparison(sizes)
    notes = [*_wrap_section("margins", facts), *_wrap([TEXTS.find("comparison.options", facts)])]
    if by_epsilon:
        epsilons = ["epsilon", *(decimal_text(each.survey.epsilon) for each in sizes)]
        rows = [[epsilon, *row] for epsilon, row in zip(epsilons, rows, strict=True)]
        notes = _wrap_section("margins", facts)
    title = f"{sizes[0].survey.id}: {_write(TEXTS.find('cells.title', facts))}"
    return "\n".join([title, "", *_format_comparison(rows), "", *notes])


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
    table = format_table([TEXTS.find("needed.head").cells, *rows], ">>>>>")
    return "\n".join([*lines, *table, "", *wrap_text(TEXTS.write("needed.legend"))])


def _conclude(facts: SimpleNamespace) -> Iterator[str]:
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


def _find_heads(facts: SimpleNamespace) -> list[Cell]:
    overall = [TEXTS.find("cells.all-people")] if facts.label else []
    return [*overall, "", TEXTS.find("cells.typical-estimate", facts)]


def _format_comparison(rows: Sequence[Sequence[Cell]]) -> list[str]:
    return _format_cells(rows, ">" * (len(rows[0]) - 1) + "<")


def _wrap_section(name: str, facts: SimpleNamespace) -> list[str]:
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
