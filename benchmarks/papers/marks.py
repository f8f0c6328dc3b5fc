"""Marks algorithms as printed that must not be used to release anything, and lists their errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from benchmarks.accuracy.tables import markdown, paragraph
from ldp_aggregator.arrays import FloatArray

FLOATS = "its noise consists of floating-point numbers."
"""The last bits of a float reveal the value without noise (Mironov 2012)."""

_Function = TypeVar("_Function", bound=Callable[..., object])
_reasons: dict[tuple[str, str], str] = {}


def not_for_release(reason: str) -> Callable[[_Function], _Function]:
    """Mark a function as an algorithm that is not private, with the reason as one sentence."""

    def mark(function: _Function) -> _Function:
        _reasons[function.__module__, function.__name__] = reason
        return function

    return mark


def reasons(module: str) -> dict[str, str]:
    """Return the marked functions of a module, each with the reason why it is not private."""
    return {name: reason for (place, name), reason in _reasons.items() if place == module}


@dataclass(frozen=True)
class PaperError:
    """An error of a paper, and the epsilon that a short experiment realises.

    Attributes
    ----------
    where, wrong : str
    nominal, realised : str
        The epsilon that the paper states, and the one found. Other measured values have their unit.
    right : str
    """

    where: str
    wrong: str
    nominal: str
    realised: str
    right: str


@dataclass(frozen=True)
class Section:
    """A table of results with its title and one paragraph."""

    title: str
    text: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        return f"### {self.title}\n\n{paragraph(self.text)}\n\n{markdown(self.head, self.rows)}\n"


def error_note(samples: FloatArray) -> str:
    """Return a sentence on the largest standard error of means over the first axis; "" for one sample."""
    if len(samples) < 2:
        return ""
    largest = float((samples.std(axis=0, ddof=1) / len(samples) ** 0.5).max())
    return f" Standard errors are at most {largest:.3f}."


def marked_section(module: str) -> Section:
    """Return the table of a module's algorithms that are not for release."""
    rows = [[f"`{name}`", reason] for name, reason in reasons(module).items()]
    text = f"These functions of `{module}` are not private, for the reasons given."
    return Section("Not for release", text, ("function", "reason"), rows)


def error_section(errors: Iterator[PaperError]) -> Section:
    """Return the table of a paper's errors."""
    rows = [[each.where, each.wrong, each.nominal, each.realised, each.right] for each in errors]
    head = ("where", "error", "nominal epsilon", "realised epsilon", "correct")
    return Section("Errors", "The realised values are lower bounds on the true epsilon.", head, rows)
