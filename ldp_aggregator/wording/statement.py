"""A statement: a sentence or paragraph with an identifier, what it rests on, and typed values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

HOLE = re.compile(r"\{\{ (\w+) \}\}")
"""A hole in a text: the name of a value."""

Write = Callable[[object], str]
"""Turns a value in a hole into text for one output, for example with the special signs of HTML escaped."""


class Basis(StrEnum):
    """What a statement rests on."""

    COMPUTED = "computed"
    CONDITIONAL = "computed under an assumption"
    ASSUMED = "assumed"
    DECLARED = "declared by the author"


@dataclass(frozen=True, kw_only=True)
class Wording:
    """One entry of a text file: the words of a statement, with holes for its values."""

    id: str
    """The names of the file and of the entry, for example "privacy.report"."""
    basis: Basis = Basis.COMPUTED
    command: str = ""
    """The name of the value with the command that repeats the computation; empty if there is none."""
    conditions: Mapping[str, bool] = field(default_factory=dict)
    """Names of values, and whether each must hold for this entry."""
    title: str = ""
    """A heading, for example the question that the text answers; empty for most."""
    text: str

    @property
    def holes(self) -> list[str]:
        """The names of the values that the text needs."""
        return HOLE.findall(self.text)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A wording with the values of its holes."""

    wording: Wording
    values: Mapping[str, object] = field(default_factory=dict)
    """By the name of the hole. The types of :mod:`values` state how numbers are written; a value may be
    another statement."""
    command: str = ""
    """The command that repeats the computation; empty if there is none."""

    @property
    def id(self) -> str:
        """The identifier."""
        return self.wording.id

    @property
    def basis(self) -> Basis:
        """What the statement rests on."""
        return self.wording.basis

    @property
    def title(self) -> str:
        """The heading; empty for most statements."""
        return self.wording.title

    def __str__(self) -> str:
        """Return the statement as plain text."""
        return self.fill(str, lambda words: words.replace("`", ""))

    def fill(self, write: Write, write_words: Callable[[str], str] = str) -> str:
        """Return the text with its holes filled.

        Parameters
        ----------
        write : callable
            Writes a value that is not a statement.
        write_words : callable
            Writes the words of the text file between the holes, in order; a backtick begins or ends code.
        """
        parts = HOLE.split(self.wording.text)
        written = [write_words(parts[0])]
        for name, words in zip(parts[1::2], parts[2::2], strict=True):
            value = self.values[name]
            written.append(value.fill(write, write_words) if isinstance(value, Statement) else write(value))
            written.append(write_words(words))
        return "".join(written)
