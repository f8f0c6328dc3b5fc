"""Tables of text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]], alignment: str) -> list[str]:
    """Align rows in columns; `alignment` has "<" or ">" for each column."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(row, alignment, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def in_words(meaning: dict[str, str]) -> str:
    """Return an answer as ``age = young, paid = no``."""
    return ", ".join(f"{name} = {value}" for name, value in meaning.items())
