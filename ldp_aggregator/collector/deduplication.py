"""Records each report of a body once: a repeat with the same bytes is a duplicate, with others rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from encoders.errors import Reason
from ldp_aggregator.arrays import BoolArray
from ldp_aggregator.reports.batch_reader import QuestionBatch, Rejection
from ldp_aggregator.stores import MarksById
from ldp_aggregator.stores.store import byte_rows

RECORDED = "recorded"
DUPLICATE = "duplicate"
REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class ReportOutcome:
    status: str
    """One of "recorded", "duplicate" (the same bytes were counted before: success) or "rejected"."""
    error: Rejection | None = None


_ID_REUSED = ReportOutcome(
    REJECTED, Rejection(Reason.ID_REUSED, "a different report was counted under this id")
)


def record_once(
    batches: Sequence[QuestionBatch], record: Callable[[Sequence[QuestionBatch]], list[MarksById]]
) -> dict[int, ReportOutcome]:
    """Record the reports of one body, each once; of reports with one id, only the first is recorded.

    No two batches of one question have an id in common. `record` takes batches and returns the ids of each
    that were recorded before; it does not record a batch with such ids. Returns outcomes by position in the
    body.
    """
    outcomes: dict[int, ReportOutcome] = {}
    marks_by_question: dict[int, MarksById] = {}  # for the repeats, which are compared below
    pending: list[QuestionBatch] = []
    repeats: list[QuestionBatch] = []
    for batch in batches:
        first = _find_first_of_each_id(batch)
        if not first.all():
            repeats.append(batch.take(~first))
            batch = batch.take(first)
            marks = zip(byte_rows(batch.ids), byte_rows(batch.marks), strict=True)
            marks_by_question.setdefault(batch.question.index, {}).update(marks)
        pending.append(batch)
    while pending:  # one pass, unless some ids are known
        unrecorded: list[QuestionBatch] = []
        for batch, known in zip(pending, record(pending), strict=True):
            if not known:
                outcomes.update(dict.fromkeys(batch.positions.tolist(), ReportOutcome(RECORDED)))
                continue
            new = np.array([report_id not in known for report_id in byte_rows(batch.ids)])
            outcomes.update(_compare_marks(batch.take(~new), known))
            marks_by_question.setdefault(batch.question.index, {}).update(known)
            if new.any():
                unrecorded.append(batch.take(new))
        pending = unrecorded
    for batch in repeats:
        outcomes.update(_compare_marks(batch, marks_by_question[batch.question.index]))
    return outcomes


def _find_first_of_each_id(batch: QuestionBatch) -> BoolArray:
    first_rows: dict[bytes, int] = {}
    for row, report_id in enumerate(byte_rows(batch.ids)):
        first_rows.setdefault(report_id, row)
    first = np.zeros(len(batch.positions), dtype=bool)
    first[list(first_rows.values())] = True
    return first


def _compare_marks(batch: QuestionBatch, marks_by_id: MarksById) -> Iterator[tuple[int, ReportOutcome]]:
    rows = zip(batch.positions.tolist(), byte_rows(batch.ids), byte_rows(batch.marks), strict=True)
    for position, report_id, mark in rows:
        yield position, ReportOutcome(DUPLICATE) if mark == marks_by_id[report_id] else _ID_REUSED
