"""Formats text for people: paragraphs, tables, numbers of things, and answers in words."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from encoders.late_imports import LateImport
from encoders.survey.features import ChoiceFeature
from encoders.survey.plan import Plan

if TYPE_CHECKING:
    from encoders.survey.display_texts import EntryTexts


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


_DISPLAY_TEXTS = LateImport("encoders.survey.display_texts:display_texts")  # few plans have texts


@dataclass(frozen=True)
class Wording:
    """Displays names and values of a survey."""

    entries: Mapping[str, EntryTexts]
    """The texts of the label and of the entries of the row, by name; empty without texts."""

    @classmethod
    def from_plan(cls, plan: Plan, language: str = "") -> Wording:
        if not plan.texts:
            return cls({})
        texts = _DISPLAY_TEXTS.load()(plan, language)
        choices = {each.name: texts.find(each) for each in plan.features if isinstance(each, ChoiceFeature)}
        label = {plan.row_label.name: texts.label} if texts.label else {}
        return cls(label | choices | dict(texts.features))

    def answer(self, answer: Mapping[str, str]) -> str:
        return format_answer({name: self._value(name, value) for name, value in answer.items()})

    def titled_answer(self, answer: Mapping[str, str]) -> str:
        """Return an answer with titles in place of names, unless two titles are equal."""
        titles = self.titles(answer)
        if len(set(titles.values())) < len(titles):
            titles = {}
        return format_answer({titles.get(name, name): self._value(name, answer[name]) for name in answer})

    def titles(self, names: Iterable[str]) -> dict[str, str]:
        """Return the title, in quotes, of each of the names that has one."""
        return {
            name: f'"{entry.title}"'
            for name in names
            if (entry := self.entries.get(name)) and entry.title != name
        }

    def _value(self, name: str, value: str) -> str:
        entry = self.entries.get(name)
        text = entry.values.get(value, value) if entry else value
        return value if text == value else f'"{text}"'
