"""Reads a body of many reports into one batch per question, and checks each batch as arrays.

Reports of one question have the same length, so their ids and payloads are columns of a matrix. A body is
read report by report if it is small, which is faster, or if it is not exactly in the form that devices of
this plan send, to name what is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.errors import Reason, ReportError
from encoders.report import ID_BYTES, Report, split
from encoders.survey.compiled_plan import AnyPlan, CountedQuestion
from encoders.survey.randomise import read_report
from ldp_aggregator.arrays import BoolArray, ByteArray, IntArray
from ldp_aggregator.reports.record_format import PlanFormat, distinct_questions

_SMALL_BODY_BYTES = 1_000
"""Up to this size, arrays take longer than to read the reports one by one."""


@dataclass(frozen=True, kw_only=True)
class QuestionBatch:
    question: CountedQuestion
    positions: IntArray
    """Position of each report in the body, counted in reports. Shape (m,)."""
    ids: ByteArray
    """Shape (m, 16)."""
    payloads: ByteArray
    """Shape (m, payload_bytes)."""
    shard: int = 0
    """The sub-shard of the question that counts the reports."""

    @cached_property
    def marks(self) -> ByteArray:
        """Hashes of the payloads, shape (m, 8), which distinguish a duplicate from a reused id."""
        return compute_marks(self.payloads)

    def take(self, rows: BoolArray | IntArray, shard: int | None = None) -> QuestionBatch:
        return QuestionBatch(
            question=self.question,
            positions=self.positions[rows],
            ids=self.ids[rows],
            payloads=self.payloads[rows],
            shard=self.shard if shard is None else shard,
        )


class Rejection(NamedTuple):
    """Why a report is rejected, as data: an exception object would keep its stack frames in memory."""

    reason: Reason
    why: str
    """The arguments of :class:`~encoders.errors.ReportError`, which is built where it is raised."""


class BatchReader:
    def __init__(self, plan: AnyPlan) -> None:
        self._plan = plan
        self._format = PlanFormat(plan)

    def read(self, body: bytes) -> tuple[list[QuestionBatch], dict[int, Rejection]]:
        """Read a body of reports, and divide it into valid and rejected ones.

        Returns the reports that a device could have sent, and the rejections by their position in the body.
        Raises ReportError if the body cannot be cut into reports.
        """
        batches = None if len(body) <= _SMALL_BODY_BYTES else self._read_canonical(body)
        if batches is None:
            return self._read_individually(split(body))
        rejections: dict[int, Rejection] = {}
        for index, batch in enumerate(batches):
            mechanism = batch.question.mechanism
            possible = mechanism.are_valid(batch.payloads)
            if not possible.all():
                rejection = Rejection(Reason.BAD_PAYLOAD, mechanism.refusal)
                rejections.update(dict.fromkeys(batch.positions[~possible].tolist(), rejection))
                batches[index] = batch.take(possible)
        return batches, rejections

    def _read_canonical(self, body: bytes) -> list[QuestionBatch] | None:
        """Return the reports of each question; None unless the body consists of canonical reports."""
        starts, ends, questions = self._format.find_reports(body)
        if not len(starts) or starts[0] or not np.array_equal(ends, np.append(starts[1:], len(body))):
            return None
        batches = []
        for index in distinct_questions(questions):
            positions, question_format = np.flatnonzero(questions == index), self._format.questions[index]
            records = question_format.extract_records(body, starts[positions])
            batches.append(
                QuestionBatch(
                    question=question_format.question,
                    positions=positions,
                    ids=records[:, :ID_BYTES],
                    payloads=records[:, ID_BYTES:],
                )
            )
        return batches

    def _read_individually(self, pieces: list[bytes]) -> tuple[list[QuestionBatch], dict[int, Rejection]]:
        rejections: dict[int, Rejection] = {}
        accepted: dict[int, list[tuple[int, Report]]] = {}
        for position, piece in enumerate(pieces):
            try:
                report = read_report(self._plan, piece)
            except ReportError as error:
                rejections[position] = Rejection(error.reason, error.why)
            else:
                accepted.setdefault(report.question, []).append((position, report))
        batches = [
            QuestionBatch(
                question=self._plan.counted_questions[index],
                positions=np.array([position for position, _ in reports]),
                ids=_stack_rows([report.id for _, report in reports]),
                payloads=_stack_rows([report.payload for _, report in reports]),
            )
            for index, reports in accepted.items()
        ]
        return batches, rejections


def _stack_rows(rows: list[bytes]) -> ByteArray:
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)


def compute_marks(payloads: ByteArray) -> ByteArray:
    """Return an 8-byte hash of each payload, shape (m, 8).

    Each 64-bit word, little-endian, is mixed with its index; the sum is mixed again. The hash protects
    against accidents only: a deliberate collision makes a report that is not counted a duplicate instead of
    a reused id.
    """
    count, size = payloads.shape
    padded = np.zeros((count, -(-size // 8) * 8), dtype=np.uint8)
    padded[:, :size] = payloads
    words = padded.view("<u8")
    mixed = _mix(words ^ _make_word_keys(words.shape[1])).sum(axis=1, dtype=np.uint64) + np.uint64(size)
    return np.asarray(_mix(mixed).astype("<u8")[:, None].view(np.uint8))


@lru_cache(maxsize=64)
def _make_word_keys(count: int) -> NDArray[np.uint64]:
    return _mix(np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of each word with the last step of SplitMix64: each bit affects about half of all bits."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
