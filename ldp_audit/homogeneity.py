"""The homogeneity layer: length, header, question and report id have the same distribution for everybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from encoders.errors import ReportError
from encoders.report import ID_BYTES, Report, unpack
from encoders.survey import Plan
from encoders.survey.compiled_plan import INDEX_BYTES
from ldp_audit.blackbox import MessagesByPerson
from ldp_audit.result import HOMOGENEITY, Check, format_p_value

_MAX_MESSAGES = 50_000

ReportsByPerson = dict[str, list[Report]]


def check_homogeneity(plan: Plan, messages_by_person: MessagesByPerson, alpha: float) -> list[Check]:
    """Compare the first 50,000 messages of each person except the payload; `alpha` is for all."""
    messages = {person: each.first(_MAX_MESSAGES) for person, each in messages_by_person.items()}
    reports, malformed = _unpack_reports(messages)
    name = "every person's device sends one well-formed report"
    return [
        Check(HOMOGENEITY, name, not malformed, malformed or "all do"),
        _check_lengths(messages, reports),
        _check_headers(plan, reports),
        # the two statistical tests share alpha
        _check_invitations(reports) if plan.by_invitation else _check_weights(plan, reports, alpha / 2),
        _check_ids(plan, reports, alpha / 2),
        _check_unique_ids(reports),
    ]


def _unpack_reports(messages: Mapping[str, Sequence[bytes]]) -> tuple[ReportsByPerson, str]:
    """Return the messages that can be unpacked as reports, and a text that names a person with others."""
    reports: ReportsByPerson = {person: [] for person in messages}
    malformed = ""
    for person, message in ((person, message) for person, sent in messages.items() for message in sent):
        try:
            reports[person].append(unpack(message))
        except ReportError as error:
            description = f"{len(message)} bytes that are not a report ({error})" if message else "nothing"
            malformed = malformed or f"{person} sends {description}"
    return reports, malformed


def _check_lengths(messages: Mapping[str, Sequence[bytes]], reports: ReportsByPerson) -> Check:
    name = "one length for each question"
    lengths: dict[int, set[int]] = {}
    for person, sent in messages.items():
        if len(sent) == len(reports[person]):
            for message, report in zip(sent, reports[person], strict=True):
                lengths.setdefault(report.question, set()).add(len(message))
    for question, several in lengths.items():
        if len(several) > 1:
            finding = (
                f"the messages of question {question} differ in length: "
                f"{', '.join(map(str, sorted(several)))} bytes"
            )
            return Check(HOMOGENEITY, name, False, finding)
    every_length = sorted({length for each in lengths.values() for length in each})
    return Check(HOMOGENEITY, name, True, f"{', '.join(map(str, every_length))} bytes")


def _check_headers(plan: Plan, reports: ReportsByPerson) -> Check:
    headers = {(report.plan_digest.hex(), report.question) for sent in reports.values() for report in sent}
    known = range(len(plan.questions))
    passed = all(digest == plan.digest and question in known for digest, question in headers)
    return _check_always("the plan's digest, and one of its questions", passed)


def _check_invitations(reports: ReportsByPerson) -> Check:
    """Compare the question of each report with the prefix of its id, which comes from the invitation."""
    passed = all(
        int.from_bytes(report.id[:INDEX_BYTES], "big") == report.question
        for sent in reports.values()
        for report in sent
    )
    return _check_always("the question that the invitation names", passed)


def _check_always(name: str, passed: bool) -> Check:
    return Check(HOMOGENEITY, name, passed, "always" if passed else "not always")


def _check_weights(plan: Plan, reports: ReportsByPerson, alpha: float) -> Check:
    """Test how often each person was asked each question against the public weights."""
    weights = np.array([question.weight for question in plan.questions], dtype=np.float64)
    known = len(weights)
    p = 1.0
    for sent in reports.values():
        counts = np.bincount([min(report.question, known) for report in sent], minlength=known)[:known]
        p = min(p, min_p_value(counts, len(sent), weights / weights.sum()))
    limit = alpha / (known * max(len(reports), 1))
    return _check_p_value("each question as often as its public weight says", p, limit)


def _check_ids(plan: Plan, reports: ReportsByPerson, alpha: float) -> Check:
    """Test each person's report ids against uniform bytes, separately for each value of each byte."""
    prefix = INDEX_BYTES if plan.by_invitation else 0
    p = 1.0
    for sent in reports.values():
        ids = np.frombuffer(b"".join(report.id for report in sent), np.uint8).reshape(-1, ID_BYTES)
        counts = [np.bincount(column, minlength=256) for column in ids.T[prefix:]]
        extremes = np.array([np.min(counts), np.max(counts)])  # no other count has a smaller p-value
        p = min(p, min_p_value(extremes, len(ids), 1 / 256))
    limit = alpha / (ID_BYTES * 256 * max(len(reports), 1))
    return _check_p_value("report ids are random bytes for every person", p, limit)


def _check_p_value(name: str, p: float, limit: float) -> Check:
    return Check(HOMOGENEITY, name, p >= limit, f"{format_p_value(p, 2)} (fails below {limit:.1g})")


def min_p_value(counts: NDArray[np.int64], trials: int, shares: NDArray[np.float64] | float) -> float:
    """Return the least p-value of exact two-sided binomial tests; chi-square is wrong for tiny p-values."""
    tails = np.minimum(bdtr(counts, trials, shares), bdtrc(counts - 1, trials, shares))
    return float(min(1.0, 2 * tails.min()))


def _check_unique_ids(reports: ReportsByPerson) -> Check:
    ids = [report.id for sent in reports.values() for report in sent]
    repeats = len(ids) - len(set(ids))
    finding = f"{repeats:,} repeats among {len(ids):,}" if repeats else f"{len(ids):,} ids"
    return Check(HOMOGENEITY, "no report id twice", not repeats, finding)
