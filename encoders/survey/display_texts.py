"""Chooses the texts of a survey to display in a language; a missing text falls back to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.conditions import Condition, find_hidden
from encoders.survey.features import ChoiceFeature, Feature
from encoders.survey.texts import ABOUT_KEYS, values_with_texts


class DisplayText(str):
    """A text that the author wrote, with its language; a name that stands for a missing text is a `str`."""

    language: str
    """A language tag; empty if the survey does not state the language."""

    def __new__(cls, text: str, language: str = "") -> DisplayText:
        found = super().__new__(cls, text)
        found.language = language
        return found


def join_texts(joined: str, texts: Sequence[str]) -> str:
    """Return a text that was made from these; it has their language if they have the same one."""
    languages = {each.language if isinstance(each, DisplayText) else None for each in texts}
    [language] = languages if len(languages) == 1 else [None]
    return joined if language is None else DisplayText(joined, language)


@dataclass(frozen=True)
class EntryTexts:
    title: str
    help: str
    """An explanation. It is empty if the author wrote no explanation."""
    values: Mapping[str, str]
    """The text of each value to choose from, in the survey's order. ``(missing)``, if it is there, stands
    for a missing answer, which an application passes as None. Empty for a number."""


@dataclass(frozen=True)
class DisplayTexts:
    """The texts of a survey in one language: plain text, to display as it is."""

    language: str
    """The language of the survey that fits the requested one best; empty if there are no texts."""
    title: str
    """The title of the survey; its id if there is no text."""
    help: str
    """An explanation of the survey. It is empty if the author wrote no explanation."""
    about: Mapping[str, str]
    """The author's entries of ``title``, ``purpose``, ``contact``, ``ethics`` and ``retention``. All but the
    title can differ from language to language."""
    label: EntryTexts | None
    features: Mapping[str, EntryTexts]
    conditions: Mapping[str, Condition]

    def hidden(self, answers: Mapping[str, object]) -> set[str]:
        """Return the names of questions that do not concern a person; pass None for their answers."""
        return find_hidden(self.conditions, answers)

    def find(self, feature: Feature) -> EntryTexts:
        if not isinstance(feature, ChoiceFeature):
            return self.features[feature.name]
        entry = self.features[feature.row_name]
        parts = (entry.title, entry.values[feature.choice])
        return EntryTexts(title=join_texts(": ".join(parts), parts), help=entry.help, values={})


def display_texts(plan: AnyPlan, language: str = "") -> DisplayTexts:
    """Return the texts of a plan in a language.

    A text that the language lacks is taken from its base language, or from the survey's first language; if
    both lack it, it is the name. Without texts, the names of the plan are returned. In the language tag, for
    example "de" or "pt-BR", upper and lower case do not differ, nor do "-" and "_".
    """
    languages = plan.texts.languages if plan.texts else {}
    chain = list(dict.fromkeys(_fallbacks(language, list(languages))))
    tables = {tag: languages[tag] for tag in chain}
    stated = {tag: table.get("about", {}) for tag, table in tables.items()}
    general = plan.texts.about if plan.texts else {}
    found = {key: _first(stated, key, default=DisplayText(general.get(key, ""), "")) for key in ABOUT_KEYS}
    about = {key: text for key, text in found.items() if text}
    label = plan.row_label
    return DisplayTexts(
        language=chain[0] if chain else "",
        title=_first(tables, "title", default=about.get("title", plan.id)),
        help=_first(tables, "help"),
        about=about,
        label=_entry({tag: table.get("label", {}) for tag, table in tables.items()}, label.name, label.values)
        if label.exists
        else None,
        features={
            each.name: _entry(
                {tag: table.get("features", {}).get(each.name, {}) for tag, table in tables.items()},
                each.name,
                values_with_texts(each),
            )
            for each in plan.entries
        },
        conditions=plan.texts.conditions if plan.texts else {},
    )


def _fallbacks(language: str, known: list[str]) -> Iterator[str]:
    """Yield the languages of a survey to look for a text in: exact, base languages, the first."""
    tags = {tag.lower(): tag for tag in known}
    wanted = language.lower().replace("_", "-")
    while wanted:
        if wanted in tags:
            yield tags[wanted]
        wanted = wanted.rpartition("-")[0]
    yield from known[:1]


def _entry(tables: Mapping[str, Mapping[str, Any]], name: str, values: tuple[str, ...]) -> EntryTexts:
    texts = {tag: table.get("values", {}) for tag, table in tables.items()}
    return EntryTexts(
        title=_first(tables, "title", default=name),
        help=_first(tables, "help"),
        values={value: _first(texts, value, default=value) for value in values},
    )


def _first(tables: Mapping[str, Mapping[str, Any]], key: str, default: str = "") -> str:
    return next((DisplayText(table[key], tag) for tag, table in tables.items() if key in table), default)
