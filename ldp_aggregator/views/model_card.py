"""Describes a model: in one line, in a few lines, as HTML, and as a card in Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from encoders.explain.text import Counted
from encoders.survey.canonical import decimal_text
from encoders.survey.plan_checks import SILO
from ldp_aggregator.render.document import Section
from ldp_aggregator.results import Results
from ldp_aggregator.views.curator_card import describe_curator
from ldp_aggregator.views.estimate_rows import build_table
from ldp_aggregator.views.feature_sections import build_shares, list_share_facts
from ldp_aggregator.views.model_description import ModelDescription
from ldp_aggregator.views.sections import (
    build_accuracy,
    build_citation,
    build_data,
    build_limits,
    build_model,
    build_privacy,
    build_warnings,
    drop_empty,
    list_facts,
    point_to_warnings,
)


def describe_model(results: Results, classes: Iterable[Any], name: str) -> ModelDescription:
    """Return the description of a model, or of estimates without one.

    Parameters
    ----------
    results : Results
    classes : iterable
        The labels as the model returns them.
    name : str
        The name of the model's class.
    """
    if results.is_curator:
        return describe_curator(results, name)
    plan, estimates = results.plan, results.estimates
    has_label = estimates.has_label
    facts = list_facts(results) | ({"validation": _describe_validation(results)} if has_label else {})
    if results.usefulness and results.usefulness.useless:
        facts["useless"] = "predicts nothing but the most frequent class; see the card"
    facts |= list_share_facts(results)
    used = len(results.used_features)
    line = {
        "survey": repr(plan.id),
        "digest": repr(plan.digest[:8]),
        "epsilon": decimal_text(plan.epsilon),
        "reports": str(estimates.reports),
        **({"trust": repr(SILO)} if estimates.silos else {}),
        **({"classes": str([_to_python(each) for each in classes])} if has_label else {}),
        "features": f"{used}/{len(plan.features)}" if has_label else str(len(results.joined_features)),
        **({"validated": str(estimates.validation is not None)} if has_label else {}),
    }
    return ModelDescription(
        name=f"{name} of {plan.id}",
        line=line,
        facts=facts,
        title=f"Model card: {plan.id}" if has_label else f"Results of {plan.id}",
        build_sections=lambda: _build_sections(results),
    )


def _to_python(label: Any) -> object:
    return label.item() if hasattr(label, "item") else label


def _build_sections(results: Results) -> list[Section]:
    shares = build_shares(results, build_table(results.estimates, results.plan))
    sections = [
        replace(shares, parts=[*point_to_warnings(results), *shares.parts]),
        build_model(results),
        build_data(results),
        build_privacy(results),
        build_accuracy(results),
        build_warnings(results),
        build_limits(results),
        build_citation(results),
    ]
    return drop_empty(sections)


def _describe_validation(results: Results) -> str:
    validation = results.estimates.validation
    if not validation or not validation.validation_result:
        return "none"
    accuracy = validation.validation_result.accuracy
    if accuracy.value != accuracy.value:
        return "without reports"
    value, low, high = (
        min(max(float(each), 0.0), 1.0) for each in (accuracy.value, accuracy.low, accuracy.high)
    )
    devices = Counted(validation.reports, "device")
    return f"accuracy {value:.3f} [{low:.3f}, {high:.3f}] with all features, on {devices}"
