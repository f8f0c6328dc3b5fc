"""Reads the CSV file of a silo: in chunks, hashed while it is read, and refused if it changes meanwhile."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from operator import length_hint
from pathlib import Path
from typing import TYPE_CHECKING

from encoders.canonical import to_nfc
from encoders.errors import RowError
from encoders.file_kind import describe_other
from encoders.rows_csv import check_widths, read_header, read_record
from ldp_client.errors import ClientError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BUFFER_BYTES = 1 << 18
KEY_BYTES = 32


class RepeatedRowsError(ClientError, reason="repeated-rows"):
    """The rows were counted in an earlier epoch; nothing was drawn."""


@dataclass(frozen=True, slots=True)
class FileDigest:
    size: int
    digest: bytes


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of the file."""

    first: int
    """Number of the first row, counted from 1 without the header and blank lines."""
    rows: list[list[str]]
    """As many cells per row as the header has."""

    def find_row(self, column: int, text: str) -> int:
        """Return the number of the first row with this text in a column."""
        return self.first + next(place for place, row in enumerate(self.rows) if row[column] == text)


class RowsFile:
    """A CSV file with a header, open for one pass; use :func:`open_rows`."""

    def __init__(self, path: Path, raw: _HashingReader, multiline: bool = False) -> None:
        self.name, self._multiline = path.name, multiline
        self._path, self._raw = path, raw
        self._before = os.fstat(raw.fileno())
        text = io.TextIOWrapper(io.BufferedReader(raw, BUFFER_BYTES), encoding="utf-8-sig", newline="")
        self._text = text
        with self._file_errors():
            records = csv.reader(text, strict=True)
            self.header = read_header(records, multiline=multiline)
        self._lines_read = records.line_num

    def find_column(self, name: str) -> int:
        name = to_nfc(name)
        found = self.header.count(name)
        if found != 1:
            problem = (
                f"has {found} columns of this name: rename one" if found else "has no such column: add it"
            )
            raise RowError(name, f"{self.name} {problem}")
        return self.header.index(name)

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yield all rows in chunks of at most `size` lines; blank lines are skipped."""
        width, first = len(self.header), 1
        while True:
            with self._file_errors():
                lines = list(islice(self._text, size))
                rows = self._split_lines(lines)
                check_widths(rows, width, first)
            if not lines:
                return
            if rows:
                yield Chunk(first, rows)
            first += len(rows)

    def _split_lines(self, lines: list[str]) -> list[list[str]]:
        """Return the rows that begin in some lines; a quoted cell may continue in the lines after them."""
        if '"' not in "".join(lines):  # two thirds of the time of csv
            self._lines_read += len(lines)
            return [line.split(",") for line in (each.rstrip("\r\n") for each in lines) if line]
        with suppress(csv.Error):
            rows = list(csv.reader(lines, strict=True))
            if len(rows) == len(lines):  # each record is one line, so they need no check one by one
                self._lines_read += len(lines)
                return list(filter(None, rows))
        left = iter(lines)
        records = csv.reader(chain(left, self._text), strict=True)
        found = []
        while length_hint(left):
            found.append(read_record(records, multiline=self._multiline, lines_before=self._lines_read))
        self._lines_read += records.line_num
        return list(filter(None, found))

    def finish(self) -> FileDigest:
        """Return the digest of the whole file, after its last row; raise RowError if the file has changed."""
        after = [os.fstat(self._raw.fileno())]
        try:
            after.append(os.stat(self._path))
        except OSError:
            raise RowError(
                self.name, "was removed while it was read, so nothing was counted; run again"
            ) from None
        is_same = all(_version(each) == _version(self._before) for each in after)
        if not is_same or self._raw.digest.size != self._before.st_size:
            raise RowError(self.name, "was changed while it was read, so nothing was counted: run again")
        return self._raw.digest

    @contextmanager
    def _file_errors(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError:
            raise RowError(
                self.name, "is not a CSV file in UTF-8: save it as one"
            ) from None  # the cause quotes the content
        except csv.Error as error:
            raise RowError(self.name, str(error)) from None
        except OSError as error:
            raise RowError(self.name, f"cannot be read: {error.strerror}") from error


@contextmanager
def open_rows(
    path: str | os.PathLike[str], key: bytes, earlier: Sequence[FileDigest] = (), multiline: bool = False
) -> Iterator[RowsFile]:
    """Open a CSV file in UTF-8, a regular one.

    `key`, 32 bytes, is that of the digests of `earlier`, files of earlier epochs: a file that begins with one
    of them is refused. Raises RowError, without a value of a row, if the file cannot be read or is not a CSV
    file with a header, and RepeatedRowsError if it begins with an earlier file; also while the rows are read.
    """
    with _open_reader(Path(path), key, earlier) as raw:
        if other := describe_other(Path(path), "csv", "empty", "text"):
            raise RowError(Path(path).name, f"is not a CSV file{other}")
        yield RowsFile(Path(path), raw, multiline)


def hash_file(path: str | os.PathLike[str], key: bytes) -> FileDigest:
    with _open_reader(Path(path), key) as raw:
        buffer = bytearray(BUFFER_BYTES)
        while raw.readinto(buffer):
            pass
        return raw.digest


@contextmanager
def _open_reader(path: Path, key: bytes, earlier: Sequence[FileDigest] = ()) -> Iterator[_HashingReader]:
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):  # a pipe cannot be read again
            what = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
            raise RowError(path.name, f"is {what}: give a CSV file")
        raw = _HashingReader(path, key, earlier)
    except OSError as error:
        raise RowError(path.name, f"cannot be read: {error.strerror}") from error
    with raw:
        yield raw


class _HashingReader(io.FileIO):
    def __init__(self, path: Path, key: bytes, earlier: Sequence[FileDigest]) -> None:
        super().__init__(path)
        self._hash = hashlib.blake2b(key=key, person=b"silo rows")
        self._size = 0
        self._earlier = sorted(earlier, key=lambda each: -each.size)

    @property
    def digest(self) -> FileDigest:
        return FileDigest(self._size, self._hash.copy().digest())

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read at most up to the end of the next earlier file, and compare the digests there."""
        view = memoryview(buffer).cast("B")
        if self._earlier:
            view = view[: self._earlier[-1].size - self._size]
        count = super().readinto(view) or 0
        self._hash.update(view[:count])
        self._size += count
        while self._earlier and self._earlier[-1].size == self._size:
            if self._earlier.pop() == self.digest:
                raise RepeatedRowsError(
                    "the file begins with the rows of an earlier epoch: report only the new rows in a "
                    "later epoch"
                )
        return count


def _version(status: os.stat_result) -> tuple[int, ...]:
    """Return a stamp that changes if the file is written or replaced."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
