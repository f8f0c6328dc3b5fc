"""Parses a section of an archive, chunk by chunk, into reports checked as the collector's intake checks them.

Most reports of the plan are contiguous and are read many at once. The pieces between them are parsed one by
one. Where no piece can be parsed, the archive is damaged, and all bytes up to the next likely start of a
report are one malformed piece.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgpack
import numpy as np

from encoders.errors import Reason, ReportError
from encoders.report import ARRAY_OF_FIVE, ID_BYTES
from encoders.survey.randomise import read_report
from ldp_aggregator.arrays import BoolArray, IntArray
from ldp_aggregator.reports.record_format import PlanFormat, Records, distinct_questions

_REPORT_START = b"\x95\x01\xc4\x20"
"""How a report of any plan starts."""
SIMULATED_MARK = b"ldp-simulate: simulated reports\n"
"""Precedes the reports in an archive of ldp-simulate; ldp-train marks a model of them as simulated."""
_USUAL_PIECE_BYTES, _MAX_PIECE_BYTES = 1 << 13, 1 << 16
"""Number of bytes in which the end of a piece is searched: at first, and at most.

Reports of people are much shorter, and a message of a silo is not longer. A truncated one may seem longer,
since the bytes after it are read as lengths.
"""


@dataclass
class ParseSummary:
    end: int = 0
    """Byte offset in the archive up to which it is parsed."""
    in_damage: bool = False
    """Whether the bytes before `end` are damaged."""
    accepted: int = 0
    """Number of reports that a device of the plan could have sent, with repetitions."""
    rejections: Counter[Reason] = field(default_factory=Counter)
    """Numbers of all other reports, by reason."""
    damage_offsets: list[int] = field(default_factory=list)
    """Byte offset of each damaged stretch, in which no report could be parsed."""
    truncated_at: int | None = None
    """Byte offset of an incomplete report at the end of the archive."""
    simulated: bool = False
    """Whether the archive has the mark of ldp-simulate."""
    gzip_complete: bool = True
    """False if the compressed data end too early."""

    @property
    def has_reports(self) -> bool:
        return bool(self.accepted or set(self.rejections) - {Reason.MALFORMED, Reason.INCOMPLETE})


class ArchiveParser:
    """Parses a section, which ends at the byte offset `stop`; `summary` has its start, and the outcome."""

    def __init__(self, plan_format: PlanFormat, summary: ParseSummary, stop: int = sys.maxsize) -> None:
        self._plan_format = plan_format
        self._stop = stop
        self._rest = b""
        self.summary = summary

    def parse(self, chunk: bytes, is_last: bool = False) -> Iterator[tuple[int, Records]]:
        """Parse the next bytes; yield the reports that they complete, in order: question and records."""
        data = self._rest + chunk
        limit = min(len(data), self._stop - self.summary.end)
        starts, ends, questions = self._plan_format.find_reports(data)
        before = starts < limit
        starts, ends, questions = starts[before], ends[before], questions[before]
        taken, position = self._walk(data, starts, ends, limit, is_last)
        self._rest = data[position:]
        self.summary.end += position
        starts, questions = starts[taken], questions[taken]
        for index in distinct_questions(questions):
            yield index, self._accept(index, data, starts[questions == index])

    def _accept(self, index: int, data: bytes, starts: IntArray) -> Records:
        """Return the records whose payloads a device could have sent; count the others as rejections."""
        question_format = self._plan_format.questions[index]
        records = question_format.extract_records(data, starts)
        possible = question_format.question.mechanism.are_valid(records[:, ID_BYTES:])
        accepted = records if possible.all() else records[possible]
        self.summary.accepted += len(accepted)
        self._reject(Reason.BAD_PAYLOAD, len(records) - len(accepted))
        return accepted

    def _walk(
        self, data: bytes, starts: IntArray, ends: IntArray, limit: int, is_last: bool
    ) -> tuple[BoolArray, int]:
        """Walk from the end of each report or piece to the next, up to `limit`.

        Contiguous reports, each of which starts where the one before ends, are one step. Returns which of the
        given reports the walk reaches, and the byte offset at which it ends.
        """
        taken = np.zeros(len(starts), dtype=bool)
        gaps = np.flatnonzero(ends[:-1] != starts[1:])
        position = 0
        while position < limit:
            first = int(np.searchsorted(starts, position))
            if first < len(starts) and starts[first] == position:
                gap = int(np.searchsorted(gaps, first))
                final = int(gaps[gap]) if gap < len(gaps) else len(starts) - 1
                taken[first : final + 1] = True
                position, self.summary.in_damage = int(ends[final]), False
                continue
            length = self._reject_piece(data, position, is_last)
            if not length:
                break
            position += length
        return taken, position

    def _reject_piece(self, data: bytes, position: int, is_last: bool) -> int:
        """Reject a piece, unless it is the mark of simulated reports; return its length, 0 if incomplete."""
        head = data[position : position + len(SIMULATED_MARK)]
        if head == SIMULATED_MARK:
            self.summary.simulated, self.summary.in_damage = True, False
            return len(head)
        if SIMULATED_MARK.startswith(head) and not is_last:
            return 0
        if self.summary.in_damage and not data.startswith(_REPORT_START, position):
            return self._skip_damage(data, position, is_last)
        try:
            length = _measure_piece(data, position)
        except (ValueError, TypeError, RecursionError, msgpack.UnpackException):
            return self._skip_damage(data, position, is_last)
        if length:
            self.summary.in_damage = False
            self._reject(self._find_reason(data[position : position + length]), 1)
            return length
        if not is_last:
            return 0
        if data.find(_REPORT_START, position + 1) >= 0:  # another report follows: damaged, not truncated
            return self._skip_damage(data, position, is_last)
        self._reject(Reason.INCOMPLETE, 1)
        self.summary.truncated_at = self.summary.end + position
        return len(data) - position

    def _skip_damage(self, data: bytes, position: int, is_last: bool) -> int:
        """Return the number of damaged bytes up to the next likely start of a report."""
        if not self.summary.in_damage:
            self.summary.in_damage = True
            self.summary.damage_offsets.append(self.summary.end + position)
            self._reject(Reason.MALFORMED, 1)
        next_start = data.find(_REPORT_START, position + 1)
        if next_start < 0:  # the end of the chunk may cut the start of a report
            next_start = len(data) if is_last else max(len(data) - len(_REPORT_START) + 1, position)
        return next_start - position

    def _find_reason(self, piece: bytes) -> Reason:
        try:
            read_report(self._plan_format.plan, piece)
        except ReportError as error:
            return error.reason
        raise AssertionError("a canonical report was overlooked")

    def _reject(self, reason: Reason, count: int) -> None:
        if count:
            self.summary.rejections[reason] += count


def _measure_piece(data: bytes, start: int) -> int:
    """Return the length of the array of five at `start`, 0 if the data end inside it; others raise errors."""
    if data[start] != ARRAY_OF_FIVE:
        raise ValueError("no array of five")
    for size in (_USUAL_PIECE_BYTES, _MAX_PIECE_BYTES):
        unpacker = msgpack.Unpacker(max_buffer_size=_MAX_PIECE_BYTES, read_size=_USUAL_PIECE_BYTES)
        unpacker.feed(data[start : start + size])
        try:
            unpacker.skip()
        except msgpack.OutOfData:
            if start + size > len(data):
                return 0
        else:
            return int(unpacker.tell())
    raise ValueError("no report is that long")
