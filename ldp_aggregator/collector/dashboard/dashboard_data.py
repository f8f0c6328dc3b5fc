"""The data of the dashboard: reports, rejections, estimates, and margins with more reports."""

from __future__ import annotations

import json
from collections import defaultdict
from math import sqrt
from typing import Any

from encoders.survey import NumericFeature, Plan
from encoders.survey.decimals import decimal_text
from encoders.survey.plan_checks import SILO
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.codec import to_json
from ldp_aggregator.collector.cached_response import CachedResponse
from ldp_aggregator.collector.current_estimates import ONE_LOOK, CurrentEstimates
from ldp_aggregator.estimation import Estimates, FeatureResult, NumberResult, estimate_snapshot
from ldp_aggregator.estimation.feature_result import join_choices
from ldp_aggregator.estimation.intervals import Z95, forecast_margins
from ldp_aggregator.snapshot import AnySnapshot, SiloSnapshot, Snapshot
from ldp_aggregator.statements.rules import UNKNOWN_SHARE
from ldp_aggregator.statements.warnings import find_feature_warning, find_warnings
from ldp_aggregator.wording.values import MAX_MARGIN

_UNKNOWN_RULE = {"unknown_share": UNKNOWN_SHARE, "largest_margin": MAX_MARGIN, "z": Z95}
"""The numbers of :func:`~ldp_aggregator.statements.rules.is_known`, by which the page shows "unknown"."""
_HIDDEN_KEYS = ("frequencies", "squares", "spread")


def render_progress(snapshot: AnySnapshot, plan: Plan | SiloPlan, *, is_closed: bool) -> CachedResponse:
    """Return the JSON that the dashboard shows; see :meth:`CurrentEstimates.from_snapshot`."""
    if isinstance(snapshot, SiloSnapshot):
        document = silo_progress_document(snapshot)
    else:
        assert isinstance(plan, Plan)
        document = progress_document(snapshot, plan, is_closed=is_closed)
    return CachedResponse(json.dumps(document, separators=(",", ":")).encode(), "application/json")


def progress_document(snapshot: Snapshot, plan: Plan, *, is_closed: bool) -> dict[str, Any]:
    """Return counts, rejections, estimates without their internal entries, and margins with more reports."""
    now = CurrentEstimates.from_snapshot(snapshot, plan, is_closed=is_closed, poisoning=True)
    estimates = now.estimates
    document = estimates.as_dict()
    return {
        "survey": plan.id,
        "plan_digest": plan.digest,
        "epsilon": decimal_text(plan.epsilon),
        "reports": estimates.reports,
        "rule": _UNKNOWN_RULE,
        "questions": _list_questions(snapshot),
        "rejections": dict(snapshot.rejections),
        "intervals": now.looks,
        **_list_label(estimates, document, {"margins": forecast_margins(estimates.raw_prior)}),
        "features": _list_features(plan, estimates),
        "warnings": list(map(str, find_warnings(estimates))),
    }


def silo_progress_document(snapshot: SiloSnapshot) -> dict[str, Any]:
    """Return the counts of messages of silos, the noise in a count, and the estimates.

    There are no margins with more reports: further messages add noise, and an unknown number of rows.
    """
    plan, messages, estimates = snapshot.plan, snapshot.messages, estimate_snapshot(snapshot)
    mechanism, document = plan.mechanism, estimates.as_dict()
    counted = {"counts": "rows"}
    return {
        "survey": plan.id,
        "plan_digest": plan.digest,
        "epsilon": decimal_text(plan.epsilon),
        "kind": SILO,
        "reports": messages,
        "rule": _UNKNOWN_RULE,
        "questions": [{"name": plan.question.name, "mechanism": mechanism.name, "chance": 1, "n": messages}],
        "rejections": dict(snapshot.rejections),
        "intervals": ONE_LOOK,
        **_list_label(estimates, document, counted),
        "features": _list_features(plan, estimates),
        "silo": {
            "rows": plan.rows,
            "rows_per_person": plan.rows_per_person,
            "cells": mechanism.cells,
            "message_bytes": plan.message_bytes,
            "count_error": sqrt(messages * mechanism.noise_variance),
            "safe_messages": mechanism.safe_messages,
            "counted_rows": estimates.silos.rows if estimates.silos else 0,
        },
        "warnings": list(map(str, find_warnings(estimates))),
    }


def _list_label(estimates: Estimates, document: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of the label; none if the survey has no label."""
    if not estimates.has_label:
        return {}
    names = {"label": "name", "classes": "values", "label_n": "n", "raw_prior": "prior"}
    label = {new: document[old] for old, new in names.items()} | {"non_uniform": document["non_uniform"]}
    return {"label": _nest_intervals(label) | more}


def _list_questions(snapshot: Snapshot) -> list[dict[str, Any]]:
    totals = snapshot.totals
    return [
        {
            "name": question.name,
            "kind": question.kind,
            "mechanism": question.mechanism.name,
            "chance": snapshot.plan.question_probability(question),
            "n": totals[question.key].n if question.key in totals else 0,
        }
        for question in snapshot.plan.questions
    ]


def _list_features(plan: Plan | SiloPlan, estimates: Estimates) -> list[dict[str, Any]]:
    """Return what the page shows of each entry of the row."""
    shown_features = []
    warnings: defaultdict[str, list[str]] = defaultdict(list)  # of a feature with several answers: by choice
    for feature, result in zip(plan.features, estimates.features, strict=True):
        warnings[feature.row_name].append(str(find_feature_warning(result, estimates.classes) or ""))
    for feature, estimate in join_choices(plan.features, estimates.features):
        warning = " ".join(filter(None, warnings[estimate.name])) or None
        shown = _visible_entries(_nest_intervals(to_json(estimate))) | {"warning": warning}
        if isinstance(feature, NumericFeature):
            shown["bounds"] = list(feature.bounds)
        if isinstance(plan, SiloPlan):
            shown["counts"] = "rows"
        else:
            shown["margins"] = _compute_margins(estimate)
        shown_features.append(shown)
    return shown_features


def _compute_margins(estimate: FeatureResult | NumberResult) -> dict[str, Any]:
    if isinstance(estimate, NumberResult):
        return forecast_margins(estimate.overall.means)
    return forecast_margins(estimate.shares.reshape(-1, 1))


def _nest_intervals(entry: Any) -> Any:
    """Return the JSON that the page reads, in which simultaneous intervals are objects."""
    if not isinstance(entry, dict):
        return entry
    found = {name: each if name == "comparisons" else _nest_intervals(each) for name, each in entry.items()}
    found |= found.pop("estimate", {})  # of a relevance
    if "simultaneous_low" in found:
        low, high = found.pop("simultaneous_low"), found.pop("simultaneous_high")
        found["simultaneous"] = {"low": low, "high": high}
    if found.get("kind") == NumberResult.kind:
        found |= found.pop("by_class", None) or {}
    return found


def _visible_entries(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in _HIDDEN_KEYS}
