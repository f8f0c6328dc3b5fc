"""The words of a preview: the names of a survey, or its texts in one language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from encoders.explain.text import format_answer
from encoders.late_imports import LateImport
from encoders.survey.features import ChoiceFeature
from encoders.survey.plan import Plan

if TYPE_CHECKING:
    from encoders.survey.display_texts import EntryTexts

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
