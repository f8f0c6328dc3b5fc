"""Takes the bytes of a request's body: check every report, record each once, return an outcome for each.

No HTTP here. Archives, which may be larger than memory, are read by :mod:`ldp_aggregator.reports.archives`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from encoders.errors import Reason, ReportError
from encoders.report import iterate_reports
from encoders.survey import Plan
from ldp_aggregator.collector.buffered_writes import BufferedWrites
from ldp_aggregator.collector.deduplication import REJECTED, ReportOutcome, record_once
from ldp_aggregator.collector.invitations import find_invited
from ldp_aggregator.reports.batch_reader import BatchReader, QuestionBatch, Rejection
from ldp_aggregator.stores import Batch, MarksById, Store

_NOT_ENROLLED = ReportOutcome(REJECTED, Rejection(Reason.NOT_ENROLLED, "its token was never given out here"))


class Intake:
    """Takes reports for one survey.

    Parameters
    ----------
    plan : Plan
    store : Store
        Where they are counted. The plan must be published in it.
    record : callable, optional
        In place of the store's own `record`: one that many requests share.
    """

    def __init__(
        self, plan: Plan, store: Store, record: Callable[[Sequence[Batch]], list[MarksById]] | None = None
    ) -> None:
        self._plan = plan
        self._store = store
        self._record = record or store.record
        self._reader = BatchReader(plan)
        self._buffered_writes = BufferedWrites(plan.id, store)

    def record_body(self, body: bytes, allow_many: bool = True) -> list[ReportOutcome]:
        """Check and record the reports of one body.

        Each report is checked by itself. When this returns, every "recorded" is durable; rejections are
        counted under their reasons a little later.

        Parameters
        ----------
        body : bytes
            One or many packed reports, concatenated.
        allow_many : bool
            Whether it may hold more than one.

        Returns
        -------
        list of ReportOutcome
            In the order of the body.

        Raises
        ------
        ReportError
            If the body cannot be divided into reports, or holds more than it may; that is counted as one
            rejection, and nothing else.
        StoreError
            If the store cannot be used. Reports of questions recorded before the failure stay counted;
            sending the same body again counts the others and finds these to be duplicates.
        """
        try:
            if not allow_many:
                _require_one_report(body)
            batches, refused = self._reader.read(body)
        except ReportError as error:
            self.count_rejection(error.reason)
            raise
        outcomes = {position: ReportOutcome(REJECTED, error) for position, error in refused.items()}
        batches = [batch for batch in batches if len(batch.positions)]
        if self._plan.by_invitation:
            batches = self._reject_uninvited(batches, outcomes)
        outcomes |= record_once(batches, self._record_batches)
        self._buffered_writes.add_rejections(each.error.reason for each in outcomes.values() if each.error)
        return [outcomes[position] for position in range(len(outcomes))]

    def count_rejection(self, reason: Reason) -> None:
        """Count a rejection that was decided before the reports were read."""
        self._buffered_writes.add_rejections([reason])

    def flush(self) -> None:
        """Write to the store what is buffered."""
        self._buffered_writes.flush()

    def _reject_uninvited(
        self, batches: Sequence[QuestionBatch], outcomes: dict[int, ReportOutcome]
    ) -> list[QuestionBatch]:
        """Return the reports whose ids are tokens of their questions; note the rejection of the others."""
        invited_batches = []
        for batch, invited in find_invited(self._store, self._plan, batches):
            outcomes.update(dict.fromkeys(batch.positions[~invited].tolist(), _NOT_ENROLLED))
            if invited.any():
                invited_batches.append(batch.take(invited))
        return invited_batches

    def _record_batches(self, batches: Sequence[QuestionBatch]) -> list[MarksById]:
        """Record batches; return the ids of each that were recorded before, see :meth:`Store.record`."""
        known_ids = self._record([self._to_store_batch(batch) for batch in batches])
        for batch, known in zip(batches, known_ids, strict=True):
            if not known:
                self._buffered_writes.add_recorded(batch)
        return known_ids

    def _to_store_batch(self, batch: QuestionBatch) -> Batch:
        return Batch(
            survey=self._plan.id,
            counter=batch.question.key,
            ids=batch.ids,
            marks=batch.marks,
            tally=batch.question.mechanism.tally(batch.payloads),
        )


def _require_one_report(body: bytes) -> None:
    """Refuse a body that holds more than one report; nothing after the second is read."""
    reports = iterate_reports(body)
    next(reports)
    if next(reports, None) is not None:
        raise ReportError(
            Reason.TOO_MANY_REPORTS,
            "the rate of reports is limited here: send one report in each request, or a gateway's token",
        )
