"""Where a plan's reports lie in a stretch of bytes: all of them at once, as columns.

The reports of one question differ in their id and payload alone, and in nothing else, not even in
length. So a canonical report is recognised by comparing bytes in place, without msgpack, and thousands
are compared, cut out and checked in a few steps of numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.mechanisms import Mechanism
from encoders.report import DIGEST_BYTES, ID_BYTES, Report, pack
from encoders.survey import Plan, Question
from encoders.survey.invitation import id_start
from ldp_aggregator.arrays import BoolArray, IntArray

Records = NDArray[np.uint8]
"""Accepted reports of one question, shape (n, 16 + payload_bytes): all that tells one from another."""
Places = IntArray

_START = 0x95
HEAD_BYTES = 4 + DIGEST_BYTES
"""What every report of a plan begins with; the question's index follows."""
CODE_BYTES = 3
"""Enough to tell any question, in however many bytes its index is written."""


@dataclass(frozen=True)
class NumericDomain:
    """What a canonical report of one question looks like.

    Attributes
    ----------
    question : Question
    before, between : bytes
        What stands before the id, and between id and payload.
    length : int
        Bytes of the whole report.
    id_start : bytes
        What the id begins with, where it is a token.
    """

    question: Question
    before: bytes
    between: bytes
    length: int
    id_start: bytes = b""

    @classmethod
    def of(cls, plan: Plan, question: Question) -> NumericDomain:
        """Read the form off a packed report: the wire format is told in one place."""
        width = question.mechanism.payload_bytes
        blank = pack(Report(plan.digest_bytes, question.index, bytes(ID_BYTES), bytes(width)))
        full = pack(Report(plan.digest_bytes, question.index, b"\xff" * ID_BYTES, bytes(width)))
        at = next(place for place, pair in enumerate(zip(blank, full, strict=True)) if pair[0] != pair[1])
        start = id_start(question) if plan.by_invitation else b""
        return cls(question, blank[:at], blank[at + ID_BYTES : len(blank) - width], len(blank), start)

    @property
    def mechanism(self) -> Mechanism:
        """What makes the payload."""
        return self.question.mechanism

    @property
    def code(self) -> int:
        """The bytes by which this question is told from the plan's others."""
        return int.from_bytes(self.before[HEAD_BYTES : HEAD_BYTES + CODE_BYTES], "big")

    def fits(self, data: bytes, starts: Places) -> BoolArray:
        """Tell at which places such a report stands; none of them closer to the end than its length."""
        between = len(self.before) + ID_BYTES
        fits = _stands(data, starts, self.before) & _stands(data, starts + between, self.between)
        return fits & _stands(data, starts + len(self.before), self.id_start) if self.id_start else fits

    def records(self, data: bytes, starts: Places) -> Records:
        """Cut out the id and payload of the reports that stand at some places."""
        reports = _windows(data, starts, self.length).view(np.uint8).reshape(-1, self.length)
        behind_id = len(self.before) + ID_BYTES
        behind_between = behind_id + len(self.between)
        return np.hstack([reports[:, len(self.before) : behind_id], reports[:, behind_between:]])


class Layout:
    """The forms of all questions of a plan.

    Parameters
    ----------
    plan : Plan
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.forms = [NumericDomain.of(plan, question) for question in plan.questions]
        codes = np.array([form.code for form in self.forms])
        self._order = np.argsort(codes)
        self._codes = codes[self._order]
        self._lengths = np.array([form.length for form in self.forms])
        self._shortest = int(self._lengths.min())

    def find(self, data: bytes) -> tuple[Places, IntArray]:
        """Return where canonical reports stand in full, ascending, and the question of each.

        Some may stand inside others: a payload may hold anything.
        """
        searched = np.frombuffer(data, np.uint8)[: max(len(data) - self._shortest + 1, 0)]
        starts = np.flatnonzero(searched == _START)
        questions = self._questions(data, starts)
        fits = (questions >= 0) & (starts + self._lengths[questions] <= len(data))
        starts, questions = starts[fits], questions[fits]
        fits = np.zeros(len(starts), dtype=bool)
        for index in present(questions):
            chosen = np.flatnonzero(questions == index)
            fits[chosen] = self.forms[index].fits(data, starts[chosen])
        return starts[fits], questions[fits]

    def ends(self, starts: Places, questions: IntArray) -> Places:
        """Return where the reports that start at some places end."""
        ends: Places = starts + self._lengths[questions]
        return ends

    def _questions(self, data: bytes, starts: Places) -> IntArray:
        """Return the index of the question that a report at each place would answer, or -1."""
        found = np.frombuffer(data, np.uint8)
        codes = np.zeros(len(starts), dtype=np.int64)
        for offset in range(HEAD_BYTES, HEAD_BYTES + CODE_BYTES):
            codes = codes << 8 | found[starts + offset]
        nearest = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        return np.where(self._codes[nearest] == codes, self._order[nearest], -1)


def present(questions: IntArray) -> list[int]:
    """Return which questions occur, ascending."""
    return np.flatnonzero(np.bincount(questions)).tolist()


def _windows(data: bytes, starts: Places, length: int) -> NDArray[np.void]:
    """Copy `length` bytes from each place on."""
    count = max(len(data) - length + 1, 0)
    overlapping: NDArray[np.void] = np.ndarray(count, f"V{length}", data, strides=(1,))
    return overlapping[starts]


def _stands(data: bytes, places: Places, expected: bytes) -> BoolArray:
    """Tell at which places these bytes stand."""
    found: Any = _windows(data, places, len(expected))
    equal: BoolArray = found == np.void(expected)
    return equal
