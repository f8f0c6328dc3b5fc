"""The texts of a survey: what a person reads when they are asked, in one or more languages.

A plan holds only the SHA-256 of its texts. Consent, the author's signature and the check for a changed plan
therefore cover them. The texts are in a side file of canonical JSON. They are plain text, never
HTML or Markdown, and no report depends on them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from encoders.canonical import dump_canonical_json, load_canonical_json, look_of, nfc_fault, printable_fault
from encoders.errors import OTHER_TEXTS, SurveyError, combine_errors
from encoders.survey.conditions import KEY, Condition, find_condition_problems, read_conditions
from encoders.survey.features import CategoricalFeature, Feature, Label
from encoders.survey.parse_value import MISSING_TEXT

FORMAT = 1
MAX_TEXTS_BYTES = 1 << 18
MAX_LANGUAGES = 100
MAX_TITLE = 300
MAX_VALUE_TEXT = 200
MAX_LONG_TEXT = 4000
ABOUT_KEYS = ("title", "purpose", "contact", "ethics", "retention")
LANGUAGE_KEYS = ("title", "help", "about", "label", "features")
ENTRY_KEYS = ("title", "help", "values")

_LONG_ABOUT = dict.fromkeys(ABOUT_KEYS[1:], MAX_LONG_TEXT)
"""The entries of [texts.LANGUAGE.about]; the title is that of [texts.LANGUAGE]."""
_TAG = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{1,8}){0,4}")
SPACING = frozenset("\u00a0\u200c\u200d\u200e\u200f\u202f")
"""No-break spaces, joiners and direction marks, without which some languages cannot be written."""

Path = tuple[str, ...]


class TextProblem(NamedTuple):
    """What is wrong with one entry of [about] or [texts], and its path in the survey file."""

    path: Path
    why: str


@dataclass(frozen=True)
class EntryNames:
    """The names and values of a survey that may have texts."""

    label: Collection[str] | None
    label_name: str
    features: Mapping[str, Collection[str] | None]
    """For each entry of a row, the values that may have a text; None if they are not known. Mapping of str
    to collection of str, or None."""

    @classmethod
    def from_row(cls, label: Label, entries: Iterable[Feature]) -> EntryNames:
        features = {each.name: values_with_texts(each) for each in entries}
        return cls(label.values if label.exists else None, label.name, features)


def values_with_texts(feature: Feature) -> tuple[str, ...]:
    """Return the values of a feature that may have a text: of a number only the missing one."""
    missing = (MISSING_TEXT,) if feature.missing == "category" else ()
    return (*feature.values, *missing) if isinstance(feature, CategoricalFeature) else missing


@dataclass(frozen=True, eq=False)
class SurveyTexts:
    """The texts of a survey, as they are in the survey file."""

    about: Mapping[str, str]
    languages: Mapping[str, Mapping[str, Any]]
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    """The condition on which a question is asked, by the name of the question; each follows those of the
    questions it names."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SurveyTexts) and self.json == other.json

    def __hash__(self) -> int:
        return hash(self.json)

    @cached_property
    def json(self) -> bytes:
        """The side file: canonical JSON, whose SHA-256 is in the plan."""
        document: dict[str, Any] = {
            "about": self.about,
            "format": FORMAT,
            "languages": list(self.languages),
            "texts": self.languages,
        }
        if self.conditions:
            document[KEY] = {name: each.as_dict() for name, each in self.conditions.items()}
        return dump_canonical_json(document)

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.json).hexdigest()

    @classmethod
    def from_json(cls, data: bytes, digest: str, names: EntryNames) -> SurveyTexts:
        """Read a side file; raise SurveyError unless it has the digest, names and values of a plan."""
        if len(data) > MAX_TEXTS_BYTES:
            raise SurveyError(
                f"the texts are larger than {MAX_TEXTS_BYTES} bytes: shorten texts, or use fewer languages",
                "texts",
            )
        if hashlib.sha256(data).hexdigest() != digest:
            raise SurveyError(OTHER_TEXTS, "texts")
        document = load_canonical_json(data, "file of texts")
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise SurveyError(
                f"these are not texts of format {FORMAT}: compile the survey again with this version of "
                "ldp-bayes",
                "texts",
            )
        about, tables, order = document.get("about"), document.get("texts"), document.get("languages")
        conditions = document.get(KEY, {})
        if set(document) - {KEY} != {"about", "format", "languages", "texts"} or not (
            isinstance(tables, dict)
            and isinstance(conditions, dict)
            and isinstance(order, list)
            and all(isinstance(tag, str) for tag in order)
            and sorted(order) == sorted(tables)
        ):
            raise SurveyError(
                'must have the keys "about", "format", "languages" and "texts", a table of texts for each '
                'language, and nothing but "ask_if" besides: compile the survey again',
                "texts",
            )
        languages = {tag: tables[tag] for tag in order}
        if problems := list(find_problems(about, languages, conditions, names)):
            raise combine_errors([SurveyError(each.why, ".".join(each.path)) for each in problems])
        texts = cls(about or {}, languages, read_conditions(conditions))
        if texts.json != data:
            why = "is empty, or has a value that is not in quotes: compile the survey again"
            raise SurveyError(why, f"texts.{KEY}")
        return texts


def find_problems(
    about: Any, languages: Any, conditions: Mapping[str, Any], names: EntryNames
) -> Iterator[TextProblem]:
    """Yield each mistake in the tables [about] and [texts] and in the conditions, in order."""
    label = {names.label_name: names.label} if names.label_name else {}
    for name, why in find_condition_problems(conditions, {**label, **names.features}):
        yield TextProblem(("features", name, KEY), why)
    yield from _find_in_table(about, ("about",), ABOUT_KEYS)
    yield from _find_in_texts(about, ("about",), {**_LONG_ABOUT, "title": MAX_TITLE})
    if not isinstance(languages, dict):
        yield TextProblem(("texts",), "must be tables: [texts.LANGUAGE], for example [texts.en]")
        return
    if len(languages) > MAX_LANGUAGES:
        yield TextProblem(("texts",), f"has {len(languages)} languages, more than {MAX_LANGUAGES}: omit some")
    former: dict[str, str] = {}
    for tag, table in languages.items():
        path = ("texts", tag)
        if not _TAG.fullmatch(tag):
            yield TextProblem(path, 'is not a language tag: write for example "en", "de" or "pt-BR"')
        elif (same := former.setdefault(tag.lower(), tag)) != tag:
            yield TextProblem(path, f"is the language {same} again: delete one, because case does not count")
        yield from _find_in_language(table, path, names)


def _find_in_language(table: Any, path: Path, names: EntryNames) -> Iterator[TextProblem]:
    yield from _find_in_table(table, path, LANGUAGE_KEYS)
    if not isinstance(table, dict):
        return
    yield from _find_in_texts(table, path, {"title": MAX_TITLE, "help": MAX_LONG_TEXT})
    about = table.get("about", {})
    yield from _find_in_table(about, (*path, "about"), _LONG_ABOUT)
    yield from _find_in_texts(about, (*path, "about"), _LONG_ABOUT)
    if "label" in table and names.label is None:
        yield TextProblem((*path, "label"), "the survey has no label: delete this table")
    elif "label" in table:
        yield from _find_in_entry(table["label"], (*path, "label"), names.label)
    features = table.get("features", {})
    yield from _find_in_table(features, (*path, "features"), names.features)
    for name, entry in features.items() if isinstance(features, dict) else ():
        if name in names.features:
            yield from _find_in_entry(entry, (*path, "features", name), names.features[name])


def _find_in_entry(entry: Any, path: Path, values: Collection[str] | None) -> Iterator[TextProblem]:
    yield from _find_in_table(entry, path, ENTRY_KEYS)
    if not isinstance(entry, dict):
        return
    yield from _find_in_texts(entry, path, {"title": MAX_TITLE, "help": MAX_LONG_TEXT})
    texts, path = entry.get("values", {}), (*path, "values")
    if not isinstance(texts, dict):
        yield TextProblem(path, 'must be a table of texts, for example { yes = "Yes", no = "No" }')
        return
    if values == ():
        for value in texts:
            yield TextProblem((*path, value), "is a value of a number, which cannot have a text: delete it")
    elif values is not None:
        yield from _find_in_table(texts, path, values)
    checked = texts if values is None else values
    yield from _find_in_texts(texts, path, dict.fromkeys(checked, MAX_VALUE_TEXT))
    former: dict[str, str] = {}
    looks = {key: look_of(text[:MAX_VALUE_TEXT]) for key, text in texts.items() if isinstance(text, str)}
    for value, look in looks.items():
        if (same := former.setdefault(look, value)) != value:
            yield TextProblem((*path, value), f"is the text of {same!r} too: change one")


def _find_in_table(table: Any, path: Path, known: Collection[str]) -> Iterator[TextProblem]:
    if not isinstance(table, dict):
        yield TextProblem(path, f"must be a table: [{'.'.join(path)}]")
        return
    for key in table:
        if key not in known:
            listed = ", ".join(sorted(known)) or "none"
            yield TextProblem((*path, key), f"is not an entry here; known: {listed}")


def _find_in_texts(table: Any, path: Path, limits: Mapping[str, int]) -> Iterator[TextProblem]:
    for key, most in limits.items() if isinstance(table, dict) else ():
        if key in table and (why := _text_fault(table[key], most)):
            yield TextProblem((*path, key), why)


def _text_fault(text: object, most: int) -> str:
    if not isinstance(text, str):
        return 'must be a text in quotes, for example "How old are you?"'
    if len(text) > most:
        return f"has {len(text):,} characters, more than {most:,}: shorten it"
    if not look_of(text).strip():
        return "is empty: write a text, or leave the entry out"
    allowed = SPACING | {"\n"} if most == MAX_LONG_TEXT else SPACING  # a long text may have paragraphs
    return printable_fault("".join(each for each in text if each not in allowed)) or nfc_fault(text)
