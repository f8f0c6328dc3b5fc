"""From the bytes of a body to counters: check every report, count each once, say what became of it.

No HTTP here. Archives, which may be larger than memory, are read by :mod:`ldp_aggregator.reports.archives`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from encoders.errors import Reason, ReportError
from encoders.report import iterate_reports
from encoders.survey import Plan
from ldp_aggregator.collector.buffered_writes import Rejections
from ldp_aggregator.collector.invitations import enrolled
from ldp_aggregator.collector.metering import Metering
from ldp_aggregator.reports.batch_reader import BatchReader, QuestionBatch, Rejection
from ldp_aggregator.stores import Batch, MarksById, Store
from ldp_aggregator.stores.base import byte_rows

RECORDED = "recorded"
DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one report.

    Attributes
    ----------
    status : str
        "recorded", "duplicate" (these very bytes were counted before: success) or "rejected".
    error : Rejection or None
        Why it was rejected.
    """

    status: str
    error: Rejection | None = None


_STRANGER = Verdict("rejected", Rejection(Reason.NOT_ENROLLED, "its token was never given out here"))
_REUSED = Verdict("rejected", Rejection(Reason.ID_REUSED, "another report was counted under this id"))


class Intake:
    """Takes reports for one survey.

    Parameters
    ----------
    plan : Plan
    store : Store
        Where they are counted; the plan is published there by whoever opens it.
    record : callable, optional
        In place of the store's own `record`: one that many requests share.
    """

    def __init__(
        self, plan: Plan, store: Store, record: Callable[[Sequence[Batch]], list[MarksById]] | None = None
    ) -> None:
        self._plan, self._store = plan, store
        self._record, self._reader = record or store.record, BatchReader(plan)
        self._metering, self._rejections = Metering(plan.id, store), Rejections(plan.id, store)

    def take(self, body: bytes, several: bool = True) -> list[Verdict]:
        """Judge and count the reports of one body.

        Each report is judged by itself. When this returns, every "recorded" is durable; rejections are
        counted under their reasons a little later.

        Parameters
        ----------
        body : bytes
            One or many packed reports, concatenated.
        several : bool
            Whether it may hold more than one.

        Returns
        -------
        list of Verdict
            In the order of the body.

        Raises
        ------
        ReportError
            If the body cannot be cut into reports, or holds more than it may; that is counted as one
            rejection, and nothing else.
        StoreError
            If the store cannot be used. Reports of questions recorded before the failure stay counted;
            sending the same body again counts the others and finds these to be duplicates.
        """
        try:
            if not several:
                _require_one(body)
            batches, refused = self._reader.read(body)
        except ReportError as error:
            self.reject(error.reason)
            raise
        verdicts = {place: Verdict("rejected", error) for place, error in refused.items()}
        batches = [batch for batch in batches if len(batch.positions)]
        if self._plan.by_invitation:
            batches = self._invited(batches, verdicts)
        self._count(batches, verdicts)
        self._rejections.add(verdict.error.reason for verdict in verdicts.values() if verdict.error)
        return [verdicts[place] for place in range(len(verdicts))]

    def reject(self, reason: Reason) -> None:
        """Count a rejection that was decided before the reports were looked at."""
        self._rejections.add([reason])

    def flush(self) -> None:
        """Let the store know all that may wait: rejections, and what the poisoning meter has counted."""
        self._rejections.flush()
        self._metering.flush()

    def _invited(self, batches: Sequence[QuestionBatch], verdicts: dict[int, Verdict]) -> list[QuestionBatch]:
        """Return the reports whose ids are tokens of their questions; judge the others."""
        left = []
        for batch, known in enrolled(self._store, self._plan, batches):
            verdicts.update(dict.fromkeys(batch.positions[~known].tolist(), _STRANGER))
            if known.any():
                left.append(batch if known.all() else batch.take(known))
        return left

    def _count(self, batches: Sequence[QuestionBatch], verdicts: dict[int, Verdict]) -> None:
        """Count the reports and note the verdicts; of one id within a body, the first report is tried."""
        held: dict[int, MarksById] = {}  # by question: the marks of ids that need a second look
        left, repeats = [], []
        for batch in batches:
            first = _first_of_each_id(batch)
            if first is not None:
                repeats.append(batch.take(~first))
                batch = batch.take(first)
                marks = zip(byte_rows(batch.ids), byte_rows(batch.marks), strict=True)
                held[batch.question.index] = dict(marks)
            left.append(batch)
        while left:  # once, but for ids that are known
            left = self._count_new(left, held, verdicts)
        for batch in repeats:
            _judge_again(batch, held[batch.question.index], verdicts)

    def _count_new(
        self, batches: Sequence[QuestionBatch], held: dict[int, MarksById], verdicts: dict[int, Verdict]
    ) -> list[QuestionBatch]:
        """Record each batch unless ids of it are known: those are judged, the others are left to try."""
        left: list[QuestionBatch] = []
        for batch, known in zip(batches, self._record([self._batch(each) for each in batches]), strict=True):
            if not known:
                verdicts.update(dict.fromkeys(batch.positions.tolist(), Verdict(RECORDED)))
                self._metering.add(batch)
                continue
            new = np.array([report_id not in known for report_id in byte_rows(batch.ids)])
            _judge_again(batch.take(~new), known, verdicts)
            held.setdefault(batch.question.index, {}).update(known)
            if new.any():
                left.append(batch.take(new))
        return left

    def _batch(self, batch: QuestionBatch) -> Batch:
        tally = batch.question.mechanism.tally(batch.payloads)
        return Batch(self._plan.id, batch.question.key, batch.ids, batch.marks, tally)


def _require_one(body: bytes) -> None:
    """Refuse a body that holds more than one report; no more than the second is looked at."""
    reports = iterate_reports(body)
    next(reports)
    if next(reports, None) is not None:
        raise ReportError(
            Reason.TOO_MANY_REPORTS,
            "the rate of reports is limited here: send one report in each request, or a gateway's token",
        )


def _first_of_each_id(batch: QuestionBatch) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
    """Tell which reports are the first with their id; None if all are."""
    ids = byte_rows(batch.ids)
    seen: dict[bytes, int] = {}
    for row, report_id in enumerate(ids):
        seen.setdefault(report_id, row)
    if len(seen) == len(ids):
        return None
    first = np.zeros(len(ids), dtype=bool)
    first[list(seen.values())] = True
    return first


def _judge_again(batch: QuestionBatch, held: MarksById, verdicts: dict[int, Verdict]) -> None:
    """Judge reports whose ids were seen before, by whether their bytes were the same."""
    rows = zip(batch.positions.tolist(), byte_rows(batch.ids), byte_rows(batch.marks), strict=True)
    for place, report_id, mark in rows:
        verdicts[place] = Verdict(DUPLICATE) if mark == held[report_id] else _REUSED
