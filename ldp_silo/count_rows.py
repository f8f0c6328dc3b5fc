"""Counts the rows of a silo: one table of counts (value, label) for each feature of the survey.

The exact counts are as secret as the rows. They go to :meth:`CountTable.perturb` and nowhere else.
A column's cell index is the code of the feature; of a number without bins it is the step of a grid, see
:mod:`encoders.mechanisms.counted_table`. Each distinct text is coded once, as on a person's device, unless a
column has many distinct numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import Any

from encoders.canonical import normalise_person
from encoders.errors import RowError
from encoders.mechanisms.counted_table import place_code, soft_parts
from encoders.survey import row_cells
from encoders.survey.features import BinnedFeature, CategoricalFeature, Feature, NumericFeature, row_entries
from encoders.survey.row_cells import read_boolean
from encoders.survey.silo_plan import SiloPlan
from ldp_silo.rows_file import Chunk, FileDigest, RowsFile

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


MissingCodes = Mapping[str, Sequence[object]]
NO_CODES: MissingCodes = MappingProxyType({})
CHUNK_ROWS_PER_LABEL = 128
MAX_CHUNK_ROWS = 2048
"""Small chunks stay in the processor's cache, which halves the time."""


@dataclass(frozen=True)
class CountedRows:
    counts: list[int] = field(repr=False)
    """The cells of all tables, in the order and the units of the plan's mechanism."""
    rows: int
    file: FileDigest
    persons: Counter[str] = field(repr=False)
    """The number of rows of each person, by their name in Unicode NFC; it is empty if no column names the
    persons."""
    clipped: tuple[str, ...]
    notes: tuple[str, ...] = field(repr=False)
    """How many cells were clipped and how many rows left out: only for those who hold the rows."""


def count_rows(
    plan: SiloPlan, file: RowsFile, person: str | None = None, codes: MissingCodes = NO_CODES
) -> CountedRows:
    """Read and count all rows of a file that is open and not read yet.

    `person` is the column that names the person of each row, and `codes` are codes for missing answers.
    Raises RowError if a row does not fit the survey, there are no rows or more than the survey allows, a
    person has more rows than the survey allows, or the file changes while it is read. It names the column and
    the row, and contains no value.
    """
    table = _RowCounter(plan, file, person, codes)
    size = min(CHUNK_ROWS_PER_LABEL * len(plan.label.values), MAX_CHUNK_ROWS)
    for chunk in file.chunks(size):
        table.add(chunk)
    if not table.rows:
        empty = "has no rows, so nothing was counted: give a file with rows"
        raise RowError(file.name, row_cells.ALL_DROPPED if table.dropped else empty)
    digest, counts = file.finish(), table.finish()
    clipped = [pair for pair in zip(plan.features, table.columns, strict=True) if pair[1].outside]
    notes = [row_cells.describe_outside(each, column.outside, table.rows) for each, column in clipped]
    if table.dropped:
        notes.append(row_cells.describe_dropped(table.dropped, table.rows + table.dropped))
    names = tuple(each.name for each, _ in clipped)
    return CountedRows(counts, table.rows, digest, table.persons, names, tuple(notes))


def find_rows(file: RowsFile, person: str, names: Collection[str]) -> list[int]:
    index = file.find_column(person)
    return [
        number
        for chunk in file.chunks(MAX_CHUNK_ROWS)
        for number, row in enumerate(chunk.rows, chunk.first)
        if normalise_person(row[index]) in names
    ]


class _RowCounter:
    """Counts chunks of rows, divided by label: one call of `Counter.update` counts a column of a label."""

    def __init__(self, plan: SiloPlan, file: RowsFile, person: str | None, codes: MissingCodes) -> None:
        self._plan, self._file = plan, file
        entries = row_cells.set_missing_codes(plan.entries, codes)
        self._coded = [(file.find_column(each.name), each) for each in entries if each.missing_codes]
        self._label_places = [file.find_column(name) for name in plan.label.names]
        self._places = [file.find_column(feature.row_name) for feature in plan.features]
        self._person_name = person or ""
        self._person_place = file.find_column(person) if person is not None else None
        self._label_codes: dict[str, int] = {}
        self.columns = [ColumnCounts(feature, len(plan.label.values)) for feature in plan.features]
        self.persons: Counter[str] = Counter()
        self.rows = self.dropped = 0

    def add(self, chunk: Chunk) -> None:
        kept = [row for row in chunk.rows if self._blank_codes(row)] if self._coded else chunk.rows
        self.rows += len(kept)
        self.dropped += len(chunk.rows) - len(kept)
        if self.rows > self._plan.rows:
            raise RowError(
                self._file.name,
                f"has more than {self._plan.rows} rows, the limit of one message: split it into epochs",
            )
        if self._person_place is not None:
            self._add_persons(chunk, self._person_place)
        if not self._label_places:
            if kept:
                self._add_cells(chunk, 0, kept)
            return
        (index,) = self._label_places
        rows_by_text: dict[str, list[list[str]]] = {}
        for row in kept:
            rows_by_text.setdefault(row[index], []).append(row)
        for text, rows in rows_by_text.items():
            if text not in self._label_codes:
                self._label_codes[text] = self._code_label(chunk, index, text)
            self._add_cells(chunk, self._label_codes[text], rows)

    def _add_cells(self, chunk: Chunk, label: int, rows: Sequence[Sequence[str]]) -> None:
        cells = list(zip(*rows, strict=True))
        for feature, column, index in zip(self._plan.features, self.columns, self._places, strict=True):
            try:
                column.add(label, cells[index])
            except UnfitTextError as unfit:
                row = chunk.find_row(index, unfit.text)
                raise RowError(feature.row_name, f"row {row}: {unfit.error.why}") from None

    def _blank_codes(self, row: list[str]) -> bool:
        """Empty the cells with missing codes; return False if a feature has no category for them."""
        for index, entry in self._coded:
            with suppress(RowError):  # counting names the row of a cell that is no number
                if row_cells.is_missing_code(entry, entry.from_text(row[index])):
                    if entry.missing == "error":
                        return False
                    row[index] = ""
        return True

    def _code_label(self, chunk: Chunk, index: int, text: str) -> int:
        label = self._plan.label
        try:
            return label.code(row_cells.read_boolean(text, label.values))
        except RowError as error:
            row = chunk.find_row(index, text)
            raise RowError(label.name, f"row {row}: {error.why}") from None

    def _add_persons(self, chunk: Chunk, index: int) -> None:
        most = self._plan.rows_per_person
        for number, row in enumerate(chunk.rows, chunk.first):
            name = normalise_person(row[index])
            self.persons[name] += 1
            if not name:
                raise RowError(self._person_name, f"row {number}: has no person's id: fill in the cell")
            if self.persons[name] > most:
                raise RowError(
                    self._person_name,
                    f"row {number}: this person has more than {most} row{'s' * (most > 1)} in the file, the "
                    "most that the survey allows (rows_per_person): remove rows",
                )

    def finish(self) -> list[int]:
        mechanism = self._plan.mechanism
        cells = [0] * mechanism.cells
        for feature, column, table in zip(self._plan.features, self.columns, mechanism.tables, strict=True):
            for label, counts in enumerate(column.finish()):
                for index, number in counts.items():
                    for value, part in _parts(feature, index):
                        cells[table.start + value * table.labels + label] += part * number
        return cells


def _parts(feature: Feature, index: int) -> Sequence[tuple[int, int]]:
    if isinstance(feature, NumericFeature):
        return list(enumerate(soft_parts(index, feature.missing == "category")))
    return [(index, 1)]
