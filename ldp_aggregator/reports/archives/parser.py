"""From the bytes of one archive, chunk by chunk, to checked reports, as the collector's intake judges them.

Reports of the plan lie close together for the most part, and are taken many at once. What is between
them, the odd pieces, is cut and judged one by one. Where not even a piece can be cut, the archive is
damaged: all up to where the next report seems to start is one malformed piece.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgpack
import numpy as np

from encoders.errors import Reason, ReportError
from encoders.report import ID_BYTES
from encoders.survey.randomise import read_report
from ldp_aggregator.arrays import BoolArray, IntArray
from ldp_aggregator.reports.record_format import PlanFormat, Records, distinct_questions

_ARRAY_OF_FIVE = 0x95
_LIKELY_START = b"\x95\x01\xc4\x20"
"""How a report of any plan starts."""
_WINDOW, _LONGEST = 1 << 13, 1 << 16
"""Bytes to look for the end of an odd piece in: most often, and at most.

No report is nearly as long. A torn one may seem to be longer, since what follows is read as its lengths.
"""


@dataclass
class Account:
    """What became of the reports of one archive, but for duplicates.

    Attributes
    ----------
    accepted : int
        Reports that fit the plan, each as often as it occurs.
    rejections : Counter of Reason
        Why others do not.
    damaged : list of int
        Byte at which each stretch starts that no report could be cut from.
    cut_off : int or None
        Byte at which a last report starts that the archive does not hold to its end.
    """

    accepted: int = 0
    rejections: Counter[Reason] = field(default_factory=Counter)
    damaged: list[int] = field(default_factory=list)
    cut_off: int | None = None

    @property
    def recognised(self) -> bool:
        """Whether there was any report at all, of whatever plan."""
        return bool(self.accepted or set(self.rejections) - {Reason.MALFORMED, Reason.INCOMPLETE})


class Cutter:
    """Cuts one archive.

    Parameters
    ----------
    layout : PlanFormat
        Of the plan that the reports should answer.
    """

    def __init__(self, layout: PlanFormat) -> None:
        self._layout = layout
        self._rest = b""
        self._rest_at = 0
        self._lost = False
        self.account = Account()

    def feed(self, chunk: bytes) -> Iterator[tuple[int, Records]]:
        """Take the next bytes; yield the questions and records of the reports that they complete.

        Yields
        ------
        index of the question, and its records in the order of the archive.
        """
        return self._cut(self._rest + chunk, last=False)

    def end(self) -> Iterator[tuple[int, Records]]:
        """Take what is left: there are no more bytes."""
        return self._cut(self._rest, last=True)

    def _cut(self, data: bytes, last: bool) -> Iterator[tuple[int, Records]]:
        starts, questions = self._layout.find_reports(data)
        taken, position = self._walk(data, starts, self._layout.report_ends(starts, questions), last)
        self._rest, self._rest_at = data[position:], self._rest_at + position
        starts, questions = starts[taken], questions[taken]
        for index in distinct_questions(questions):
            yield index, self._accept(index, data, starts[questions == index])

    def _accept(self, index: int, data: bytes, starts: IntArray) -> Records:
        form = self._layout.questions[index]
        records = form.extract_records(data, starts)
        possible = form.mechanism.are_valid(records[:, ID_BYTES:])
        accepted = records if possible.all() else records[possible]
        self.account.accepted += len(accepted)
        self._reject(Reason.BAD_PAYLOAD, len(records) - len(accepted))
        return accepted

    def _walk(self, data: bytes, starts: IntArray, ends: IntArray, last: bool) -> tuple[BoolArray, int]:
        """Go from border to border: which of the reports found are met, and where the walk ends.

        Runs of reports, each of which starts where the one before ends, are one step.
        """
        taken = np.zeros(len(starts), dtype=bool)
        gaps = np.flatnonzero(ends[:-1] != starts[1:])
        position = 0
        while position < len(data):
            first = int(np.searchsorted(starts, position))
            if first < len(starts) and starts[first] == position:
                gap = int(np.searchsorted(gaps, first))
                final = int(gaps[gap]) if gap < len(gaps) else len(starts) - 1
                taken[first : final + 1] = True
                position, self._lost = int(ends[final]), False
                continue
            step = self._odd(data, position, last)
            if not step:
                break
            position += step
        return taken, position

    def _odd(self, data: bytes, position: int, last: bool) -> int:
        """Judge what is no canonical report of the plan; return its length, or 0 to wait for more bytes."""
        if self._lost and not data.startswith(_LIKELY_START, position):
            return self._search(data, position, last)
        try:
            length = _measure(data, position)
        except (ValueError, TypeError, RecursionError, msgpack.UnpackException):
            return self._search(data, position, last)
        if length:
            self._lost = False
            self._reject(_reason(self._layout, data[position : position + length]), 1)
            return length
        if not last:
            return 0
        if data.find(_LIKELY_START, position + 1) >= 0:  # so it is not the end that is missing
            return self._search(data, position, last)
        self._reject(Reason.INCOMPLETE, 1)
        self.account.cut_off = self._rest_at + position
        return len(data) - position

    def _search(self, data: bytes, position: int, last: bool) -> int:
        """Pass over damage, up to the next likely start of a report; return how far that is."""
        if not self._lost:
            self._lost = True
            self.account.damaged.append(self._rest_at + position)
            self._reject(Reason.MALFORMED, 1)
        found = data.find(_LIKELY_START, position + 1)
        if found < 0:  # the start may itself be cut by the chunk's end
            found = len(data) if last else max(len(data) - len(_LIKELY_START) + 1, position)
        return found - position

    def _reject(self, reason: Reason, count: int) -> None:
        if count:
            self.account.rejections[reason] += count


def _measure(data: bytes, start: int) -> int:
    """Return the length of the array of five that starts there, 0 if the data end inside it.

    Raises
    ------
    ValueError, TypeError, RecursionError or msgpack.UnpackException
        If there is none, or none of a sensible length.
    """
    if data[start] != _ARRAY_OF_FIVE:
        raise ValueError("no array of five")
    for size in (_WINDOW, _LONGEST):
        unpacker = msgpack.Unpacker(max_buffer_size=_LONGEST, read_size=_WINDOW)
        unpacker.feed(data[start : start + size])
        try:
            unpacker.skip()
        except msgpack.OutOfData:
            if start + size > len(data):
                return 0
        else:
            return int(unpacker.tell())
    raise ValueError("no report is that long")


def _reason(layout: PlanFormat, piece: bytes) -> Reason:
    """Tell why a piece is not acceptable: whatever is canonical and of the plan was taken before."""
    try:
        read_report(layout.plan, piece)
    except ReportError as error:
        return error.reason
    raise AssertionError("a canonical report was overlooked")
