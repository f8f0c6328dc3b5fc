"""The record format of a plan's reports: where question, id and payload lie in the bytes of a report.

The reports of one question differ in id and payload only, and all have the same length. So canonical reports
are recognised by comparing bytes, thousands at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.report import DIGEST_BYTES, ID_BYTES, Report, pack
from encoders.survey.compiled_plan import AnyPlan, CountedQuestion, report_id_prefix
from ldp_aggregator.arrays import BoolArray, IntArray

Records = NDArray[np.uint8]
"""Accepted reports of one question, shape (n, 16 + payload_bytes): id and payload are all that differs."""

_FIRST_BYTE = 0x95
HEADER_BYTES = 4 + DIGEST_BYTES
"""Number of bytes that all reports of a plan begin with; the question's index follows."""
QUESTION_CODE_BYTES = 3
"""Number of bytes after the header that differ between any two questions, for any width of the index."""


@dataclass(frozen=True, kw_only=True)
class QuestionFormat:
    question: CountedQuestion
    prefix: bytes
    separator: bytes
    """The bytes before the id, and the bytes between id and payload."""
    length: int
    id_prefix: bytes = b""
    """The bytes that the id begins with, if it is a token."""

    @classmethod
    def from_question(cls, plan: AnyPlan, question: CountedQuestion) -> QuestionFormat:
        """Derive the format from a packed report, since only `encoders.report` defines the wire format."""
        width = question.mechanism.payload_bytes
        blank = pack(Report(plan.digest_bytes, question.index, bytes(ID_BYTES), bytes(width)))
        full = pack(Report(plan.digest_bytes, question.index, b"\xff" * ID_BYTES, bytes(width)))
        id_offset = next(at for at, pair in enumerate(zip(blank, full, strict=True)) if pair[0] != pair[1])
        return cls(
            question=question,
            prefix=blank[:id_offset],
            separator=blank[id_offset + ID_BYTES : len(blank) - width],
            length=len(blank),
            id_prefix=report_id_prefix(plan, question),
        )

    def matches_at(self, data: bytes, starts: IntArray) -> BoolArray:
        """Return whether a report starts at each offset, which is `length` or more before the end."""
        id_starts = starts + len(self.prefix)
        matches = _equals_at(data, starts, self.prefix)
        matches &= _equals_at(data, id_starts + ID_BYTES, self.separator)
        return matches & _equals_at(data, id_starts, self.id_prefix) if self.id_prefix else matches

    def extract_records(self, data: bytes, starts: IntArray) -> Records:
        reports = _copy_windows(data, starts, self.length).view(np.uint8).reshape(-1, self.length)
        id_end = len(self.prefix) + ID_BYTES
        payload_start = id_end + len(self.separator)
        return np.hstack([reports[:, len(self.prefix) : id_end], reports[:, payload_start:]])


class PlanFormat:
    def __init__(self, plan: AnyPlan) -> None:
        self.plan = plan
        self.questions = [QuestionFormat.from_question(plan, question) for question in plan.counted_questions]
        distinct = (each.prefix[HEADER_BYTES : HEADER_BYTES + QUESTION_CODE_BYTES] for each in self.questions)
        codes = np.array([int.from_bytes(each, "big") for each in distinct])
        self._order = np.argsort(codes)
        self._codes = codes[self._order]
        self._lengths = np.array([question.length for question in self.questions])
        self._shortest = int(self._lengths.min())

    def find_reports(self, data: bytes) -> tuple[IntArray, IntArray, IntArray]:
        """Return ascending starts, ends and questions of canonical reports; some may be inside payloads."""
        searched = np.frombuffer(data, np.uint8)[: max(len(data) - self._shortest + 1, 0)]
        starts = np.flatnonzero(searched == _FIRST_BYTE)
        questions = self._read_questions(data, starts)
        ends = starts + self._lengths[questions]
        possible = (questions >= 0) & (ends <= len(data))
        starts, ends, questions = starts[possible], ends[possible], questions[possible]
        matches = np.zeros(len(starts), dtype=bool)
        for index in distinct_questions(questions):
            rows = np.flatnonzero(questions == index)
            matches[rows] = self.questions[index].matches_at(data, starts[rows])
        return starts[matches], ends[matches], questions[matches]

    def _read_questions(self, data: bytes, starts: IntArray) -> IntArray:
        """Return the index of the question that a report at each offset would answer, or -1."""
        octets = np.frombuffer(data, np.uint8)
        codes = np.zeros(len(starts), dtype=np.int64)
        for offset in range(HEADER_BYTES, HEADER_BYTES + QUESTION_CODE_BYTES):
            codes = codes << 8 | octets[starts + offset]
        nearest = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        return np.where(self._codes[nearest] == codes, self._order[nearest], -1)


def distinct_questions(questions: IntArray) -> list[int]:
    return np.flatnonzero(np.bincount(questions)).tolist()


def _copy_windows(data: bytes, starts: IntArray, length: int) -> NDArray[np.void]:
    count = max(len(data) - length + 1, 0)
    overlapping: NDArray[np.void] = np.ndarray(count, f"V{length}", data, strides=(1,))
    return overlapping[starts]


def _equals_at(data: bytes, starts: IntArray, expected: bytes) -> BoolArray:
    windows: Any = _copy_windows(data, starts, len(expected))
    equal: BoolArray = windows == np.void(expected)
    return equal
