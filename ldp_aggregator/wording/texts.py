"""Reads the text files with the words of statements, which can be corrected without knowing Python.

A file is Markdown. Each entry is a heading and a text:

    ## name (assumed) if invited, not simulated
    **What exactly leaves my phone?**
    One report, with {{ identifier }}.

    ### identifier
    a random number

A heading of level 2 begins a statement. Its name may be followed by what it rests on (computed, conditional,
assumed or declared; computed if nothing is stated), by the name of the command that repeats the computation,
as in "(conditional, odds_command)", and by conditions on named values. Of entries with the same name, the
first whose conditions hold is used. A bold first line is a title. A heading of level 3 begins words for a
hole: a hole without a value of its name takes them. Backticks enclose code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from ldp_aggregator.wording.statement import HOLE, Basis, Statement, Wording

_HEADING = re.compile(
    r"(?P<level>##|###) (?P<name>[\w-]+)"
    r"(?: \((?P<basis>\w+)(?:, (?P<command>\w+))?\))?(?: if (?P<conditions>.+))?"
)
_TITLE = re.compile(r"\*\*(.+)\*\*\n")


class Texts:
    """The text files in the folder `texts` of a package."""

    def __init__(self, package: str) -> None:
        """Name the package; its files are read on first use."""
        self._package = package
        self._read = cache(self._read_file)

    def find(self, identifier: str, /, **values: object) -> Statement:
        """Return a statement with its values; values that its text does not need are ignored.

        Parameters
        ----------
        identifier : str
            The name of the file, a dot, and the name of the entry.

        Raises
        ------
        KeyError
            If no entry has this identifier and holds, or a value is missing.
        """
        statements, holes = self._read(identifier.partition(".")[0])
        for wording in statements:
            if wording.id == identifier and _holds(wording, values):
                return _fill(wording, values, holes)
        raise KeyError(f"no text {identifier!r} of {self._package} holds")

    def section(self, file: str, values: Mapping[str, object]) -> list[Statement]:
        """Return all statements of a file whose conditions hold, in the order of the file."""
        statements, holes = self._read(file)
        chosen: dict[str, Wording] = {}
        for wording in statements:
            if wording.id not in chosen and _holds(wording, values):
                chosen[wording.id] = wording
        return [_fill(wording, values, holes) for wording in chosen.values()]

    def _read_file(self, name: str) -> tuple[list[Wording], list[Wording]]:
        """Return the statements of a file, and its words for holes."""
        text = files(self._package).joinpath("texts", f"{name}.md").read_text(encoding="utf-8")
        entries = list(_parse(name, text))
        return tuple([wording for each, wording in entries if each == level] for level in ("##", "###"))  # type: ignore[return-value]


def _parse(name: str, text: str) -> Iterator[tuple[str, Wording]]:
    """Yield the level of the heading and the wording of each entry."""
    for block in re.split(r"^(?=###? )", text, flags=re.MULTILINE)[1:]:
        heading, _, body = block.partition("\n")
        found = _HEADING.fullmatch(heading)
        if not found:
            raise ValueError(f"{name}.md: the heading {heading!r} is not understood")
        title, words = _TITLE.match(body), " ".join(_TITLE.sub("", body, count=1).split())
        if set("{}") & set(HOLE.sub("", words)):
            raise ValueError(f"{name}.md: {heading}: a hole needs the form {{{{ name }}}}")
        conditions = filter(None, (found["conditions"] or "").split(", "))
        yield (
            found["level"],
            Wording(
                id=f"{name}.{found['name']}",
                basis=Basis[(found["basis"] or "computed").upper()],
                command=found["command"] or "",
                conditions={each.removeprefix("not "): not each.startswith("not ") for each in conditions},
                title=title[1] if title else "",
                text=words,
            ),
        )


def _holds(wording: Wording, values: Mapping[str, object]) -> bool:
    return all(bool(values[name]) is expected for name, expected in wording.conditions.items())


def _fill(wording: Wording, values: Mapping[str, object], holes: list[Wording]) -> Statement:
    """Return a statement; a hole without a value takes words of the file, whose holes are filled likewise."""
    file = wording.id.partition(".")[0]

    def find_value(name: str) -> object:
        if name in values:
            return values[name]
        for each in holes:
            if each.id == f"{file}.{name}" and _holds(each, values):
                return _fill(each, values, holes)
        raise KeyError(f"{wording.id}: no value of the hole {name!r}")

    return Statement(
        wording=wording,
        values={name: find_value(name) for name in wording.holes},
        command=str(values[wording.command]) if wording.command else "",
    )
