"""The label and the features of a survey: categories, choices, numbers. Each codes its values as integers.

Values are coded before anything is drawn. A missing value is a separate category, the last one, because
skipping a question would reveal that the answer is missing. The code of a number in bins is the index of the
bin. Other numbers are clipped to public bounds, and coded as the nearest point of a grid over [-1, 1], so
that all further steps are integer arithmetic. An entry with several answers is a list of ticked choices, each
of which is a yes/no feature.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from encoders.errors import RowError
from encoders.lazy_numpy import FloatArray
from encoders.mechanisms.numeric_base import GRID as GRID
from encoders.survey.parse_value import (
    MISSING_TEXT,
    category_text,
    encode_missing,
    is_missing,
    look_up_category,
    parse_number,
    parse_number_cell,
    quote_values,
)

SEPARATOR = ";"
"""Separates the ticked choices in a cell of a CSV file."""
BOTH_MOMENTS, MEAN_ALONE = MOMENTS = ("both", "mean")
"""The moments of a number that its author needs: mean and variance equally, or above all the mean."""
TICKS = ("no", "yes")

Real = TypeVar("Real", float, "FloatArray")


@dataclass(frozen=True)
class RowFeature:
    """Codes the entry of the row with its name."""

    name: str
    missing_codes: tuple[str | float, ...] = field(default=(), kw_only=True, repr=False, compare=False)
    """Cells of files and tables that stand for a missing answer; no part of a plan, and not read here."""

    @property
    def row_name(self) -> str:
        return self.name


@dataclass(frozen=True)
class BinnedFeature(RowFeature):
    """A number that is coded as the index of its bin between public edges."""

    name: str
    edges: tuple[str, ...]
    """bins + 1 increasing decimal strings. A bin includes its lower edge. Numbers beyond the first or last
    edge are clipped to the first or last bin."""
    missing: str = "error"
    """As for categories; NaN counts as missing. Infinity is refused."""
    ordered: ClassVar[bool] = True
    kind: ClassVar[str] = "binned"

    @cached_property
    def _inner(self) -> tuple[float, ...]:
        return tuple(float(edge) for edge in self.edges[1:-1])

    @property
    def texts(self) -> tuple[str, ...]:
        """Names of the codes, for people: "below 25000", "25000 to 50000", ..., "75000 and more"."""
        spans = [f"{low} to {high}" for low, high in zip(self.edges[:-1], self.edges[1:], strict=True)]
        if len(spans) > 1:
            spans[0], spans[-1] = f"below {self.edges[1]}", f"{self.edges[-2]} and more"
        return (*spans, MISSING_TEXT) if self.missing == "category" else tuple(spans)

    @property
    def size(self) -> int:
        return len(self.edges) - 1 + (self.missing == "category")

    @property
    def bounds(self) -> tuple[float, float]:
        return float(self.edges[0]), float(self.edges[-1])

    def code(self, value: object) -> int:
        """Return the index of a number's bin; raises RowError, which does not contain the number."""
        number = parse_number(value, self.name)
        if number is None:
            return encode_missing(self.name, self.missing, self.size)
        return self.code_number(number)

    def code_number(self, number: float) -> int:
        return bisect_right(self._inner, number)

    def is_clipped(self, value: object) -> bool:
        return _is_outside(parse_number(value, self.name), self.bounds)

    def from_text(self, text: str) -> object:
        return parse_number_cell(text, self.name)

    def as_dict(self) -> dict[str, Any]:
        return {"edges": list(self.edges), "kind": self.kind, "missing": self.missing, "name": self.name}


@dataclass(frozen=True)
class NumericFeature(RowFeature):
    """A number, clipped to public bounds and normalised to [-1, 1] (Yilmaz et al. 2019, section 3.2).

    Its code u stands for x = (u - GRID) / GRID; a missing number is one more code, the last.
    """

    name: str
    low: str
    high: str
    """The public bounds, as decimal strings; numbers beyond them are clipped."""
    missing: str = "error"
    """As for categories; NaN counts as missing. Infinity is refused."""
    spread: float | None = field(default=None, kw_only=True, repr=False, compare=False)
    """The standard deviation that the author expects, in the number's unit. It is not part of a plan."""
    moments: str = field(default=BOTH_MOMENTS, kw_only=True, repr=False, compare=False)
    """The moments that the author needs, one of `MOMENTS`. It is not part of a plan."""
    ordered: ClassVar[bool] = False
    kind: ClassVar[str] = "numeric"

    @property
    def size(self) -> int:
        return 2 * GRID + 1 + (self.missing == "category")

    @cached_property
    def bounds(self) -> tuple[float, float]:
        return float(self.low), float(self.high)

    @property
    def width(self) -> float:
        """One unit of x in the feature's own unit: half the range."""
        low, high = self.bounds
        return (high - low) / 2

    def original(self, x: Real) -> Real:
        return self.bounds[0] + (x + 1) * self.width

    def code(self, value: object) -> int:
        """Return the code of a number; raises RowError, which does not contain the number.

        In IEEE doubles: floor((x - low) / (high - low) * 2 GRID + .5), with x clipped first.
        """
        number = parse_number(value, self.name)
        if number is None:
            return encode_missing(self.name, self.missing, self.size)
        return self.code_number(number)

    def code_number(self, number: float) -> int:
        low, high = self.bounds
        clipped = min(max(number, low), high)
        return math.floor((clipped - low) / (high - low) * (2 * GRID) + 0.5)

    def is_clipped(self, value: object) -> bool:
        return _is_outside(parse_number(value, self.name), self.bounds)

    def from_text(self, text: str) -> object:
        return parse_number_cell(text, self.name)

    def as_dict(self) -> dict[str, Any]:
        return {
            "high": self.high,
            "kind": self.kind,
            "low": self.low,
            "missing": self.missing,
            "name": self.name,
        }


def _is_outside(number: float | None, bounds: tuple[float, float]) -> bool:
    return number is not None and not bounds[0] <= number <= bounds[1]


@dataclass(frozen=True)
class Label:
    """The label of a survey: the class attribute, with its public list of values."""

    name: str
    values: tuple[str, ...]
    """The k class labels, in the order of their codes; one empty text in a survey without a label."""

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {text: code for code, text in enumerate(self.values)}

    @property
    def exists(self) -> bool:
        return self.name != ""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,) * self.exists

    def code(self, value: object) -> int:
        """Return the index of a label; raises RowError, which does not contain the value."""
        if not self.exists:
            if not is_missing(value):
                raise RowError("label", "this survey has no label: pass only the row")
            return 0
        if is_missing(value):
            raise RowError(self.name, "the label is missing: pass it after the row")
        return look_up_category(value, self._codes, self.name, self.values)

    def meaning(self, code: int) -> dict[str, str]:
        return {self.name: self.values[code]} if self.exists else {}

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "values": list(self.values)}

    def as_entries(self) -> dict[str, Any]:
        """Return the entries of a plan's JSON document: ``label``, or none without a label."""
        return {"label": self.as_dict()} if self.exists else {}


NO_LABEL = Label("", ("",))
"""Of a survey without a label: all people are in one class, which is never asked for or shown."""


@dataclass(frozen=True)
class CategoricalFeature(RowFeature):
    """A feature with a public list of values."""

    name: str
    values: tuple[str, ...]
    missing: str = "error"
    """"category": a missing value is one more category. "error": it is refused."""
    ordered: bool = False
    """Whether the order of the values has a meaning, so that the results have a median and quartiles."""
    kind: ClassVar[str] = "categorical"

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {text: code for code, text in enumerate(self.values)}

    @property
    def texts(self) -> tuple[str, ...]:
        return self.values + ((MISSING_TEXT,) if self.missing == "category" else ())

    @property
    def size(self) -> int:
        return len(self.texts)

    def code(self, value: object) -> int:
        """Return the index of a value; raises RowError, which does not contain the value."""
        if is_missing(value):
            return encode_missing(self.name, self.missing, self.size)
        return look_up_category(value, self._codes, self.name, self.values)

    def from_text(self, text: str) -> object:
        return text

    def as_dict(self) -> dict[str, Any]:
        entry = {"kind": self.kind, "missing": self.missing, "name": self.name, "values": list(self.values)}
        return entry | ({"ordered": True} if self.ordered else {})


@dataclass(frozen=True)
class Choices(CategoricalFeature):
    """An entry of the row with several answers; `values` are its choices."""

    kind: ClassVar[str] = "choices"

    def features(self) -> tuple[ChoiceFeature, ...]:
        return tuple(
            ChoiceFeature(f"{self.name}: {choice}", TICKS, self.missing, entry=self, choice=choice)
            for choice in self.values
        )

    def ticked(self, value: object) -> frozenset[str] | None:
        """Return the ticked choices, None if missing; raises RowError, which does not contain the value."""
        if is_missing(value):
            encode_missing(self.name, self.missing, 1)
            return None
        # an iterator could be read once only, and the keys of a mapping do not say what is ticked
        refused = isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", 1) != 1
        if refused or not isinstance(value, Collection):
            raise RowError(self.name, f"must be a list of the ticked choices, not a {type(value).__name__}")
        texts = {category_text(each) for each in value}
        if not texts <= set(self.values):
            known = quote_values(self.values)
            raise RowError(self.name, f"contains something else than the survey's choices: {known}")
        return frozenset(filter(None, texts))

    def codes(self, value: object) -> tuple[int, ...]:
        """Return the code of each choice: 0 for no, 1 for yes, 2 if the answer is missing."""
        ticked = self.ticked(value)
        return tuple(2 if ticked is None else int(each in ticked) for each in self.values)

    def code(self, value: object) -> int:
        self.ticked(value)
        return 0

    def from_text(self, text: str) -> object:
        """Read a cell of a CSV file, such as ``a; c``. An empty one is missing, and ``;`` ticks nothing."""
        if not text.strip():
            return None
        return [each.strip() for each in text.split(SEPARATOR) if each.strip()]


@dataclass(frozen=True)
class ChoiceFeature(CategoricalFeature):
    """Whether a person ticks one choice of an entry."""

    entry: Choices = Choices("", ())
    choice: str = ""

    @property
    def row_name(self) -> str:
        return self.entry.name

    def code(self, value: object) -> int:
        """Return the code of a list of ticked choices; raises RowError, which does not contain the value."""
        return self.entry.codes(value)[self.entry.values.index(self.choice)]

    def as_dict(self) -> dict[str, Any]:
        return self.entry.as_dict() | {"choice": self.choice}


Feature = CategoricalFeature | BinnedFeature | NumericFeature


def row_entries(features: Iterable[Feature]) -> tuple[Feature, ...]:
    """Return the entries of the row that features code: one for all choices of an entry."""
    entries = (each.entry if isinstance(each, ChoiceFeature) else each for each in features)
    return tuple(dict.fromkeys(entries))


def split_choices(entries: Iterable[Feature]) -> tuple[Feature, ...]:
    """Return the features of the entries of a row: one for each choice of an entry with several answers."""
    features: list[Feature] = []
    for each in entries:
        features += each.features() if isinstance(each, Choices) else [each]
    return tuple(features)


def entry_codes(entry: Feature, value: object) -> tuple[int, ...]:
    """Return the codes of the features of an entry of the row; raises RowError, without the value."""
    return entry.codes(value) if isinstance(entry, Choices) else (entry.code(value),)
