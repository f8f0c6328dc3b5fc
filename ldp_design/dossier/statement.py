"""A statement of the dossier, with its basis: computed, assumed, or declared by the survey's author."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ldp_aggregator.render.text_table import PlainTable


class Basis(StrEnum):
    """What a statement rests on."""

    COMPUTED = "computed"
    CONDITIONAL = "computed under an assumption"
    ASSUMED = "assumed"
    DECLARED = "declared by the author"


@dataclass(frozen=True)
class Statement:
    """One or more sentences with the same basis."""

    text: str
    basis: Basis
    command: str = ""
    """The command that repeats the computation; empty if nothing is computed."""


@dataclass(frozen=True, kw_only=True)
class DossierTable(PlainTable):
    """A table of texts with one basis."""

    basis: Basis
    command: str = ""
    language: str = ""
    """The language tag of the cells, if it is not English."""
    note: str = ""
    """An explanation under the table, with the same basis."""


def computed(text: str, command: str) -> Statement:
    """Return a statement that was computed, with the command that repeats it."""
    return Statement(text, Basis.COMPUTED, command)


def conditional(text: str, command: str) -> Statement:
    """Return a statement that was computed from an assumption, with the command that repeats it."""
    return Statement(text, Basis.CONDITIONAL, command)


def assumed(text: str) -> Statement:
    """Return a statement that holds under assumptions that the survey file cannot show."""
    return Statement(text, Basis.ASSUMED)


def declared(text: str) -> Statement:
    """Return a statement that the author of the survey makes."""
    return Statement(text, Basis.DECLARED)


@dataclass(frozen=True)
class CommonMark:
    """The mark that most statements of a list have; it is shown once, at the head of the list."""

    mark: Statement
    """A statement with this basis and command."""
    has_exceptions: bool
    """Whether other statements of the list have a mark of their own."""

    def covers(self, statement: Statement) -> bool:
        """Return whether a statement has this mark."""
        return _mark_of(statement) == _mark_of(self.mark)


def find_common_mark(statements: Sequence[Statement]) -> CommonMark | None:
    """Return the mark of more than half of the statements; None if there is none, or one statement only."""
    if len(statements) < 2:
        return None
    [(mark, count)] = Counter(map(_mark_of, statements)).most_common(1)
    if 2 * count <= len(statements):
        return None
    example = next(each for each in statements if _mark_of(each) == mark)
    return CommonMark(example, has_exceptions=count < len(statements))


def _mark_of(statement: Statement) -> tuple[Basis, str]:
    return statement.basis, statement.command
