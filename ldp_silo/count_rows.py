"""Counts the rows of a silo: one table of counts (value, label) for each feature of the survey.

The exact counts are as secret as the rows. They go to :meth:`CountTable.perturb` and nowhere else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType

from encoders.canonical import normalise_person
from encoders.errors import RowError
from encoders.mechanisms.counted_table import soft_parts
from encoders.survey import row_cells
from encoders.survey.features import Feature, NumericFeature
from encoders.survey.silo_plan import SiloPlan
from ldp_silo.column_counts import ColumnCounts, UnfitTextError
from ldp_silo.rows_file import Chunk, FileDigest, RowsFile

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
