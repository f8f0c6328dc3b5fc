"""Counts one column of a silo's rows: how many rows of each label have each cell index of the feature.

A cell index is the code of the feature; of a number without bins it is the step of a grid, see
:mod:`encoders.mechanisms.counted_table`. Each distinct text is coded once, as on a person's device, unless a
column has many distinct numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

from encoders.errors import RowError
from encoders.mechanisms.counted_table import place_code
from encoders.survey.features import BinnedFeature, CategoricalFeature, Feature, NumericFeature, row_entries
from encoders.survey.row_cells import read_boolean

MAX_TEXTS = 1000
"""A column of numbers with more distinct texts is coded number by number."""
MAX_OUTSIDE = 1 << 15


class UnfitTextError(Exception):
    """A text that does not fit the survey, and the reason; never shown, because it holds the text."""

    def __init__(self, text: str, error: RowError) -> None:
        super().__init__()
        self.text, self.error = text, error


class ColumnCounts:
    """Counts the cells of one feature, by label."""

    def __init__(self, feature: Feature, labels: int) -> None:
        self._feature = feature
        [self._entry] = row_entries([feature])
        self._indices: dict[str, int] = {}
        self._texts: list[Counter[str]] = [Counter() for _ in range(labels)]
        self._counts: list[Counter[int]] = [Counter() for _ in range(labels)]
        self._has_many = False
        self.outside = Counter[float]()
        """How many cells have each number beyond the public bounds; NaN stands for many rare ones."""

    def add(self, label: int, cells: Sequence[str]) -> None:
        """Count the cells of rows that have the same label; raise UnfitTextError if one does not fit."""
        if not self._has_many or not self._add_numbers(label, cells):
            self._add_texts(label, cells)

    def finish(self) -> list[Counter[int]]:
        """Return the number of rows with each cell index, for each label."""
        self._count_texts()
        return self._counts

    def _add_texts(self, label: int, cells: Sequence[str]) -> None:
        texts = self._texts[label]
        known = len(texts)
        texts.update(cells)
        for text in islice(reversed(texts), len(texts) - known):
            if text not in self._indices:
                self._indices[text] = self._find_index(text)
        if len(self._indices) > MAX_TEXTS and not isinstance(self._feature, CategoricalFeature):
            self._count_texts()
            self._has_many = True

    def _find_index(self, text: str) -> int:
        try:
            value = self._entry.from_text(text)
            if isinstance(self._feature, CategoricalFeature):
                return self._feature.code(read_boolean(value, self._feature.values))
            code = self._feature.code(value)
        except RowError as error:
            raise UnfitTextError(text, error) from None
        return place_code(code) if isinstance(self._feature, NumericFeature) else code

    def _count_texts(self) -> None:
        for counts, texts in zip(self._counts, self._texts, strict=True):
            for text, number in texts.items():
                counts[self._indices[text]] += number
                if not isinstance(self._feature, CategoricalFeature):
                    value = self._feature.from_text(text)
                    self._count_outside({value: number} if self._feature.is_clipped(value) else {})
            texts.clear()
        self._indices.clear()

    def _add_numbers(self, label: int, cells: Sequence[str]) -> bool:
        """Count numbers; return False, and count nothing, if a cell is not a finite number or empty."""
        assert isinstance(self._feature, BinnedFeature | NumericFeature)
        present = list(filter(None, cells))
        try:
            numbers = list(map(float, present))
        except ValueError:
            return False
        if not math.isfinite(sum(numbers)):  # NaN and infinity pass through a sum
            return False
        counts = self._counts[label]
        if len(present) < len(cells):
            counts[self._find_index("")] += len(cells) - len(present)
        codes = map(self._feature.code_number, numbers)
        counts.update(map(place_code, codes) if isinstance(self._feature, NumericFeature) else codes)
        low, high = self._feature.bounds
        self._count_outside([each for each in numbers if not low <= each <= high])
        return True

    def _count_outside(self, numbers: Any) -> None:
        self.outside.update(numbers)
        if len(self.outside) > MAX_OUTSIDE:  # NaN stands for the numbers that are rare
            common = Counter(dict(self.outside.most_common(MAX_TEXTS)))
            common[math.nan] += self.outside.total() - common.total()
            self.outside = common
