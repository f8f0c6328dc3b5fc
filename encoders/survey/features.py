"""The label and the features of a survey; each codes its values as integers.

This module has labels and categories; numbers are in numeric_features.py.

Values are coded before anything is drawn and before any privacy budget is spent. A code is an index. A
missing value is a separate category, the last one, because skipping a question without an answer would reveal
that the answer is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from encoders.errors import RowError
from encoders.survey.numeric_features import BinnedFeature, NumericFeature, RowFeature
from encoders.survey.parse_value import MISSING_TEXT, category_text, encode_missing, is_missing, unwrap_scalar

_MAX_LISTED_VALUES = 12


@dataclass(frozen=True)
class Label:
    """The label of a survey: the class attribute, with its public list of values."""

    name: str
    values: tuple[str, ...]
    """The k class labels, in the order of their codes; one empty text in a survey without a label."""
    _codes: dict[str, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._codes.update((text, code) for code, text in enumerate(self.values))

    @property
    def exists(self) -> bool:
        """Whether the survey has a label."""
        return self.name != ""

    @property
    def names(self) -> tuple[str, ...]:
        """The name of the label, if it exists."""
        return (self.name,) * self.exists

    def code(self, value: object) -> int:
        """Return the index of a label; raises RowError, which does not contain the value."""
        if not self.exists:
            if not is_missing(value):
                raise RowError("label", "this survey has no label: pass only the row")
            return 0
        if is_missing(value):
            raise RowError(self.name, "the label is missing: pass it after the row")
        return _look_up(value, self._codes, self.name, self.values)

    def meaning(self, code: int) -> dict[str, str]:
        """Return a class in words, by the label's name."""
        return {self.name: self.values[code]} if self.exists else {}

    def as_dict(self) -> dict[str, Any]:
        """Return this object as its entry in a plan's JSON document."""
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
    _codes: dict[str, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._codes.update((text, code) for code, text in enumerate(self.values))

    @property
    def texts(self) -> tuple[str, ...]:
        """The name of each code, for people."""
        return self.values + ((MISSING_TEXT,) if self.missing == "category" else ())

    @property
    def size(self) -> int:
        """Number of codes, A_i."""
        return len(self.texts)

    def code(self, value: object) -> int:
        """Return the index of a value; raises RowError, which does not contain the value."""
        if is_missing(value):
            return encode_missing(self.name, self.missing, self.size)
        return _look_up(value, self._codes, self.name, self.values)

    def from_text(self, text: str) -> object:
        """Read a cell of a CSV file."""
        return text

    def as_dict(self) -> dict[str, Any]:
        """Return this object as its entry in a plan's JSON document."""
        entry = {"kind": self.kind, "missing": self.missing, "name": self.name, "values": list(self.values)}
        return entry | ({"ordered": True} if self.ordered else {})


Feature = CategoricalFeature | BinnedFeature | NumericFeature


def _look_up(value: object, codes: dict[str, int], name: str, values: tuple[str, ...]) -> int:
    text = category_text(value)
    if text is None:
        raise RowError(name, f"must be one of the survey's values, not a {type(value).__name__}")
    if text not in codes:
        shown = quote_values(values) + _read_as(unwrap_scalar(value))
        raise RowError(name, f"is not one of the survey's values: {shown}")
    return codes[text]


def quote_values(values: tuple[str, ...]) -> str:
    """Return the first values, in quotes."""
    shown = [f'"{each}"' for each in values[:_MAX_LISTED_VALUES]]
    return ", ".join(shown + ["..."] * (len(values) > _MAX_LISTED_VALUES))


def _read_as(value: object) -> str:
    """Return a note on how values of this type are written as categories, without the value itself."""
    if isinstance(value, bool):
        return ' (a bool is read as the text "true" or "false")'
    return "" if isinstance(value, str) else ' (a number is read as the text of its digits: 3 and 3.0 as "3")'
