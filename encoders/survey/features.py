"""What a survey knows of a row: its label and its features, and how each value becomes a code.

Coding happens before any randomness and before any budget is spent. A code is an index; a missing
value is a category of its own, the last one, because skipping a question whose answer is missing
would reveal that it is.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar

from encoders.errors import RowError

MISSING_TEXT = "(missing)"
_SHOWN = 12
_LONGEST_INTEGER = 10**100
_LARGEST = int(sys.float_info.max)


@dataclass(frozen=True)
class Label:
    """The class a row belongs to.

    Attributes
    ----------
    name : str
    values : tuple of str
        The k class labels, in the order of their codes.
    """

    name: str
    values: tuple[str, ...]
    _codes: dict[str, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._codes.update((text, code) for code, text in enumerate(self.values))

    def code(self, value: object) -> int:
        """Return the index of a label; raises RowError without repeating the value."""
        if is_missing(value):
            raise RowError(self.name, "the label is missing")
        return _look_up(value, self._codes, self.name, self.values)

    def as_dict(self) -> dict[str, Any]:
        """Return the plan's form."""
        return {"name": self.name, "values": list(self.values)}


@dataclass(frozen=True)
class CategoricalFeature:
    """A feature with a public list of values.

    Attributes
    ----------
    name : str
    values : tuple of str
    missing : str
        "category": a missing value is one more category; "error": it is refused.
    """

    name: str
    values: tuple[str, ...]
    missing: str = "error"
    kind: ClassVar[str] = "categorical"
    _codes: dict[str, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._codes.update((text, code) for code, text in enumerate(self.values))

    @property
    def texts(self) -> tuple[str, ...]:
        """Names of the codes, for people."""
        return self.values + ((MISSING_TEXT,) if self.missing == "category" else ())

    @property
    def size(self) -> int:
        """Number of codes, A_i."""
        return len(self.texts)

    def code(self, value: object) -> int:
        """Return the index of a value; raises RowError without repeating the value."""
        if is_missing(value):
            return missing_code(self)
        return _look_up(value, self._codes, self.name, self.values)

    def from_text(self, text: str) -> object:
        """Read a cell of a CSV file."""
        return text

    def as_dict(self) -> dict[str, Any]:
        """Return the plan's form."""
        return {"kind": self.kind, "missing": self.missing, "name": self.name, "values": list(self.values)}


@dataclass(frozen=True)
class BinnedFeature:
    """A number, coded as the bin of public edges that holds it.

    Attributes
    ----------
    name : str
    edges : tuple of str
        bins + 1 increasing decimal strings. A bin includes its lower edge; numbers outside the first
        and last edge are clipped into the first and last bin.
    missing : str
        As for categories; NaN and infinity count as missing.
    """

    name: str
    edges: tuple[str, ...]
    missing: str = "error"
    kind: ClassVar[str] = "binned"
    _inner: tuple[float, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "_inner", tuple(float(edge) for edge in self.edges[1:-1]))

    @property
    def texts(self) -> tuple[str, ...]:
        """Names of the codes, for people: "0 to 25000", ..., "75000 and more"."""
        spans = [f"{low} to {high}" for low, high in zip(self.edges[:-1], self.edges[1:], strict=True)]
        if len(spans) > 1:
            spans[0], spans[-1] = f"below {self.edges[1]}", f"{self.edges[-2]} and more"
        return (*spans, MISSING_TEXT) if self.missing == "category" else tuple(spans)

    @property
    def size(self) -> int:
        """Number of codes, A_i."""
        return len(self.edges) - 1 + (self.missing == "category")

    def code(self, value: object) -> int:
        """Return the index of the bin that holds a number; raises RowError without repeating it."""
        if is_missing(value):
            return missing_code(self)
        plain = _plain(value)
        if isinstance(plain, bool) or not isinstance(plain, int | float | Decimal):
            raise RowError(self.name, f"must be a number, not {type(value).__name__}")
        number = _number(plain)
        return bisect_right(self._inner, number) if math.isfinite(number) else missing_code(self)

    def from_text(self, text: str) -> object:
        """Read a cell of a CSV file: empty is missing."""
        if not text.strip():
            return None
        with suppress(ValueError):
            return float(text)
        raise RowError(self.name, "must be a number")  # out of reach of the error that quotes the text

    def as_dict(self) -> dict[str, Any]:
        """Return the plan's form."""
        return {"edges": list(self.edges), "kind": self.kind, "missing": self.missing, "name": self.name}


Feature = CategoricalFeature | BinnedFeature
Scalar = None | bool | int | float | Decimal | str


def is_missing(value: object) -> bool:
    """Tell whether a value means "no answer": None, NaN, pandas' NA or an empty text."""
    plain = _plain(value)
    if isinstance(plain, Decimal):
        return plain.is_nan()
    if isinstance(plain, float):
        return math.isnan(plain)
    return plain is None or (isinstance(plain, str) and plain == "")


def missing_code(feature: Feature) -> int:
    """Return the code of a missing value, where the survey has one."""
    if feature.missing != "category":
        raise RowError(
            feature.name, 'is missing, and the survey has no category for that (missing = "category")'
        )
    return feature.size - 1


def text_of(value: object) -> str | None:
    """Spell a category as the survey does: text as it is, 3 and 3.0 as "3", True as "true"; else None."""
    value = _plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int):
        return str(value) if abs(value) < _LONGEST_INTEGER else None
    return value if isinstance(value, str) else None


def _plain(value: object) -> Scalar | object:
    """Unwrap numpy's scalars, read its and pandas' words for missing; leave what is no single value."""
    if isinstance(value, Scalar):
        return value
    if type(value).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return None
    if getattr(value, "shape", None) == () and getattr(getattr(value, "dtype", None), "kind", "") in "biuf":
        number: object = value.item()  # type: ignore[attr-defined]
        return number if isinstance(number, Scalar) else float(number)  # type: ignore[arg-type]
    return value


def _number(value: int | float | Decimal) -> float:
    """Return a number as a double; a finite one stays finite, however large."""
    if isinstance(value, float) or (isinstance(value, Decimal) and value.is_infinite()):
        return float(value)
    return float(min(max(value, -_LARGEST), _LARGEST))


def _look_up(value: object, codes: dict[str, int], name: str, values: tuple[str, ...]) -> int:
    text = text_of(value)
    if text is None:
        raise RowError(name, f"must be one of the survey's values, not a {type(value).__name__}")
    if text not in codes:
        shown = ", ".join(values[:_SHOWN]) + (", ..." if len(values) > _SHOWN else "")
        raise RowError(name, f"is not one of the survey's values: {shown}")
    return codes[text]
