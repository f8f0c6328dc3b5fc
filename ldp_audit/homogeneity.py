"""The layer of what should tell nothing at all: length, header, question, report id have one law for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, chi2_contingency

from encoders.errors import ReportError
from encoders.report import Report, unpack
from encoders.survey import Plan
from ldp_audit.checks import HOMOGENEITY, Check
from ldp_audit.messages import Messages

TESTS = 2
"""Statistical tests below."""

_ENOUGH = 50_000
_LEAST = 5.0  # expected counts per cell, below which chi-square is no chi-square


def homogeneity(plan: Plan, heard: Mapping[str, Messages], alpha: float) -> list[Check]:
    """Compare the messages of several people, all parts of them but the randomised answer.

    Parameters
    ----------
    plan : Plan
    heard : mapping from a person's name to messages
        The first 50,000 of each are looked at.
    alpha : float
        The chance that all of the statistical tests together find fault where there is none.
    """
    messages = {name: sent.first(_ENOUGH) for name, sent in heard.items()}
    reports, strange = _read(messages)
    return [
        Check(
            HOMOGENEITY,
            "every person's device sends one well-formed report",
            not strange,
            strange or "all do",
        ),
        _lengths(messages, reports),
        _headers(plan, reports),
        _questions(plan, reports, alpha / TESTS),
        _ids(reports, alpha / TESTS),
        _fresh(reports),
    ]


def _read(messages: Mapping[str, Sequence[bytes]]) -> tuple[dict[str, list[Report]], str]:
    """Return what can be read as reports, and who sends something else."""
    reports: dict[str, list[Report]] = {}
    strange = ""
    for name, sent in messages.items():
        reports[name] = []
        for message in sent:
            try:
                reports[name].append(unpack(message))
            except ReportError as error:
                what = f"{len(message)} bytes that are no report ({error})" if message else "nothing"
                strange = strange or f"{name} sends {what}"
    return reports, strange


def _lengths(messages: Mapping[str, Sequence[bytes]], reports: Mapping[str, list[Report]]) -> Check:
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


def _headers(plan: Plan, reports: Mapping[str, list[Report]]) -> Check:
    known = len(plan.questions)
    digests = {report.plan_digest.hex() for found in reports.values() for report in found}
    questions = {report.question for found in reports.values() for report in found}
    good = digests <= {plan.digest} and all(0 <= question < known for question in questions)
    return Check(
        HOMOGENEITY, "the plan's digest, and one of its questions", good, "always" if good else "not always"
    )


def _questions(plan: Plan, reports: Mapping[str, list[Report]], alpha: float) -> Check:
    """Hold the questions asked of each person against the public weights."""
    weights = np.array([question.weight for question in plan.questions], dtype=np.float64)
    known = len(weights)
    p = 1.0
    for found in reports.values():
        counts = np.bincount([min(report.question, known) for report in found], minlength=known)[:known]
        p = min(p, _goodness(counts, weights / weights.sum()))
    limit = alpha / max(len(reports), 1)
    return Check(HOMOGENEITY, "each question as often as its public weight says", p >= limit, f"p = {p:.2g}")


def _goodness(counts: NDArray[np.int64], shares: NDArray[np.float64]) -> float:
    """Return the p-value of Pearson's test, rare cells put together."""
    order = np.argsort(shares)
    expected, seen = shares[order] * counts.sum(), counts[order].astype(np.float64)
    few = np.cumsum(expected) < _LEAST * 2
    few[1:] |= expected[1:] < _LEAST
    if few.any():
        expected = np.append(expected[~few], expected[few].sum())
        seen = np.append(seen[~few], seen[few].sum())
    if len(expected) < 2 or expected.min() < _LEAST:
        return 1.0
    return float(chi2.sf(((seen - expected) ** 2 / expected).sum(), len(expected) - 1))


def _ids(reports: Mapping[str, list[Report]], alpha: float) -> Check:
    """Hold the report ids of all people against each other and against uniform bytes."""
    name = "report ids are random bytes, whoever answers"
    people = [np.frombuffer(b"".join(each.id for each in found), np.uint8) for found in reports.values()]
    people = [each.reshape(-1, 16) for each in people if len(each) >= 256 * _LEAST * 16]
    if not people:
        return Check(HOMOGENEITY, name, True, "too few messages to tell")
    tests = 16 * (len(people) + 1)
    p = 1.0
    for place in range(16):
        counts = np.stack([np.bincount(each[:, place], minlength=256) for each in people])
        p = min([p, *(_goodness(each, np.full(256, 1 / 256)) for each in counts)])
        if len(people) > 1 and counts.sum(axis=0).min() > 0:
            p = min(p, float(chi2_contingency(counts).pvalue))
    return Check(HOMOGENEITY, name, p >= alpha / tests, f"p = {p:.2g} over {tests} tests")


def _fresh(reports: Mapping[str, list[Report]]) -> Check:
    ids = sorted(report.id for found in reports.values() for report in found)
    repeats = sum(one == other for one, other in pairwise(ids))
    found = f"{repeats:,} repeats among {len(ids):,}" if repeats else f"{len(ids):,} ids"
    return Check(HOMOGENEITY, "no report id twice", not repeats, found)
