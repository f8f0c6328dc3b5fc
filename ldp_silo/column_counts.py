"""Counts one column of a silo's rows: how many rows of each label have each cell index of the feature.

A cell index is the code of the feature; of a number without bins it is the step of a grid, see
:mod:`encoders.mechanisms.counted_table`. Each distinct text is coded once, as on a person's device. A column
with many distinct numbers is sorted instead, and counted between the least numbers of each cell index.
"""

from __future__ import annotations

import math
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import Any, Protocol

from encoders.errors import RowError
from encoders.mechanisms.counted_table import STEPS, place_code
from encoders.survey.features import (
    GRID,
    BinnedFeature,
    CategoricalFeature,
    Feature,
    NumericFeature,
    row_entries,
)
from encoders.survey.row_cells import read_boolean

MAX_TEXTS = 1000
"""A column of numbers with more distinct texts is counted by sorting."""
BUFFERED_NUMBERS = 1 << 15
"""Numbers of one column that wait to be sorted; each label has an equal part."""


class UnfitTextError(Exception):
    """A text that does not fit the survey, and the reason; never shown, because it holds the text."""

    def __init__(self, text: str, error: RowError) -> None:
        super().__init__()
        self.text, self.error = text, error


class ColumnCounts(Protocol):
    """Counts the cells of one feature, by label."""

    outside: Counter[float]
    """How many cells have each number beyond the public bounds; NaN stands for the rare ones among many."""

    def add(self, label: int, cells: Sequence[str]) -> None:
        """Count the cells of rows that have the same label; raise UnfitTextError if one does not fit."""

    def finish(self) -> list[Counter[int]]:
        """Return the number of rows with each cell index, for each label."""


def count_column(feature: Feature, labels: int) -> ColumnCounts:
    """Return an object that counts the column of a feature in a survey with this number of labels."""
    if isinstance(feature, CategoricalFeature):
        return CategoryCounts(feature, labels)
    return NumberCounts(feature, labels)


class _TextCounts:
    """Counts the distinct texts of a column by label, and codes each of them once."""

    def __init__(self, labels: int, code: Callable[[str], int]) -> None:
        self._code = code
        self._places: dict[str, int] = {}
        self._texts: list[Counter[str]] = [Counter() for _ in range(labels)]

    def __len__(self) -> int:
        return len(self._places)

    def add(self, label: int, cells: Sequence[str]) -> None:
        texts = self._texts[label]
        known = len(texts)
        texts.update(cells)
        for text in islice(reversed(texts), len(texts) - known):
            self.find_place(text)

    def items(self) -> Iterator[tuple[str, int]]:
        return chain.from_iterable(texts.items() for texts in self._texts)

    def find_place(self, text: str) -> int:
        if text not in self._places:
            try:
                self._places[text] = self._code(text)
            except RowError as error:
                raise UnfitTextError(text, error) from None
        return self._places[text]

    def take(self) -> list[Counter[int]]:
        """Return the number of rows with each cell index, for each label, and forget the texts."""
        found: list[Counter[int]] = [Counter() for _ in self._texts]
        for counts, texts in zip(found, self._texts, strict=True):
            for text, number in texts.items():
                counts[self._places[text]] += number
            texts.clear()
        self._places.clear()
        return found


class CategoryCounts:
    """Counts the texts of a column; all texts are those of the survey's values."""

    def __init__(self, feature: CategoricalFeature, labels: int) -> None:
        self._feature, self.outside = feature, Counter[float]()
        [self._entry] = row_entries([feature])
        self._texts = _TextCounts(labels, self._code)

    def add(self, label: int, cells: Sequence[str]) -> None:
        self._texts.add(label, cells)

    def _code(self, text: str) -> int:
        return self._feature.code(read_boolean(self._entry.from_text(text), self._feature.values))

    def finish(self) -> list[Counter[int]]:
        return self._texts.take()


class NumberCounts:
    """Counts the numbers of a column: distinct texts at first, and sorted numbers if there are many."""

    def __init__(self, feature: BinnedFeature | NumericFeature, labels: int) -> None:
        self._feature, self.outside = feature, Counter[float]()
        self._texts = _TextCounts(labels, self._code)
        self._numbers = [array("d") for _ in range(labels)]
        self._buffered = BUFFERED_NUMBERS // labels
        self._counts: list[Counter[int]] = [Counter() for _ in range(labels)]
        self._least_numbers: list[float] = []
        self._is_sorting = False

    def add(self, label: int, cells: Sequence[str]) -> None:
        if not self._is_sorting:
            self._add_texts(label, cells)
        elif not self._add_numbers(label, cells):  # one by one, to find the cell that is not a finite number
            self._add_texts(label, cells)
            self._count_texts()

    def finish(self) -> list[Counter[int]]:
        self._count_texts()
        for label in range(len(self._numbers)):
            self._count_numbers(label)
        return self._counts

    def _add_texts(self, label: int, cells: Sequence[str]) -> None:
        self._texts.add(label, cells)
        if len(self._texts) > MAX_TEXTS and not self._is_sorting:
            self._count_texts()
            self._is_sorting = True
            self._least_numbers = find_least_numbers(self._feature)

    def _code(self, text: str) -> int:
        value = self._feature.from_text(text)
        code = self._feature.code(value)
        return place_code(code) if isinstance(self._feature, NumericFeature) else code

    def _count_texts(self) -> None:
        for text, number in self._texts.items():
            value = self._feature.from_text(text)
            if self._feature.is_clipped(value):
                self._count_outside({value: number})
        for counts, found in zip(self._counts, self._texts.take(), strict=True):
            counts.update(found)

    def _add_numbers(self, label: int, cells: Sequence[str]) -> bool:
        """Buffer the numbers; return False, and buffer nothing, if a cell is not a finite number or empty."""
        present = list(filter(None, cells))
        try:
            numbers = list(map(float, present))
        except ValueError:
            return False
        if not math.isfinite(sum(numbers)):  # NaN and infinity pass through a sum
            return False
        if len(present) < len(cells):
            self._counts[label][self._texts.find_place("")] += len(cells) - len(present)
        buffer = self._numbers[label]
        buffer += array("d", numbers)
        if len(buffer) >= self._buffered:
            self._count_numbers(label)
        return True

    def _count_outside(self, numbers: Any) -> None:
        self.outside.update(numbers)
        if len(self.outside) > BUFFERED_NUMBERS:  # NaN stands for the numbers that are rare
            common = Counter(dict(self.outside.most_common(MAX_TEXTS)))
            common[math.nan] += self.outside.total() - common.total()
            self.outside = common

    def _count_numbers(self, label: int) -> None:
        ordered = sorted(self._numbers[label])
        self._numbers[label] = array("d")
        if not ordered:
            return
        low, high = self._feature.bounds
        self._count_outside(ordered[: bisect_left(ordered, low)] + ordered[bisect_right(ordered, high) :])
        below = [bisect_left(ordered, least) for least in self._least_numbers]
        counts = self._counts[label]
        for index, (start, end) in enumerate(pairwise([0, *below, len(ordered)])):
            if end > start:
                counts[index] += end - start


def find_least_numbers(feature: BinnedFeature | NumericFeature) -> list[float]:
    """Return the least double of each cell index from 1 on: indices grow with the numbers."""
    if isinstance(feature, BinnedFeature):
        return [float(edge) for edge in feature.edges[1:-1]]
    return [_find_least_number(feature, index) for index in range(1, STEPS + 1)]


def _find_least_number(feature: NumericFeature, index: int) -> float:
    """Return the least double at or above a step of the grid, by bisection around its approximate value."""
    low, high = feature.bounds
    code = (2 * index - 1) * GRID // STEPS
    guess = _rank(low + (code - 0.5) / (2 * GRID) * (high - low))
    below, above, step = guess, guess, 1
    while place_code(feature.code(_double(below))) >= index:
        below, step = max(below - step, _rank(low)), 2 * step
    while place_code(feature.code(_double(above))) < index:
        above, step = min(above + step, _rank(high)), 2 * step
    while above - below > 1:
        middle = (below + above) // 2
        if place_code(feature.code(_double(middle))) < index:
            below = middle
        else:
            above = middle
    return _double(above)


def _rank(number: float) -> int:
    """Return an integer that orders the doubles: neighbours differ by one."""
    bits = int.from_bytes(struct.pack("<d", number), "little", signed=True)
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF) - 1


def _double(rank: int) -> float:
    bits = rank if rank >= 0 else (-(rank + 1)) | (1 << 63)
    (number,) = struct.unpack("<d", struct.pack("<Q", bits))
    return float(number)
