"""A statement of the dossier, with its basis: computed, assumed, or declared by the survey's author."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Basis(StrEnum):
    """What a statement rests on."""

    COMPUTED = "computed"
    ASSUMED = "assumed"
    DECLARED = "declared by the author"


@dataclass(frozen=True)
class Statement:
    """One or more sentences with the same basis.

    Attributes
    ----------
    text : str
    basis : Basis
    command : str
        The command that repeats the computation; empty if nothing is computed.
    """

    text: str
    basis: Basis
    command: str = ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of texts with one basis; the first cell of a row is its heading.

    Attributes
    ----------
    caption : str
    head : sequence of str
    rows : sequence of sequences of str
    basis : Basis
    command : str
    numeric : collection of int
        The columns with numbers, which are aligned to the right.
    language : str
        The language tag of the cells, if it is not English.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    basis: Basis
    command: str = ""
    numeric: Collection[int] = frozenset()
    language: str = ""


def computed(text: str, command: str) -> Statement:
    """Return a statement that was computed, with the command that repeats it."""
    return Statement(text, Basis.COMPUTED, command)


def assumed(text: str) -> Statement:
    """Return a statement that holds under assumptions that the survey file cannot show."""
    return Statement(text, Basis.ASSUMED)


def declared(text: str) -> Statement:
    """Return a statement that the author of the survey makes."""
    return Statement(text, Basis.DECLARED)
