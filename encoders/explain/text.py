"""Formats text for people: paragraphs, tables, numbers of things, and answers in words."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files


class Counted(int):
    """A number with what it counts: "1 report", "2,000 people"."""

    one: str
    many: str

    def __new__(cls, number: int, one: str, many: str = "") -> Counted:
        found = super().__new__(cls, number)
        found.one, found.many = one, many or f"{one}s"
        return found

    def __str__(self) -> str:
        return f"{int(self):,} {self.one if self == 1 else self.many}"


def sentence(name: str, *parts: object) -> str:
    """Return a sentence of words.json, the words of previews in all languages, with its holes filled."""
    text: str = _load_sentences()[name]
    return text.format(*parts)


@cache
def _load_sentences() -> dict[str, str]:
    words: dict[str, dict[str, str]] = json.loads(files(__package__).joinpath("words.json").read_bytes())
    return words["sentences"]


def wrap_text(text: str, indent: str = "") -> list[str]:
    """Break text into lines of 100 characters."""
    return textwrap.wrap(
        text,
        100,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,  # names contain them
    )


def format_answer(answer: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in answer.items())


def format_table(rows: Sequence[Sequence[str]], alignment: str) -> list[str]:
    """Return the lines of a table; `alignment` has "<" (left) or ">" (right) for each column."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(row, alignment, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
