"""Formats tables with aligned columns for a terminal."""

from __future__ import annotations

from collections.abc import Sequence


def format_table(rows: Sequence[Sequence[str]], alignment: str) -> list[str]:
    """Return one line for each row, with its cells in aligned columns.

    Parameters
    ----------
    rows : sequence of rows
        All of the same length.
    alignment : str
        "<" (left) or ">" (right) for each column.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(row, alignment, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
