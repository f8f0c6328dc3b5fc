"""One archive of raw reports, plain or gzip, read as a stream: nothing of it is held but a chunk."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from encoders.errors import LdpError, Reason
from encoders.survey import Plan
from ldp_aggregator.reports.archives.parser import Account, Cutter
from ldp_aggregator.reports.record_format import PlanFormat, Records

CHUNK_BYTES = 1 << 20
_ENOUGH_BYTES = 1 << 20
"""What has no report in its first megabyte is no archive: a large file of another kind is refused soon."""
_GZIP = b"\x1f\x8b"

Sink = Callable[[int, Records], None]
"""Takes the index of a question and accepted reports of it, in the order of the archive."""


class ArchiveError(LdpError):
    """An archive that yields no totals; names the file and says what to do."""


@dataclass(frozen=True)
class Outcome:
    """What became of one archive.

    Attributes
    ----------
    rejections : mapping of reason to count
        Of single reports; an id that is used again shows only where all archives are counted together.
    notices : tuple of str
        What the operator should know: damage, and an end inside a report.
    """

    rejections: Mapping[str, int]
    notices: tuple[str, ...]


class _Chunked(Protocol):
    def read1(self, size: int, /) -> bytes: ...


def read_archive(plan: Plan, path: str, sink: Sink) -> Outcome:
    """Judge every report of an archive, and hand on those that a device could have sent.

    Parameters
    ----------
    plan : Plan
        What the reports should answer.
    path : str
        Concatenated reports, as bodies are; gzip is told by the content, not by the name.
    sink : callable
        What takes the accepted reports. Duplicates are among them.

    Raises
    ------
    ArchiveError
        If the file cannot be read, is no archive of reports, or its compression is damaged.
    """
    cutter, whole, seen = Cutter(PlanFormat(plan)), True, 0
    try:
        with Path(path).open("rb") as file:
            for chunk in _chunks(file):
                _pass_on(cutter.feed(chunk), sink)
                seen += len(chunk)
                if seen >= _ENOUGH_BYTES:
                    _require_reports(cutter, path)
    except EOFError:
        whole = False
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ArchiveError(
            f"{path}: its gzip data are damaged; save what can be by "
            f"`gzip -dc {path} > saved.reports`, and name that file instead"
        ) from error
    except OSError as error:
        raise ArchiveError(f"{path}: cannot be read: {error.strerror}") from error
    _pass_on(cutter.end(), sink)
    _require_reports(cutter, path)
    rejections = {str(reason): count for reason, count in cutter.account.rejections.items()}
    return Outcome(rejections, tuple(_notices(path, cutter.account, whole)))


def _chunks(file: io.BufferedReader) -> Iterator[bytes]:
    """Yield chunks of CHUNK_BYTES, the last one shorter; EOFError behind it if gzip data end too early."""
    source = cast(_Chunked, gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == _GZIP else file)
    held, ended = bytearray(), False
    while not ended:
        try:
            # not read(): that would drop what it had unpacked when the end turns out to be missing
            piece = source.read1(CHUNK_BYTES - len(held))
        except EOFError:
            yield bytes(held)
            raise
        held += piece
        ended = not piece
        if held and (ended or len(held) == CHUNK_BYTES):
            yield bytes(held)
            held.clear()


def _pass_on(found: Iterator[tuple[int, Records]], sink: Sink) -> None:
    for question, records in found:
        sink(question, records)


def _require_reports(cutter: Cutter, path: str) -> None:
    """Refuse a file that held no report so far: it is something else."""
    if not cutter.account.recognised:
        raise ArchiveError(f"{path}: neither a snapshot nor a file of reports")


def _notices(path: str, account: Account, whole: bool) -> list[str]:
    notices = []
    if account.damaged:
        places = f"{len(account.damaged)} places" if len(account.damaged) > 1 else "a place"
        notices.append(
            f"{path}: no report could be cut from {places}, at byte {account.damaged[0]} first; "
            f"each counts as one {Reason.MALFORMED}, the reports around are counted"
        )
    if account.cut_off is not None:
        notices.append(
            f"{path}: ends inside a report, which starts at byte {account.cut_off}; "
            f"it counts as {Reason.INCOMPLETE}, those before it are counted"
        )
    if not whole:
        notices.append(f"{path}: its gzip data end too early; the reports before that are counted")
    return notices
