"""From the bytes of a body to counters: check every report, count each once, say what became of it.

No HTTP here. Archives, which may be larger than memory, are read by :mod:`ldp_aggregator.archives`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from encoders.errors import Reason, ReportError
from encoders.survey import Plan
from ldp_aggregator.collector.support import Support
from ldp_aggregator.columns import Column, Reader
from ldp_aggregator.stores import Batch, Known, Store
from ldp_aggregator.stores.base import rows_of

RECORDED = "recorded"
DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one report.

    Attributes
    ----------
    status : str
        "recorded", "duplicate" (these very bytes were counted before: success) or "rejected".
    error : ReportError or None
        Why it was rejected.
    """

    status: str
    error: ReportError | None = None


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
        self, plan: Plan, store: Store, record: Callable[[Sequence[Batch]], list[Known]] | None = None
    ) -> None:
        self._plan, self._store = plan, store
        self._record, self._reader = record or store.record, Reader(plan)
        self._support = Support(plan.id, store)

    def take(self, body: bytes) -> list[Verdict]:
        """Judge and count the reports of one body.

        Each report is judged by itself. When this returns, every "recorded" is durable, and every
        rejection is counted under its reason.

        Parameters
        ----------
        body : bytes
            One or many packed reports, concatenated.

        Returns
        -------
        list of Verdict
            In the order of the body.

        Raises
        ------
        ReportError
            If the body cannot be cut into reports; that is counted as one rejection, and nothing else.
        StoreError
            If the store cannot be used. Reports of questions recorded before the failure stay counted;
            sending the same body again counts the others and finds these to be duplicates.
        """
        try:
            columns, refused = self._reader.read(body)
        except ReportError as error:
            self.reject(error.reason)
            raise
        verdicts = {place: Verdict("rejected", error) for place, error in refused.items()}
        columns = [column for column in columns if len(column.places)]
        while columns:  # once, but for ids that are known, or occur twice in the body
            columns = self._count(columns, verdicts)
        self._count_rejections(verdicts.values())
        return [verdicts[place] for place in range(len(verdicts))]

    def reject(self, reason: Reason) -> None:
        """Count a rejection that was decided before the reports were looked at."""
        self._store.reject(self._plan.id, reason)

    def flush(self) -> None:
        """Let the store know all that the poisoning meter has counted."""
        self._support.flush()

    def _count(self, columns: Sequence[Column], verdicts: dict[int, Verdict]) -> list[Column]:
        """Record what can be recorded, note the verdicts, and return what is left to try."""
        left: list[Column] = []
        batches: list[Column] = []
        for column in columns:
            first = _first_of_each_id(column)
            batches.append(column if first is None else column.take(first))
            if first is not None:
                left.append(column.take(~first))
        for column, known in zip(batches, self._record([self._batch(each) for each in batches]), strict=True):
            if not known:
                verdicts.update(dict.fromkeys(column.places.tolist(), Verdict(RECORDED)))
                self._support.add(column)
                continue
            ids, marks = rows_of(column.ids), rows_of(column.marks)
            new = np.array([report_id not in known for report_id in ids])
            for row in np.flatnonzero(~new).tolist():
                verdicts[int(column.places[row])] = _again(marks[row] == known[ids[row]])
            if new.any():
                left.append(column.take(new))
        return left

    def _batch(self, column: Column) -> Batch:
        tally = column.question.mechanism.tally(column.payloads)
        return Batch(self._plan.id, column.question.key, column.ids, column.marks, tally)

    def _count_rejections(self, verdicts: Iterable[Verdict]) -> None:
        reasons = Counter(verdict.error.reason for verdict in verdicts if verdict.error)
        for reason, count in reasons.items():
            self._store.reject(self._plan.id, reason, count)


def _first_of_each_id(column: Column) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
    """Tell which reports are the first with their id; None if all are."""
    ids = rows_of(column.ids)
    seen: dict[bytes, int] = {}
    for row, report_id in enumerate(ids):
        seen.setdefault(report_id, row)
    if len(seen) == len(ids):
        return None
    first = np.zeros(len(ids), dtype=bool)
    first[list(seen.values())] = True
    return first


def _again(same: bool) -> Verdict:
    """Judge a report whose id was seen before, by whether its bytes were the same."""
    if same:
        return Verdict(DUPLICATE)
    return Verdict("rejected", ReportError(Reason.ID_REUSED, "another report was counted under this id"))
