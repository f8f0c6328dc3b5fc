"""Builds the annex on the expected precision: the tables of `ldp-survey size`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ldp_design.dossier.sections import section
from ldp_design.dossier.source import DossierSource
from ldp_design.dossier.statement import Basis, DossierTable, Statement, assumed, conditional
from ldp_design.sizing.size import Size
from ldp_design.sizing.summary import (
    build_accuracy_table,
    build_comparison,
    build_margin_rows,
    explain_accuracy,
    explain_comparison,
    explain_margins,
    format_people,
)

_RANGE = (
    "The average can lie outside the range of 8 of 10 surveys: the range leaves out the lowest and the "
    "highest tenth of the surveys, and a few surveys far below or above it move the average."
)
_NOT_NOISE = assumed(
    f"An estimate that is not noise can still be useless by the stricter grades of {section('accuracy')}."
)


def build_margins(source: DossierSource) -> dict[str, list[Any]]:
    """Return tables and statements on the margins and the accuracy to expect in the first scenario."""
    if not source.sizes:
        text = "A validation round has no margins to compute: it tests a model."
        return {"tables": [], "notes": [assumed(text)]}
    if source.size:
        return _build_one(source, source.size)
    return _build_comparison(source)


def _build_one(source: DossierSource, size: Size) -> dict[str, list[Any]]:
    basis, command = Basis.CONDITIONAL, source.size_command
    table = build_margin_rows(size)
    tables = [
        DossierTable(
            caption=f"Margins to expect from {format_people(size.users)}",
            head=["Feature", "Asked", "Reports", "Noise", "Typical estimate"],
            rows=[_format_row(row, former) for former, row in zip([[""], *table], table, strict=False)],
            basis=basis,
            command=command,
            numeric={1, 2},
        )
    ]
    notes = [_mark(source, text) for text in explain_margins(size)] + [_NOT_NOISE]
    if size.forecasts:
        head, *rows = build_accuracy_table(size)
        tables.append(
            DossierTable(
                caption="How often a model trained on the reports predicts the label correctly",
                head=[f"{each[:1].upper()}{each[1:]}" for each in head],
                rows=rows,
                basis=basis,
                command=command,
                numeric={1, 2, 3},
            )
        )
        notes += [_mark(source, text) for text in (*explain_accuracy(size), _RANGE)]
    return {"tables": tables, "notes": notes}


def _build_comparison(source: DossierSource) -> dict[str, list[Any]]:
    head, *rows = ([each.replace("+-", "\u00b1") for each in row] for row in build_comparison(source.sizes))
    table = DossierTable(
        caption="Margins to expect for several numbers of people",
        head=head,
        rows=rows,
        basis=Basis.CONDITIONAL,
        command=source.size_command,
        numeric={1, 2},
    )
    return {
        "tables": [table],
        "notes": [_mark(source, text) for text in explain_comparison(source.sizes[0])],
    }


def _format_row(row: Sequence[str], former: Sequence[str]) -> list[str]:
    """Return a row with a heading, which the row of missing answers lacks in the table of the terminal."""
    name, asked, reports, noise, estimate = row
    estimate = estimate.replace("+-", "\u00b1")
    if not name:
        return [f"{former[0]}, missing answers", "", "", "", estimate]
    return [name, asked, reports, noise or "no", estimate]


def _mark(source: DossierSource, text: str) -> Statement:
    """Return a note as an assumption if it is about the population, which nobody knows before the launch."""
    text = text.replace("+-", "\u00b1")
    is_assumption = text.startswith(("Assumed", "Features"))
    return assumed(text) if is_assumption else conditional(text, source.size_command)
