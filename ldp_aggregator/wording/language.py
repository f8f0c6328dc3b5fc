"""The language of a page: English text files, and files of translated words, which an author can add."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from encoders.canonical import to_nfc
from encoders.errors import SurveyError

Words = Mapping[str, Mapping[str, str]]
"""For each language tag, texts by their names."""
_TAG = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{1,8}){0,4}")
_HOLES = re.compile(r"\{\d\}|\{\{ [\w.]+ \}\}")
_MARKS = re.compile(r"`|\*\*| \| ")


@dataclass(frozen=True, eq=False)
class Language:
    tag: str = ""
    """Empty for English words with the texts of the survey's first language."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What replaces the words of the text files, by name; empty for English."""


LANGUAGE: ContextVar[Language] = ContextVar("LANGUAGE", default=Language())  # noqa: B039 - it is frozen
"""The language in which statements, numbers and texts of surveys are written."""


@contextmanager
def write_in(language: Language) -> Iterator[None]:
    """Let everything that is written meanwhile be in a language."""
    token = LANGUAGE.set(language)
    try:
        yield
    finally:
        LANGUAGE.reset(token)


def choose_language(asked: str, offered: Iterable[str], words: Words, needed: Iterable[str]) -> Language:
    """Return the language `asked`, or if it is empty the first offered one that has words, else English.

    Words of "pt" are used for "pt-BR" too. Raises SurveyError if they lack, or some of `needed` do.
    """
    wanted = asked or next(iter(offered), "en")
    tags = [wanted.rsplit("-", cut)[0] for cut in range(wanted.count("-") + 1)]
    found = next((each for each in tags if each == "en" or each in words), "")
    if asked and not found:
        raise SurveyError(
            f"has no words: add them with --words, or choose {', '.join(['en', *words])}", asked
        )
    if found in ("", "en"):
        return Language(found and wanted)
    if missing := [name for name in needed if name not in words[found]]:
        raise SurveyError(f"{len(missing)} words are missing, for example {missing[0]}", found)
    return Language(wanted, words[found])


def read_words(data: bytes, english: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Read a file of translated words: for each language tag, texts by the names of `english`.

    A language may leave words out. Raises SurveyError if the file is not of this form. The message names the
    language and the word.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SurveyError(f"is not JSON in UTF-8: {error}") from error
    if not (isinstance(document, dict) and all(isinstance(each, dict) for each in document.values())):
        raise SurveyError('must map language tags to words, for example {"fr": {"language": "Langue"}}')
    for language, words in document.items():
        if not _TAG.fullmatch(language):
            raise SurveyError('is not a language tag: write for example "fr" or "pt-BR"', language)
        for name, text in words.items():
            if why := _find_fault(name, text, english):
                raise SurveyError(why, f"{language}.{name}")
    return {
        language: {name: to_nfc(text) for name, text in words.items()} for language, words in document.items()
    }


def _find_fault(name: str, text: Any, english: Mapping[str, str]) -> str:
    if name not in english:
        return f"is no word of the form or page: use names such as {', '.join(islice(english, 100))}"
    if not (isinstance(text, str) and text.strip()):
        return "must be a text that is not empty"
    holes = set(_HOLES.findall(english[name]))
    if set(_HOLES.findall(text)) != holes:
        return f"must contain {', '.join(sorted(holes)) or 'no hole'}, as in English: {english[name]}"
    marks, written = (Counter(_MARKS.findall(each)) for each in (english[name], text))
    if marks != written or set("{}") & set(_HOLES.sub("", text)):
        return f"must have the marks {', '.join(marks) or 'of no kind'} as in English: {english[name]}"
    return ""
