"""Builds the section on the accuracy to expect, from `ldp-survey size`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ldp_aggregator.dossier.source import DossierSource
from ldp_aggregator.dossier.statement import Basis, Statement, Table, assumed, computed
from ldp_aggregator.sizing.size import Size
from ldp_aggregator.sizing.summary import (
    build_accuracy_table,
    build_comparison,
    build_margin_rows,
    describe_usefulness,
    explain_accuracy,
    explain_comparison,
    explain_margins,
    format_people,
)


def build_accuracy(source: DossierSource) -> dict[str, list[Any]]:
    """Return statements and tables on the margins and the accuracy to expect."""
    if not source.sizes:
        text = "This survey validates a model. Its result is how often the model is right, with an interval."
        return {"lead": [assumed(text)], "tables": [], "notes": []}
    if source.size:
        return _build_one(source, source.size)
    return _build_comparison(source)


def describe_size(source: DossierSource, size: Size) -> Statement:
    """Return which features are useful for the expected number of people."""
    people, noise, features = format_people(size.users), size.noise, size.margins[1:]
    if 0 < len(noise) < len(features):
        useful = len(features) - len(noise)
        text = (
            f"From {people}, the estimates of {useful} of {len(features)} features are expected to be "
            f"useful. Those of the others would be mostly noise: {', '.join(noise)} (section 8)."
        )
    else:
        usefulness = " ".join(describe_usefulness(size))
        text = usefulness if size.white_noise else f"With {people}, {usefulness[0].lower()}{usefulness[1:]}"
    return computed(text, source.size_command)


def _build_one(source: DossierSource, size: Size) -> dict[str, list[Any]]:
    basis, command = Basis.COMPUTED, source.size_command
    table = build_margin_rows(size)
    tables = [
        Table(
            caption=f"Margins to expect from {format_people(size.users)}",
            head=["Feature", "Asked", "Reports", "Useful or noise", "Typical estimate"],
            rows=[_format_row(row, former) for former, row in zip([[""], *table], table, strict=False)],
            basis=basis,
            command=command,
            numeric={1, 2},
        )
    ]
    notes = [_mark(source, text) for text in explain_margins(size)]
    if size.forecasts:
        head, *rows = build_accuracy_table(size)
        tables.append(
            Table(
                caption="How often a model trained on the reports predicts the outcome correctly",
                head=[f"{each[:1].upper()}{each[1:]}" for each in head],
                rows=rows,
                basis=basis,
                command=command,
                numeric={1, 2, 3},
            )
        )
        notes += [_mark(source, text) for text in explain_accuracy(size)]
    return {"lead": [describe_size(source, size)], "tables": tables, "notes": notes}


def _build_comparison(source: DossierSource) -> dict[str, list[Any]]:
    head, *rows = ([each.replace("+-", "\u00b1") for each in row] for row in build_comparison(source.sizes))
    table = Table(
        caption="Margins to expect for several numbers of people",
        head=head,
        rows=rows,
        basis=Basis.COMPUTED,
        command=source.size_command,
        numeric={1, 2},
    )
    lead = computed("The author does not state how many people will answer.", source.dossier_command)
    return {
        "lead": [lead],
        "tables": [table],
        "notes": [_mark(source, text) for text in explain_comparison(source.sizes[0])],
    }


def _format_row(row: Sequence[str], former: Sequence[str]) -> list[str]:
    """Return a row with a heading: that of missing answers has none in the table of the terminal."""
    name, asked, reports, noise, estimate = row
    estimate = estimate.replace("+-", "\u00b1")
    if not name:
        return [f"{former[0]}, missing answers", "", "", "", estimate]
    return [name, asked, reports, noise or "useful", estimate]


def _mark(source: DossierSource, text: str) -> Statement:
    """Return a note as an assumption if it is about the population, which nobody knows before the launch."""
    text = text.replace("+-", "\u00b1")
    is_assumption = text.startswith(("Assumed", "Features"))
    return assumed(text) if is_assumption else computed(text, source.size_command)
