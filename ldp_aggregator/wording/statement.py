"""Statements, and the text files with their words, which can be corrected without knowing Python.

A file is Markdown. Each entry is a heading and a text:

    ## name (assumed) if invited, not simulated
    **What exactly leaves my phone?**
    One report of {{ plan.survey }}, with {{ identifier }}.

    ### identifier
    a random number

A heading of level 2 begins a statement. Its name may be followed by what it rests on (computed, conditional,
assumed or declared; computed if nothing is stated), by the name of the command that repeats the computation,
as in "(conditional, odds_command)", and by conditions. Of entries with the same name, the first whose
conditions hold is used. A bold first line is a title. A heading of level 3 begins words for a hole, which
takes them if no fact has its name; those in words.md are for the holes of all files. Backticks enclose code.

In another language, the texts are those of a file of words, see :mod:`language`; the headings stay.

Holes and conditions name facts: arguments or fields of one object or, after a dot, of an object among these.
What is named in a field that is None is None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, cached_property
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

from ldp_aggregator.wording.language import LANGUAGE, Language

_HOLE = re.compile(r"\{\{ ([\w.]+) \}\}")
"""A hole in a text: the name of a fact."""
_HEADING = re.compile(
    r"(?P<level>##|###) (?P<name>[\w-]+)"
    r"(?: \((?P<basis>\w+)(?:, (?P<command>[\w.]+))?\))?(?: if (?P<conditions>.+))?"
)
_TITLE = re.compile(r"\*\*(.+)\*\*(?:\n|$)")
_SPACES = re.compile(r"[ \n]+")
"""No-break spaces stay."""

Write = Callable[[object], str]
"""Turns a value in a hole into text for one output, for example with the special signs of HTML escaped."""


class Basis(StrEnum):
    COMPUTED = "computed"
    CONDITIONAL = "computed under an assumption"
    ASSUMED = "assumed"
    DECLARED = "declared by the author"


@dataclass(frozen=True, kw_only=True)
class TextEntry:
    """One entry of a text file: the words of a statement, with holes for its values."""

    id: str
    """The names of the file and of the entry, for example "privacy.report"."""
    basis: Basis = Basis.COMPUTED
    command: str = ""
    """The name of the fact with the command that repeats the computation; empty if there is none."""
    conditions: Mapping[str, bool] = field(default_factory=dict)
    """Names of facts, and whether each must hold for this entry."""
    title: str = ""
    """A heading, for example the question that the text answers; empty for most."""
    text: str

    @property
    def holes(self) -> list[str]:
        return _HOLE.findall(self.text)

    @property
    def hole(self) -> str:
        return self.id.partition(".")[2]

    @property
    def names(self) -> set[str]:
        return {*self.holes, *self.conditions, *filter(None, [self.command])}

    def holds(self, facts: object) -> bool:
        return all(bool(_look_up(facts, name)) is needed for name, needed in self.conditions.items())


@dataclass(frozen=True, kw_only=True)
class Statement:
    """The words of an entry with the values of its holes."""

    entry: TextEntry
    values: Mapping[str, object] = field(default_factory=dict)
    """By the name of the hole. The types of :mod:`values` state how numbers are written; a value may be
    another statement."""
    command: str = ""
    """The command that repeats the computation; empty if there is none."""

    @property
    def id(self) -> str:
        return self.entry.id

    @property
    def basis(self) -> Basis:
        return self.entry.basis

    @property
    def title(self) -> str:
        return self.entry.title

    def __str__(self) -> str:
        """Return the statement as plain text."""
        return self.fill(str, lambda words: words.replace("`", ""))

    @property
    def cells(self) -> list[str]:
        """The parts of the text between " | ", as plain text."""
        return [
            str(replace(self, entry=replace(self.entry, text=each))) for each in self.entry.text.split(" | ")
        ]

    def fill(self, write: Write, write_words: Callable[[str], str] = str) -> str:
        """Return the text with its holes filled.

        `write` writes a value that is not a statement, and `write_words` the words of the text file between
        the holes, in order; a backtick begins or ends code.
        """
        parts = _HOLE.split(self.entry.text)
        written = [write_words(parts[0])]
        for name, words in zip(parts[1::2], parts[2::2], strict=True):
            value = self.values[name]
            written.append(value.fill(write, write_words) if isinstance(value, Statement) else write(value))
            written.append(write_words(words))
        return "".join(written)


class Texts:
    """The text files in the folder `texts` of a package."""

    def __init__(self, package: str) -> None:
        """Name the package; its files are read on first use, in each language."""
        self.package = package
        self._read_in = cache(self._read_file)

    @property
    def english(self) -> dict[str, str]:
        """The English texts by the names that translations use: PACKAGE/FILE.ENTRY and the conditions."""
        names = sorted(each.name for each in files(self.package).joinpath("texts").iterdir())
        blocks = (each for name in names if name.endswith(".md") for each in self._split(name[:-3]))
        return {key: body.strip() for _, key, body in blocks}

    def find(self, identifier: str, facts: object = None, /, **values: object) -> Statement:
        """Return the statement FILE.ENTRY; the facts that its text names are `values`, or an object.

        Raises KeyError if no such entry holds, a fact is missing, or no entry of the file needs one of the
        values.
        """
        file = self._read(identifier.partition(".")[0])
        entries = [each for each in file.statements if each.id == identifier]
        found = file.fill(entries, facts, values)
        if not found:
            raise KeyError(f"no text {identifier!r} of {self.package} holds")
        return found[0]

    def section(self, name: str, facts: object = None, /, **values: object) -> list[Statement]:
        """Return all statements of a file whose conditions hold, in its order; see :meth:`find`."""
        file = self._read(name)
        return file.fill(file.statements, facts, values)

    def write(self, identifier: str, /, **values: object) -> str:
        """Return a statement as plain text."""
        return str(self.find(identifier, **values))

    def table(self, name: str, /, **values: object) -> dict[str, Any]:
        """Return the caption and the head of a table: the parts of its entry in captions.md, with " | "."""
        caption, *head = self.find(f"captions.{name}", **values).cells
        return {"caption": caption, "head": head}

    def _read(self, name: str) -> _TextFile:
        return self._read_in(name, LANGUAGE.get())

    def _read_file(self, name: str, language: Language) -> _TextFile:
        found = [
            (heading["level"], _parse(name, heading, language.words.get(key, body)))
            for heading, key, body in self._split(name)
        ]
        statements, words = ([entry for each, entry in found if each == level] for level in ("##", "###"))
        if name != "words" and files(self.package).joinpath("texts/words.md").is_file():
            words += self._read_in("words", language).words
        return _TextFile(statements, words)

    def _split(self, name: str) -> Iterator[tuple[re.Match[str], str, str]]:
        """Yield the heading of each entry of a file, its name in translations, and its whole text."""
        text = files(self.package).joinpath(f"texts/{name}.md").read_text(encoding="utf-8")
        for block in re.split(r"^(?=###? )", text, flags=re.MULTILINE)[1:]:
            heading, _, body = block.partition("\n")
            found = _HEADING.fullmatch(heading)
            if not found:
                raise ValueError(f"{name}.md: the heading {heading!r} is not understood")
            conditions = f" if {found['conditions']}" if found["conditions"] else ""
            yield found, f"{self.package.rpartition('.')[2]}/{name}.{found['name']}{conditions}", body


@dataclass(frozen=True)
class _TextFile:
    statements: list[TextEntry]
    words: list[TextEntry]

    @cached_property
    def names(self) -> set[str]:
        """The names of all facts that entries need, up to the first dot."""
        return {name.partition(".")[0] for each in self.statements + self.words for name in each.names}

    def fill(self, entries: list[TextEntry], facts: object, values: Mapping[str, object]) -> list[Statement]:
        """Return the statements of those entries that hold; of a name, the first."""
        if unneeded := values.keys() - (self.names if facts is None else set()):
            raise KeyError(f"no entry of the text file needs {', '.join(unneeded)}")
        facts = SimpleNamespace(**values) if facts is None else facts
        self._check_names(entries, facts)
        chosen: dict[str, TextEntry] = {}
        for entry in entries:
            if entry.id not in chosen and entry.holds(facts):
                chosen[entry.id] = entry
        return [_fill(entry, facts, self.words) for entry in chosen.values()]

    def _check_names(self, entries: list[TextEntry], facts: object) -> None:
        """Raise KeyError if an entry names a fact that there is not, even if it does not hold."""
        for entry in entries:
            words = [each for each in self.words if each.hole in entry.holes]
            for name in entry.names - {each.hole for each in words}:
                first = name.partition(".")[0]
                if first not in vars(facts) and not hasattr(type(facts), first):
                    raise KeyError(f"{entry.id}: {type(facts).__name__} has no fact {name!r}")
            if not isinstance(facts, SimpleNamespace):  # values may lack those of words that do not hold
                self._check_names(words, facts)


def _parse(name: str, found: re.Match[str], body: str) -> TextEntry:
    title, words = _TITLE.match(body), " ".join(_SPACES.split(_TITLE.sub("", body, count=1).strip()))
    if set("{}") & set(_HOLE.sub("", words)):
        raise ValueError(f"{name}.md: {found[0]}: a hole needs the form {{{{ name }}}}")
    conditions = filter(None, (found["conditions"] or "").split(", "))
    return TextEntry(
        id=f"{name}.{found['name']}",
        basis=Basis[(found["basis"] or "computed").upper()],
        command=found["command"] or "",
        conditions={each.removeprefix("not "): not each.startswith("not ") for each in conditions},
        title=title[1] if title else "",
        text=words,
    )


def _fill(entry: TextEntry, facts: object, words: list[TextEntry]) -> Statement:
    """Return a statement; a hole without a fact takes words, whose holes are filled likewise."""

    def find_value(hole: str) -> object:
        if hasattr(facts, hole.partition(".")[0]):
            return _look_up(facts, hole)
        for each in words:
            if each.hole == hole and each.holds(facts):
                return _fill(each, facts, words)
        raise KeyError(f"{entry.id}: no value of the hole {hole!r}")

    return Statement(
        entry=entry,
        values={hole: find_value(hole) for hole in entry.holes},
        command=str(_look_up(facts, entry.command)) if entry.command else "",
    )


def _look_up(facts: object, name: str) -> object:
    value = facts
    for part in name.split("."):
        if value is not None and not hasattr(value, part):
            raise KeyError(f"{type(facts).__name__} has no fact {name!r}")
        value = None if value is None else getattr(value, part)
    return value
