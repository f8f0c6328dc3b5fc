"""Reads sections of archives of raw reports, plain or gzip, as a stream: at most one chunk is in memory."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from encoders.errors import LdpError, Reason
from encoders.file_kind import describe_other
from ldp_aggregator.reports.archives.parser import ArchiveParser, ParseSummary
from ldp_aggregator.reports.record_format import PlanFormat, Records

SECTION_BYTES = 64 << 20
"""Size of a section; an archive with gzip is one section, since its middle cannot be read alone."""
CHUNK_BYTES = 1 << 20
_PROBE_BYTES = 1 << 20
"""A file without a report in its first megabyte is not an archive, so other large files are refused early."""
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_RATIO = 4
"""Estimate of the unpacked size: ids and payloads are random, and only the rest of a report is compressed."""


class ArchiveError(LdpError):
    """An archive that cannot be counted; the message names the file and what to do."""


@dataclass(frozen=True)
class Section:
    """Some bytes of an archive: the reports that start in them."""

    path: str
    start: int
    stop: int
    """Byte offsets in the file."""
    is_gzip: bool = False

    @property
    def size(self) -> int:
        return self.stop - self.start

    @property
    def unpacked_bytes(self) -> int:
        """Approximate number of bytes of reports."""
        return self.size * (_GZIP_RATIO if self.is_gzip else 1)


def divide_archive(path: str) -> list[Section]:
    with _read_errors(path), Path(path).open("rb") as file:
        is_gzip = file.peek(2)[:2] == _GZIP_MAGIC
        size = os.fstat(file.fileno()).st_size
    if is_gzip:
        return [Section(path, 0, size, is_gzip)]
    starts = range(0, max(size, 1), SECTION_BYTES)
    return [Section(path, start, min(start + SECTION_BYTES, size)) for start in starts]


def read_section(
    plan_format: PlanFormat, section: Section, summary: ParseSummary, progress: Callable[[int], object] = int
) -> Iterator[tuple[int, Records]]:
    """Yield the reports of a section that a device could have sent, with duplicates, in their order.

    Each item is the index of a question, and records of it. The outcome is added to the summary; `progress`
    takes the number of bytes that were read since its last call. Raises ArchiveError if the file cannot be
    read, is not an archive of reports, or its compression is damaged.
    """
    stop, position = sys.maxsize if section.is_gzip else section.stop, section.start
    parser = ArchiveParser(plan_format, summary, stop)
    with _read_errors(section.path), Path(section.path).open("rb") as file:
        file.seek(summary.end)
        try:
            for chunk in _read_chunks(file, section.is_gzip):
                yield from parser.parse(chunk)
                reached = min(file.tell(), section.stop)
                progress(reached - position)
                position = reached
                if section.start == 0 and summary.end >= _PROBE_BYTES:
                    require_reports(section.path, summary.has_reports)
                if summary.end >= stop:
                    return
        except EOFError:
            summary.gzip_complete = False
    yield from parser.parse(b"", is_last=True)


def find_start(plan_format: PlanFormat, section: Section) -> int:
    """Return the offset of the first likely report of a section; its end if there is none in a chunk."""
    with _read_errors(section.path), Path(section.path).open("rb") as file:
        file.seek(section.start)
        starts, _, _ = plan_format.find_reports(file.read(CHUNK_BYTES))
    return min(section.start + int(starts[0]), section.stop) if len(starts) else section.stop


def _read_chunks(file: io.BufferedReader, is_gzip: bool) -> Iterator[bytes]:
    """Yield chunks of CHUNK_BYTES, the last one shorter; then raise EOFError if gzip data end too early."""
    source: io.BufferedIOBase = gzip.GzipFile(fileobj=file) if is_gzip else file
    chunk, at_end = bytearray(), False
    while not at_end:
        try:
            # read() would discard data that are unpacked already if the end is missing
            piece = source.read1(CHUNK_BYTES - len(chunk))
        except EOFError:
            yield bytes(chunk)
            raise
        chunk += piece
        at_end = not piece
        if chunk and (at_end or len(chunk) == CHUNK_BYTES):
            yield bytes(chunk)
            chunk.clear()


@contextmanager
def _read_errors(path: str) -> Iterator[None]:
    try:
        yield
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ArchiveError(
            f"{path}: its gzip data are damaged; recover the readable part with "
            f"`gzip -dc {path} > saved.reports`, and use that file instead"
        ) from error
    except OSError as error:
        raise ArchiveError(f"{path}: cannot be read: {error.strerror}") from error


def require_reports(path: str, has_reports: bool) -> None:
    """Raise ArchiveError for a file without any report so far: it is not an archive."""
    if not has_reports:
        other = describe_other(Path(path))
        raise ArchiveError(f"{path}: is neither a snapshot nor an archive of reports{other}")


def describe_damage(path: str, summaries: Sequence[ParseSummary]) -> Iterator[str]:
    offsets = [offset for each in summaries for offset in each.damage_offsets]
    if offsets:
        places = f"{len(offsets)} places" if len(offsets) > 1 else "one place"
        yield (
            f"{path}: damaged in {places}, first at byte {offsets[0]}; each counts as one "
            f"{Reason.MALFORMED} report, and all other reports are counted"
        )
    if summaries[-1].truncated_at is not None:
        yield (
            f"{path}: ends inside a report, which starts at byte {summaries[-1].truncated_at}; "
            f"it counts as {Reason.INCOMPLETE}, and all reports before it are counted"
        )
    if not summaries[-1].gzip_complete:
        yield f"{path}: its gzip data end too early; the reports before that are counted"
