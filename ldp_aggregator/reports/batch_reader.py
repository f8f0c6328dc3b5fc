"""Many reports at once: a body cut into columns, one per question, and checked as arrays.

Reports of one question are of one length, so their ids and payloads are columns of a matrix. What is not
exactly as a device of this plan writes it is read again, report by report, to name what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.errors import Reason, ReportError
from encoders.report import ID_BYTES, Report, split
from encoders.survey import Plan, Question
from encoders.survey.randomise import read_report
from ldp_aggregator.arrays import BoolArray, IntArray
from ldp_aggregator.reports.record_format import CODE_BYTES, HEAD_BYTES, Layout

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Column:
    """Reports of one question.

    Attributes
    ----------
    question : Question
    places : int64 array, shape (m,)
        Where in the body each stands, counted in reports.
    ids : uint8 array, shape (m, 16)
    marks : uint8 array, shape (m, 8)
        By which a repeated report is told from a reused id.
    payloads : uint8 array, shape (m, payload_bytes)
    """

    question: Question
    places: IntArray
    ids: Bytes
    marks: Bytes
    payloads: Bytes

    def take(self, rows: BoolArray | IntArray) -> Column:
        """Return some of the reports."""
        return Column(self.question, self.places[rows], self.ids[rows], self.marks[rows], self.payloads[rows])


class Refusal(NamedTuple):
    """Why a report is refused, as data: an exception would keep the frames that it was raised through.

    Attributes
    ----------
    reason : Reason
    why : str
        See :class:`~encoders.errors.ReportError`, which is built from both where it is raised.
    """

    reason: Reason
    why: str


class Reader:
    """Reads bodies of one plan's reports.

    Parameters
    ----------
    plan : Plan
    """

    def __init__(self, plan: Plan) -> None:
        self._plan, self._forms = plan, Layout(plan).forms
        self._prefix = self._forms[0].before[:HEAD_BYTES]
        self._by_code = {form.code: form for form in self._forms}

    def read(self, body: bytes) -> tuple[list[Column], dict[int, Refusal]]:
        """Cut a body into columns.

        Returns
        -------
        columns : list of Column
            Of the reports that are as they must be.
        refused : dict of int to Refusal
            Of the others, by their place in the body.

        Raises
        ------
        ReportError
            If the body cannot be cut into reports.
        """
        starts = self._starts(body)
        columns = None if starts is None else self._columns(body, starts)
        if columns is None:
            return self._one_by_one(split(body))
        refused: dict[int, Refusal] = {}
        for index, column in enumerate(columns):
            possible = column.question.mechanism.are_valid(column.payloads)
            if not possible.all():
                refusal = Refusal(
                    Reason.BAD_PAYLOAD, f"no {column.question.mechanism.name} device sends this"
                )
                refused.update(dict.fromkeys(column.places[~possible].tolist(), refusal))
                columns[index] = column.take(possible)
        return columns, refused

    def _starts(self, body: bytes) -> dict[int, tuple[list[int], list[int]]] | None:
        """Return, by question, the places of its reports and where they start; None unless all look right."""
        found: dict[int, tuple[list[int], list[int]]] = {}
        by_code, prefix, end = self._by_code, self._prefix, len(body)
        start = place = 0
        while start < end:
            at = start + HEAD_BYTES
            form = by_code.get(int.from_bytes(body[at : at + CODE_BYTES], "big"))
            if form is None or not body.startswith(prefix, start):
                return None
            places, starts = found.setdefault(form.question.index, ([], []))
            places.append(place)
            starts.append(start)
            start += form.length
            place += 1
        return found if start == end and found else None

    def _columns(self, body: bytes, found: Mapping[int, tuple[list[int], list[int]]]) -> list[Column] | None:
        """Return the columns, or None if a report is not in canonical form."""
        columns = []
        for index, (places, starts) in found.items():
            form, where = self._forms[index], np.array(starts)
            if not form.fits(body, where).all():
                return None
            records = form.records(body, where)
            ids, payloads = records[:, :ID_BYTES], records[:, ID_BYTES:]
            columns.append(Column(form.question, np.array(places), ids, marks(payloads), payloads))
        return columns

    def _one_by_one(self, pieces: list[bytes]) -> tuple[list[Column], dict[int, Refusal]]:
        refused: dict[int, Refusal] = {}
        found: dict[int, list[tuple[int, Report]]] = {}
        for place, piece in enumerate(pieces):
            try:
                report = read_report(self._plan, piece)
            except ReportError as error:
                refused[place] = Refusal(error.reason, error.why)
            else:
                found.setdefault(report.question, []).append((place, report))
        return [self._column(index, reports) for index, reports in found.items()], refused

    def _column(self, index: int, reports: list[tuple[int, Report]]) -> Column:
        ids = _matrix([report.id for _, report in reports])
        payloads = _matrix([report.payload for _, report in reports])
        places = np.array([place for place, _ in reports])
        return Column(self._plan.questions[index], places, ids, marks(payloads), payloads)


def _matrix(rows: list[bytes]) -> Bytes:
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)


def marks(payloads: Bytes) -> Bytes:
    """Return 8 bytes per payload that tell it from any other, shape (m, 8).

    Each 64-bit word, little-endian, is mixed with its place; the sum is mixed again. It guards against
    accidents: who aims at a collision gains that a report which is not counted is called a duplicate.
    """
    count, size = payloads.shape
    padded = np.zeros((count, -(-size // 8) * 8), dtype=np.uint8)
    padded[:, :size] = payloads
    words = padded.view("<u8")
    mixed = _mix(words ^ _keys_of(words.shape[1])).sum(axis=1, dtype=np.uint64) + np.uint64(size)
    return np.asarray(_mix(mixed).astype("<u8")[:, None].view(np.uint8))


@lru_cache(maxsize=64)
def _keys_of(count: int) -> NDArray[np.uint64]:
    """Return numbers without a pattern, always the same."""
    return _mix(np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Let every bit of a word change about half of all bits: the finish of SplitMix64."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
