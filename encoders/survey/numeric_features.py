"""Features whose values are numbers: put into bins, or clipped to public bounds and rounded to a grid.

The code of a number is an integer. For a binned feature it is the index of the bin. For a numeric feature it
is the nearest point of a grid over [-1, 1], so that all further steps on a device are integer arithmetic.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from encoders.arrays import FloatArray, IntArray, np
from encoders.errors import RowError
from encoders.mechanisms.numeric_base import GRID as GRID
from encoders.survey.parse_value import MISSING_TEXT, encode_missing, parse_number, parse_number_cell

Real = TypeVar("Real", float, "FloatArray")


@dataclass(frozen=True)
class RowFeature:
    """Codes the entry of the row with its name."""

    name: str
    missing_codes: tuple[str | float, ...] = field(default=(), kw_only=True, repr=False, compare=False)
    """Cells of files and tables that stand for a missing answer; no part of a plan, and not read here."""

    @property
    def row_name(self) -> str:
        """Name of the row's entry."""
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
    _inner: tuple[float, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "_inner", tuple(float(edge) for edge in self.edges[1:-1]))

    @property
    def texts(self) -> tuple[str, ...]:
        """Names of the codes, for people: "below 25000", "25000 to 50000", ..., "75000 and more"."""
        spans = [f"{low} to {high}" for low, high in zip(self.edges[:-1], self.edges[1:], strict=True)]
        if len(spans) > 1:
            spans[0], spans[-1] = f"below {self.edges[1]}", f"{self.edges[-2]} and more"
        return (*spans, MISSING_TEXT) if self.missing == "category" else tuple(spans)

    @property
    def size(self) -> int:
        """Number of codes, A_i."""
        return len(self.edges) - 1 + (self.missing == "category")

    @property
    def bounds(self) -> tuple[float, float]:
        """The first and the last edge."""
        return float(self.edges[0]), float(self.edges[-1])

    def code(self, value: object) -> int:
        """Return the index of a number's bin; raises RowError, which does not contain the number."""
        number = parse_number(value, self.name)
        if number is None:
            return encode_missing(self.name, self.missing, self.size)
        return bisect_right(self._inner, number)

    def code_array(self, numbers: FloatArray) -> IntArray:
        """Code m doubles at once, as `code` does one."""
        found = np.searchsorted(np.array(self._inner), numbers, side="right").astype(np.int64, copy=False)
        return _with_missing(self, found, numbers)

    def is_clipped(self, value: object) -> bool:
        """Return whether a number is beyond the first or last edge."""
        return _is_outside(parse_number(value, self.name), self.bounds)

    def from_text(self, text: str) -> object:
        """Read a cell of a CSV file: empty is missing."""
        return parse_number_cell(text, self.name)

    def as_dict(self) -> dict[str, Any]:
        """Return this object as its entry in a plan's JSON document."""
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
    ordered: ClassVar[bool] = False
    kind: ClassVar[str] = "numeric"

    @property
    def size(self) -> int:
        """Number of codes."""
        return 2 * GRID + 1 + (self.missing == "category")

    @property
    def bounds(self) -> tuple[float, float]:
        """The public bounds as doubles."""
        return float(self.low), float(self.high)

    @property
    def width(self) -> float:
        """One unit of x in the feature's own unit: half the range."""
        low, high = self.bounds
        return (high - low) / 2

    def original(self, x: Real) -> Real:
        """Return normalised numbers in the feature's own unit."""
        return self.bounds[0] + (x + 1) * self.width

    def code(self, value: object) -> int:
        """Return the code of a number; raises RowError, which does not contain the number.

        In IEEE doubles: floor((x - low) / (high - low) * 2 GRID + .5), with x clipped first.
        """
        number = parse_number(value, self.name)
        if number is None:
            return encode_missing(self.name, self.missing, self.size)
        low, high = self.bounds
        clipped = min(max(number, low), high)
        return math.floor((clipped - low) / (high - low) * (2 * GRID) + 0.5)

    def code_array(self, numbers: FloatArray) -> IntArray:
        """Code m doubles at once, as `code` does one."""
        low, high = self.bounds
        clipped = np.clip(np.where(np.isfinite(numbers), numbers, low), low, high)
        found = np.floor((clipped - low) / (high - low) * (2 * GRID) + 0.5).astype(np.int64)
        return _with_missing(self, found, numbers)

    def is_clipped(self, value: object) -> bool:
        """Return whether a number is beyond its bounds."""
        return _is_outside(parse_number(value, self.name), self.bounds)

    def from_text(self, text: str) -> object:
        """Read a cell of a CSV file: empty is missing."""
        return parse_number_cell(text, self.name)

    def as_dict(self) -> dict[str, Any]:
        """Return this object as its entry in a plan's JSON document."""
        return {
            "high": self.high,
            "kind": self.kind,
            "low": self.low,
            "missing": self.missing,
            "name": self.name,
        }


def _is_outside(number: float | None, bounds: tuple[float, float]) -> bool:
    return number is not None and not bounds[0] <= number <= bounds[1]


def _with_missing(feature: BinnedFeature | NumericFeature, codes: IntArray, numbers: FloatArray) -> IntArray:
    """Give NaN the code of a missing value; raise RowError for infinity, or if no value may be missing."""
    gaps = np.flatnonzero(~np.isfinite(numbers))
    refused = gaps if feature.missing == "error" else gaps[np.isinf(numbers[gaps])]
    if len(refused):
        row = int(refused[0])
        try:
            feature.code(float(numbers[row]))
        except RowError as error:
            raise RowError(feature.name, f"row {row + 1}: {error.why}") from error
    codes[gaps] = feature.size - 1
    return codes
