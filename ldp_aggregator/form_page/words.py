"""The words of the form in English, and which of them lack a translation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files

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
