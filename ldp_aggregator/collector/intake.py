"""Takes the bytes of a request's body: checks every report, records each once, returns their outcomes.

Counts of rejections, and the support counters of the poisoning check, are written with a delay. No response
depends on them, so bad reports do not slow down others. A worker that is killed loses the last seconds of
both, but no report.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from math import inf

import numpy as np

from encoders.errors import Reason, ReportError
from encoders.report import iterate_reports
from encoders.survey import Plan, Question
from encoders.survey.silo_plan import SiloPlan
from encoders.survey.waves import Waves
from ldp_aggregator.background_task import BackgroundTask
from ldp_aggregator.collector.deduplication import REJECTED, ReportOutcome, record_once
from ldp_aggregator.collector.invitations import find_invited
from ldp_aggregator.reports.batch_reader import BatchReader, QuestionBatch, Rejection
from ldp_aggregator.stores import Batch, MarksById, Store, StoreError
from ldp_aggregator.stores.group_commit import GroupCommit
from ldp_aggregator.stores.schedule import Schedule
from ldp_aggregator.stores.shards import choose_shards, divide_counter, read_shards
from ldp_aggregator.stores.store import positions_by_server

REJECTION_SECONDS = 1.0
PAYLOAD_SECONDS = 5.0
MAX_BUFFERED_PAYLOADS = 5_000


class BufferedWrites:
    def __init__(self, survey: str, store: Store) -> None:
        self._survey, self._store = survey, store
        self._lock = threading.Lock()
        self._rejections: Counter[Reason] = Counter()
        self._columns: dict[int, list[QuestionBatch]] = {}
        self._payload_count = 0
        self._rejection_task = BackgroundTask(self._write_rejections)
        self._payload_task = BackgroundTask(self._write_support_counters)

    def add_rejections(self, reasons: Iterable[Reason]) -> None:
        with self._lock:
            self._rejections.update(reasons)
        if self._rejections:
            self._rejection_task.request(REJECTION_SECONDS)

    def add_recorded(self, batch: QuestionBatch) -> None:
        if batch.question.mechanism.support_counters is None:
            return
        with self._lock:
            self._columns.setdefault(batch.question.index, []).append(batch)
            self._payload_count += len(batch.positions)
            full = self._payload_count >= MAX_BUFFERED_PAYLOADS
        if full:
            self._write_support_counters()
        else:
            self._payload_task.request(PAYLOAD_SECONDS)

    def flush(self) -> None:
        """Write all buffered counts to the store now; afterwards, no thread writes any."""
        for task in (self._rejection_task, self._payload_task):
            task.cancel()
        self._write_rejections()
        self._write_support_counters()

    def _write_rejections(self) -> None:
        """Write the rejections; buffer them again if the store fails."""
        with self._lock:
            counts, self._rejections = self._rejections, Counter()
        for reason, count in counts.items():
            try:
                self._store.add_rejections(self._survey, reason, count)
            except StoreError:
                self.add_rejections(Counter({reason: count}))

    def _write_support_counters(self) -> None:
        """Write the support counters; if a server of the store fails, these reports are not in its own."""
        with self._lock:
            batches, self._columns, self._payload_count = self._columns, {}, 0
        with suppress(StoreError):
            written = [self._support_batch(each) for each in batches.values()]
            for positions in positions_by_server(self._store, written).values():
                with suppress(StoreError):
                    self._store.record([written[position] for position in positions])

    def _support_batch(self, batches: list[QuestionBatch]) -> Batch:
        question = batches[0].question
        assert question.mechanism.support_counters is not None
        return Batch(
            survey=self._survey,
            counter=question.support_key,
            ids=np.empty((0, 16), np.uint8),
            marks=np.empty((0, 8), np.uint8),
            tally=question.mechanism.support_counters.count(
                np.concatenate([batch.payloads for batch in batches])
            ),
        )


WAVE_GRACE_SECONDS = 7 * 86_400
"""How long after its end a wave still takes reports, which devices made in time: they may be offline."""
_NO_LIMITS = Schedule()
_NOT_ENROLLED = ReportOutcome(REJECTED, Rejection(Reason.NOT_ENROLLED, "its token is not an invitation"))


class Intake:
    """Takes reports for one survey, whose plan is published in the store; `group` records in its place."""

    def __init__(self, plan: Plan | SiloPlan, store: Store, group: GroupCommit | None = None) -> None:
        self._plan = plan
        self._store = group or store
        self._shards = read_shards(store, plan.id)
        self._reader = BatchReader(plan)
        self._buffered_writes = BufferedWrites(plan.id, store)

    def record_body(
        self, body: bytes, allow_many: bool = True, schedule: Schedule = _NO_LIMITS
    ) -> list[ReportOutcome]:
        """Check and record the reports of one body, each independently; return outcomes in its order.

        When this returns, every "recorded" report is durable; rejections are counted by reason a little
        later. `allow_many` says whether the body may hold more than one report. `schedule` says which waves
        are closed, and how long after its end a wave takes reports, if longer than WAVE_GRACE_SECONDS.
        Raises ReportError, which counts as one rejection, if the body cannot be divided into reports, or
        holds too many: no report is then recorded. Raises StoreError if the store cannot be used: what was
        recorded before stays counted, and is a duplicate if the same body is sent again.
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
        if self._plan.waves:
            batches = _reject_undue(self._plan, self._plan.waves, batches, schedule, outcomes)
        if self._plan.by_invitation:
            batches = self._reject_uninvited(batches, outcomes)
        if self._shards > 1:
            batches = [shard for batch in batches for shard in self._divide(batch)]
        outcomes |= record_once(batches, self._record_batches)
        self._buffered_writes.add_rejections(each.error.reason for each in outcomes.values() if each.error)
        return [outcomes[position] for position in range(len(outcomes))]

    def count_rejection(self, *reasons: Reason) -> None:
        self._buffered_writes.add_rejections(reasons)

    def flush(self) -> None:
        self._buffered_writes.flush()

    def _reject_uninvited(
        self, batches: Sequence[QuestionBatch], outcomes: dict[int, ReportOutcome]
    ) -> list[QuestionBatch]:
        """Return the reports whose ids are tokens of their questions; add the others to `outcomes`."""
        invited_batches = []
        for batch, invited in find_invited(self._store, self._plan, batches):
            outcomes.update(dict.fromkeys(batch.positions[~invited].tolist(), _NOT_ENROLLED))
            if invited.any():
                invited_batches.append(batch.take(invited))
        return invited_batches

    def _divide(self, batch: QuestionBatch) -> Iterator[QuestionBatch]:
        chosen = choose_shards(batch.ids, self._shards)
        for shard in np.unique(chosen).tolist():
            yield batch.take(chosen == shard, shard)

    def _record_batches(self, batches: Sequence[QuestionBatch]) -> list[MarksById]:
        known_ids = self._store.record([self._to_store_batch(batch) for batch in batches])
        for batch, known in zip(batches, known_ids, strict=True):
            if not known:
                self._buffered_writes.add_recorded(batch)
        return known_ids

    def _to_store_batch(self, batch: QuestionBatch) -> Batch:
        return Batch(
            survey=self._plan.id,
            counter=divide_counter(self._plan.id, batch.question.key, self._shards)[batch.shard],
            ids=batch.ids,
            marks=batch.marks,
            tally=batch.question.mechanism.tally(batch.payloads),
        )


def _reject_undue(
    plan: Plan | SiloPlan,
    waves: Waves,
    batches: Sequence[QuestionBatch],
    schedule: Schedule,
    outcomes: dict[int, ReportOutcome],
) -> list[QuestionBatch]:
    """Return the reports whose wave takes reports now; add the others to `outcomes`.

    A relay keeps the times of its messages, so that only waves that the operator has closed are refused.
    """
    due, now, grace = [], time.time(), max(schedule.grace, WAVE_GRACE_SECONDS)
    for batch in batches:
        assert isinstance(batch.question, Question)
        assert batch.question.wave is not None
        wave = waves.list[batch.question.wave]
        early, is_over = now < wave.opens, now >= wave.closes + grace
        is_closed = now >= schedule.closed_waves.get(wave.name, inf)
        if not is_closed and (plan.relay or not (early or is_over)):
            due.append(batch)
            continue
        early = early and not is_closed
        reason = Reason.SURVEY_NOT_OPEN if early else Reason.SURVEY_CLOSED
        why = f"the wave {wave.name} {'has not opened yet; try again later' if early else 'is over'}"
        outcomes |= dict.fromkeys(batch.positions.tolist(), ReportOutcome(REJECTED, Rejection(reason, why)))
    return due


def _require_one_report(body: bytes) -> None:
    """Raise ReportError for a body of more than one report, without reading beyond the second."""
    reports = iterate_reports(body)
    next(reports)
    if next(reports, None) is not None:
        raise ReportError(
            Reason.TOO_MANY_REPORTS,
            "a body of text/plain holds one report; a collector that limits the rate of reports requires one "
            "report per request, or a gateway's token",
        )
