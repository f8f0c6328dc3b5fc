"""Reads one archive of raw reports, plain or gzip, as a stream: at most one chunk is in memory."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from encoders.errors import LdpError, Reason
from encoders.file_kind import describe_other
from encoders.survey import Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.reports.archives.parser import ArchiveParser, ParseSummary
from ldp_aggregator.reports.record_format import PlanFormat, Records

READING = "reading archives"
"""The task that the progress names."""
CHUNK_BYTES = 1 << 20
_PROBE_BYTES = 1 << 20
"""A file without a report in its first megabyte is not an archive, so other large files are refused early."""
_GZIP_MAGIC = b"\x1f\x8b"

RecordSink = Callable[[int, Records], None]
"""Takes the index of a question and accepted reports of it, in the order of the archive."""


class ArchiveError(LdpError):
    """An archive that cannot be counted; the message names the file and what to do."""


@dataclass(frozen=True)
class ArchiveResult:
    """The outcome of reading one archive."""

    rejections: Mapping[str, int]
    """Rejections of single reports; reused ids are found only when all archives are counted."""
    warnings: tuple[str, ...]
    """About damage, and about an end inside a report."""
    simulated: bool = False
    """Whether the archive has the mark of ldp-simulate."""


def read_archive(
    plan: Plan | SiloPlan, path: str, sink: RecordSink, progress: Callable[[int], object] = int
) -> ArchiveResult:
    """Check every report of an archive, and pass on those that a device could have sent.

    Parameters
    ----------
    plan : Plan or SiloPlan
        The plan that the reports must answer.
    path : str
        A file of concatenated reports, like request bodies; gzip is recognised by content, not by name.
    sink : callable
        Takes the accepted reports, including duplicates.
    progress : callable
        Called with the number of bytes of the file that were read since its last call.

    Raises
    ------
    ArchiveError
        If the file cannot be read, is not an archive of reports, or its compression is damaged.
    """
    parser, gzip_complete, bytes_read, position = ArchiveParser(PlanFormat(plan)), True, 0, 0
    try:
        with Path(path).open("rb") as file:
            for chunk in _read_chunks(file):
                for question, records in parser.parse(chunk):
                    sink(question, records)
                bytes_read += len(chunk)
                if file.seekable():
                    progress(file.tell() - position)
                    position = file.tell()
                if bytes_read >= _PROBE_BYTES:
                    _require_reports(parser.summary, path)
    except EOFError:
        gzip_complete = False
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ArchiveError(
            f"{path}: its gzip data are damaged; recover the readable part with "
            f"`gzip -dc {path} > saved.reports`, and use that file instead"
        ) from error
    except OSError as error:
        raise ArchiveError(f"{path}: cannot be read: {error.strerror}") from error
    for question, records in parser.parse(b"", is_last=True):
        sink(question, records)
    _require_reports(parser.summary, path)
    rejections = {str(reason): count for reason, count in parser.summary.rejections.items()}
    return ArchiveResult(
        rejections,
        tuple(_describe_damage(path, parser.summary, gzip_complete)),
        parser.summary.simulated,
    )


def total_bytes(paths: Iterable[str]) -> int:
    """Return the size of the files that exist here; reading another one raises an error."""
    return sum(os.path.getsize(path) for path in paths if os.path.exists(path))


def _read_chunks(file: io.BufferedReader) -> Iterator[bytes]:
    """Yield chunks of CHUNK_BYTES, the last one shorter; then raise EOFError if gzip data end too early."""
    is_gzip = file.peek(2)[:2] == _GZIP_MAGIC
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


def _require_reports(summary: ParseSummary, path: str) -> None:
    """Raise ArchiveError for a file without any report so far: it is not an archive."""
    if not summary.has_reports:
        other = describe_other(Path(path))
        raise ArchiveError(f"{path}: is neither a snapshot nor an archive of reports{other}")


def _describe_damage(path: str, summary: ParseSummary, gzip_complete: bool) -> Iterator[str]:
    if summary.damage_offsets:
        count = len(summary.damage_offsets)
        places = f"{count} places" if count > 1 else "one place"
        yield (
            f"{path}: damaged in {places}, first at byte {summary.damage_offsets[0]}; each counts as one "
            f"{Reason.MALFORMED} report, and all other reports are counted"
        )
    if summary.truncated_at is not None:
        yield (
            f"{path}: ends inside a report, which starts at byte {summary.truncated_at}; "
            f"it counts as {Reason.INCOMPLETE}, and all reports before it are counted"
        )
    if not gzip_complete:
        yield f"{path}: its gzip data end too early; the reports before that are counted"
