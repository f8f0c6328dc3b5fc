"""Languages for tests of pages: German, and one whose words show what is not translated."""

import re

from ldp_aggregator import statements
from ldp_aggregator.cli.file_options import read_language
from ldp_aggregator.wording.language import Language, write_in
from ldp_aggregator.wording.values import WORDS
from ldp_design.dossier.dossier_page import TEXTS
from ldp_design.sizing import size_facts

RESULTS = (WORDS, statements.TEXTS)
DOSSIER = (*RESULTS, size_facts.TEXTS, TEXTS)
KEPT = re.compile(r"(\{\{ [\w.]+ \}\}|`[^`]*`)")
"""What translations keep: holes and code."""


def read_german(texts=RESULTS) -> Language:
    needed = tuple(f"{each}/" for each in ("wording", "statements", "dossier"))
    return read_language("de", None, (), texts, needed)


def make_marked(texts=RESULTS) -> Language:
    """Return a language in which each word of the text files is ŁŁ."""
    words = {}
    for name, text in (pair for each in texts for pair in each.english.items()):
        parts = KEPT.split(text)
        words[name] = "".join(
            part if at % 2 else re.sub(r"[A-Za-z]+", "ŁŁ", part) for at, part in enumerate(parts)
        )
    return Language("zz", words | {"wording/values.number": "1.234,5"})


def find_unmarked(text: str, known: str) -> set[str]:
    """Return the words of a text in the marked language that are not from text files, nor known."""
    return {word for word in re.findall(r"\b[A-Za-z]{3,}\b", text) if word.lower() not in known.lower()}


def write_marked(texts, render, *arguments):
    """Return what a function renders in the marked language."""
    with write_in(make_marked(texts)):
        return render(*arguments)
