"""Entries of a row with several answers: a list of ticked choices, each of which is a yes/no feature."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from encoders.errors import RowError
from encoders.survey.features import CategoricalFeature, Feature, quote_values
from encoders.survey.parse_value import category_text, encode_missing, is_missing

SEPARATOR = ";"
"""Separates the ticked choices in a cell of a CSV file."""
TICKS = ("no", "yes")
"""The values of the feature of one choice."""


@dataclass(frozen=True)
class Choices(CategoricalFeature):
    """An entry of the row with several answers; `values` are its choices."""

    kind: ClassVar[str] = "choices"

    def features(self) -> tuple[ChoiceFeature, ...]:
        """Return the yes/no feature of each choice."""
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
        """Check a list of ticked choices, which their features code."""
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
    """The entry of the row."""
    choice: str = ""

    @property
    def row_name(self) -> str:
        """Name of the row's entry."""
        return self.entry.name

    def code(self, value: object) -> int:
        """Return the code of a list of ticked choices; raises RowError, which does not contain the value."""
        return self.entry.codes(value)[self.entry.values.index(self.choice)]

    def as_dict(self) -> dict[str, Any]:
        """Return the entry and the choice; a plan lists the entry once."""
        return self.entry.as_dict() | {"choice": self.choice}


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
