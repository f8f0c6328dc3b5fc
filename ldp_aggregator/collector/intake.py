"""From the bytes of a body to counters: check every report, count each once, say what became of it.

No HTTP here: the same intake serves the collector and the reading of report files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from encoders.errors import Reason, ReportError
from encoders.report import Report, fingerprint, split
from encoders.survey import Plan, Question
from encoders.survey.answer import read_report
from ldp_aggregator.stores import Store

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


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A checked report and its place in the body."""

    place: int
    report: Report
    mark: bytes


class Intake:
    """Takes reports for one survey.

    Parameters
    ----------
    plan : Plan
    store : Store
        Where they are counted; the plan is published there by whoever opens it.
    """

    def __init__(self, plan: Plan, store: Store) -> None:
        self._plan, self._store = plan, store

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
            pieces = split(body)
        except ReportError as error:
            self.reject(error.reason)
            raise
        verdicts: dict[int, Verdict] = {}
        groups: dict[int, list[_Arrival]] = {}
        for place, piece in enumerate(pieces):
            try:
                report = read_report(self._plan, piece)
            except ReportError as error:
                verdicts[place] = Verdict("rejected", error)
            else:
                groups.setdefault(report.question, []).append(_Arrival(place, report, fingerprint(piece)))
        for question, arrivals in groups.items():
            verdicts.update(self._record(self._plan.questions[question], arrivals))
        self._count_rejections(verdicts.values())
        return [verdicts[place] for place in range(len(pieces))]

    def reject(self, reason: Reason) -> None:
        """Count a rejection that was decided before the reports were looked at."""
        self._store.reject(self._plan.id, reason)

    def _record(self, question: Question, arrivals: Sequence[_Arrival]) -> dict[int, Verdict]:
        """Count the reports of one question; an id that occurs twice is judged in a later round."""
        verdicts: dict[int, Verdict] = {}
        while arrivals:
            batch: dict[bytes, _Arrival] = {}
            later = [each for each in arrivals if batch.setdefault(each.report.id, each) is not each]
            verdicts.update(self._record_batch(question, batch))
            arrivals = later
        return verdicts

    def _record_batch(self, question: Question, batch: dict[bytes, _Arrival]) -> dict[int, Verdict]:
        """Count reports of distinct ids: those the store knows fall out until it knows none."""
        verdicts: dict[int, Verdict] = {}
        while batch:
            marks = {report_id: arrival.mark for report_id, arrival in batch.items()}
            payloads = b"".join(arrival.report.payload for arrival in batch.values())
            known = self._store.record(self._plan.id, question.key, marks, _tally(question, payloads))
            if not known:
                break
            for report_id, mark in known.items():
                arrival = batch.pop(report_id)
                verdicts[arrival.place] = _again(arrival, mark)
        return verdicts | {arrival.place: Verdict(RECORDED) for arrival in batch.values()}

    def _count_rejections(self, verdicts: Iterable[Verdict]) -> None:
        reasons = Counter(verdict.error.reason for verdict in verdicts if verdict.error)
        for reason, count in reasons.items():
            self._store.reject(self._plan.id, reason, count)


def _again(arrival: _Arrival, mark: bytes) -> Verdict:
    """Judge a report whose id was seen before, by whether its bytes were the same."""
    if arrival.mark == mark:
        return Verdict(DUPLICATE)
    return Verdict("rejected", ReportError(Reason.ID_REUSED, "another report was counted under this id"))


def _tally(question: Question, payloads: bytes) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    matrix = np.frombuffer(payloads, np.uint8).reshape(-1, question.mechanism.payload_bytes)
    return question.mechanism.tally(matrix)
