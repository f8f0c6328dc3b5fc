"""Findings on unlabelled rows: which classifier they led to, and what is unknown about it."""

from __future__ import annotations

from encoders.explain.text import Counted
from ldp_aggregator.estimation.unlabelled_summary import (
    ChosenBy,
    ClassifierKind,
    MeasuredAccuracy,
    UnlabelledSummary,
)
from ldp_aggregator.findings.finding import Finding
from ldp_aggregator.findings.values import Count, Names
from ldp_aggregator.findings.words import TEXTS


def find_unlabelled(summary: UnlabelledSummary) -> list[Finding]:
    """Return the findings about the effect of unlabelled rows, without those about their privacy."""
    # late: commands load the method only if it was used
    from ldp_aggregator.estimation.discriminative.classifier import MIN_ASSOCIATION

    values: dict[str, object] = {
        "by_answers": summary.chosen_by == ChosenBy.ANSWERS,
        "fitted": summary.is_fitted,
        "rows": Count(summary.rows),
        "association": f"{summary.association:.1f}",
        "needed": f"{MIN_ASSOCIATION:g}",
        "compared": summary.compared,
        "contradicting": summary.contradicting,
        "contradicting_names": Names(summary.contradicting),
        "absent": summary.absent,
        "absent_names": Names(summary.absent),
        "validated_plain": summary.validated == ClassifierKind.NAIVE_BAYES,
        "validated_fitted": summary.validated == ClassifierKind.FITTED,
        "validated_other": summary.validated == ClassifierKind.OTHER,
        "confidence": f"{summary.confidence:.3f}",
    }
    if summary.compared:
        values["fitted_accuracy"] = _format_accuracy(summary.compared[ClassifierKind.FITTED])
        values["plain_accuracy"] = _format_accuracy(summary.compared[ClassifierKind.NAIVE_BAYES])
    return TEXTS.section("unlabelled", values)


def _format_accuracy(measured: MeasuredAccuracy) -> str:
    devices = Counted(measured.reports, "device")
    if measured.accuracy is None:
        return f"unknown ({devices})"
    value = min(max(measured.accuracy, 0.0), 1.0)
    return f"{value:.3f} ± {measured.stderr:.3f} ({devices})"
