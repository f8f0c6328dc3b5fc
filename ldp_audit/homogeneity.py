"""The homogeneity layer: length, header, question and report id have one distribution for everybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from encoders.errors import ReportError
from encoders.report import ID_BYTES, Report, unpack
from encoders.survey import Plan
from encoders.survey.report_id import INDEX_BYTES
from ldp_audit.check import HOMOGENEITY, Check
from ldp_audit.messages import Messages

_STATISTICAL_TESTS = 2
_MAX_MESSAGES = 50_000


def check_homogeneity(plan: Plan, messages_by_person: Mapping[str, Messages], alpha: float) -> list[Check]:
    """Compare the messages of several people, all parts of them but the randomised answer.

    Parameters
    ----------
    plan : Plan
    messages_by_person : mapping from a person's name to messages
        The first 50,000 of each are checked.
    alpha : float
        The probability that the statistical tests together find fault where there is none.
    """
    messages = {name: sent.first(_MAX_MESSAGES) for name, sent in messages_by_person.items()}
    reports, malformed = _unpack_reports(messages)
    return [
        Check(
            HOMOGENEITY,
            "every person's device sends one well-formed report",
            not malformed,
            malformed or "all do",
        ),
        _check_lengths(messages, reports),
        _check_headers(plan, reports),
        _check_questions(plan, reports, alpha / _STATISTICAL_TESTS),
        _check_ids(plan, reports, alpha / _STATISTICAL_TESTS),
        _check_unique_ids(reports),
    ]


def _unpack_reports(messages: Mapping[str, Sequence[bytes]]) -> tuple[dict[str, list[Report]], str]:
    """Return what can be unpacked as reports, and who sends something else."""
    reports: dict[str, list[Report]] = {}
    malformed = ""
    for name, sent in messages.items():
        reports[name] = []
        for message in sent:
            try:
                reports[name].append(unpack(message))
            except ReportError as error:
                what = f"{len(message)} bytes that are no report ({error})" if message else "nothing"
                malformed = malformed or f"{name} sends {what}"
    return reports, malformed


def _check_lengths(messages: Mapping[str, Sequence[bytes]], reports: Mapping[str, list[Report]]) -> Check:
    name = "one length for each question"
    lengths: dict[int, set[int]] = {}
    for person, sent in messages.items():
        if len(sent) == len(reports[person]):
            for message, report in zip(sent, reports[person], strict=True):
                lengths.setdefault(report.question, set()).add(len(message))
    several = {question: sorted(found) for question, found in lengths.items() if len(found) > 1}
    if several:
        question, found = next(iter(several.items()))
        return Check(
            HOMOGENEITY,
            name,
            False,
            f"question {question} has messages of {', '.join(map(str, found))} bytes",
        )
    shown = ", ".join(map(str, sorted({length for found in lengths.values() for length in found})))
    return Check(HOMOGENEITY, name, True, f"{shown} bytes")


def _check_headers(plan: Plan, reports: Mapping[str, list[Report]]) -> Check:
    known = len(plan.questions)
    digests = {report.plan_digest.hex() for found in reports.values() for report in found}
    questions = {report.question for found in reports.values() for report in found}
    good = digests <= {plan.digest} and all(0 <= question < known for question in questions)
    return Check(
        HOMOGENEITY, "the plan's digest, and one of its questions", good, "always" if good else "not always"
    )


def _check_questions(plan: Plan, reports: Mapping[str, list[Report]], alpha: float) -> Check:
    """Compare the questions of each person with the public weights, or with the invitations."""
    if plan.by_invitation:
        all_invited = all(_is_invited(report) for sent in reports.values() for report in sent)
        name = "the question that the invitation names"
        return Check(HOMOGENEITY, name, all_invited, "always" if all_invited else "not always")
    weights = np.array([question.weight for question in plan.questions], dtype=np.float64)
    known = len(weights)
    p = 1.0
    for found in reports.values():
        asked = np.bincount([min(report.question, known) for report in found], minlength=known)[:known]
        p = min(p, _min_p_value(asked, len(found), weights / weights.sum()))
    limit = alpha / (known * max(len(reports), 1))
    name = "each question as often as its public weight says"
    return Check(HOMOGENEITY, name, p >= limit, f"p = {p:.2g}, {limit:.1g} allowed")


def _is_invited(report: Report) -> bool:
    return int.from_bytes(report.id[:INDEX_BYTES], "big") == report.question


def _check_ids(plan: Plan, reports: Mapping[str, list[Report]], alpha: float) -> Check:
    """Compare each person's report ids with uniform bytes, each value of each byte by itself."""
    p, prefix = 1.0, INDEX_BYTES if plan.by_invitation else 0
    for found in reports.values():
        ids = np.frombuffer(b"".join(report.id for report in found), np.uint8).reshape(-1, ID_BYTES)
        for column in ids.T[prefix:]:
            p = min(p, _min_p_value(np.bincount(column, minlength=256), len(ids), np.full(256, 1 / 256)))
    limit = alpha / (ID_BYTES * 256 * max(len(reports), 1))
    name = "report ids are random bytes, whoever answers"
    return Check(HOMOGENEITY, name, p >= limit, f"p = {p:.2g}, {limit:.1g} allowed")


def _min_p_value(counts: NDArray[np.int64], trials: int, shares: NDArray[np.float64]) -> float:
    """Return the least p-value of exact two-sided binomial tests; chi-square is wrong so far in the tail."""
    sides = np.minimum(binom.cdf(counts, trials, shares), binom.sf(counts - 1, trials, shares))
    return float(min(1.0, 2 * sides.min()))


def _check_unique_ids(reports: Mapping[str, list[Report]]) -> Check:
    ids = sorted(report.id for found in reports.values() for report in found)
    repeats = sum(one == other for one, other in pairwise(ids))
    found = f"{repeats:,} repeats among {len(ids):,}" if repeats else f"{len(ids):,} ids"
    return Check(HOMOGENEITY, "no report id twice", not repeats, found)
