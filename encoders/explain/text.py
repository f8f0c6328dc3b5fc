"""Text for a terminal: tables and paragraphs."""

from __future__ import annotations

import textwrap
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


def paragraph(text: str, indent: str = "") -> list[str]:
    """Break text into lines of 100 characters."""
    return textwrap.wrap(
        text,
        100,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,  # names hold them
    )


def format_answer(meaning: dict[str, str]) -> str:
    """Return an answer as ``age = young, paid = no``."""
    return ", ".join(f"{name} = {value}" for name, value in meaning.items())
