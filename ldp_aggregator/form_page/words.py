"""Checks the words of the form that an author has translated, before they are written into a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

from encoders.canonical import to_nfc
from encoders.errors import SurveyError

_HOLES = re.compile(r"\{\d\}")
_TAG = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{1,8}){0,4}")
BLANK = {
    "en": "If no questions appear here, switch on JavaScript, use a current browser, and open this survey at "
    "its https address, not as a file. If that does not help, tell its author. Until then nothing is sent.",
    "de": "Wenn hier keine Fragen erscheinen, schalten Sie JavaScript ein, verwenden Sie einen aktuellen "
    "Browser und öffnen Sie diese Umfrage unter ihrer https-Adresse, nicht als Datei. Hilft das nicht, sagen "
    "Sie es den Verantwortlichen. Bis dahin wird nichts gesendet.",
}
"""What the page says until its script runs, in each language that the form has itself."""
ENGLISH: dict[str, str] = {
    **json.loads(files(__package__).joinpath("words.json").read_bytes()),
    "blank": BLANK["en"],
}
"""What page and form say in English, by name; {0} and {1} are holes. The file is written by
clients/javascript/build.js."""


def read_words(data: bytes) -> dict[str, dict[str, str]]:
    """Read translated words by language and name; SurveyError names the wrong one. Words may be left out."""
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
            if why := _fault(name, text):
                raise SurveyError(why, f"{language}.{name}")
    return {
        language: {name: to_nfc(text) for name, text in words.items()} for language, words in document.items()
    }


def find_untranslated(
    languages: Iterable[str], words: Mapping[str, Mapping[str, str]]
) -> dict[str, list[str]]:
    """Return the words that the form would say in English, by language; "pt-BR" has those of "pt"."""
    known = {**words, **{tag: {**ENGLISH, **words.get(tag, {})} for tag in BLANK}}
    found = {}
    for language in languages:
        tables = [each for tag, each in known.items() if f"{language}-".lower().startswith(f"{tag}-".lower())]
        found[language] = [name for name in ENGLISH if not any(name in each for each in tables)]
    return {language: missing for language, missing in found.items() if missing}


def _fault(name: str, text: Any) -> str:
    if name not in ENGLISH:
        return f"is no word of the form: use the names {', '.join(ENGLISH)}"
    if not (isinstance(text, str) and text.strip()):
        return "must be a text that is not empty"
    holes = set(_HOLES.findall(ENGLISH[name]))
    if set(_HOLES.findall(text)) != holes:
        return f"must contain {', '.join(sorted(holes)) or 'no hole'}, as in English: {ENGLISH[name]}"
    return ""
