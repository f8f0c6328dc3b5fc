"""Builds what the results page shows, as plain texts and tables; the template only arranges them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from markupsafe import Markup

from encoders.mechanisms.registry import explain_mechanisms
from encoders.survey import Feature, NumericFeature
from ldp_aggregator.estimation.intervals import PROBABILITY
from ldp_aggregator.estimation.relevance import format_relevance
from ldp_aggregator.estimation.tables.noisy_tables import name_counted
from ldp_aggregator.models.privacy_statement import VALIDATIONS
from ldp_aggregator.render.interval import Axis, Mark, draw_mark
from ldp_aggregator.render.numbers import UNKNOWN, format_percent, format_plain
from ldp_aggregator.render.text_table import PlainTable
from ldp_aggregator.results.card import ModelDescription
from ldp_aggregator.results.comparison import Comparison
from ldp_aggregator.results.page.checks import (
    build_poisoning,
    build_privacy,
    build_validation,
    format_epsilon,
)
from ldp_aggregator.results.page.compared import build_comparison
from ldp_aggregator.results.page.summary import (
    describe_rejections,
    describe_silos,
    list_facts,
    summarise,
)
from ldp_aggregator.results.page.tables import EstimateTable, build_feature_tables, build_prior_table
from ldp_aggregator.results.silo_text import describe_sent, find_silo_statement
from ldp_aggregator.results.statements import (
    METHOD_AUTHORS,
    METHOD_SOURCE,
    METHOD_TITLE,
    cite_survey,
    list_limits,
)
from ldp_aggregator.results.survey_results import SurveyResults
from ldp_aggregator.results.table import Row, build_table
from ldp_aggregator.results.unlabelled_text import describe_unlabelled, is_fitted

_ESTIMATORS = {
    "default": "All questions together estimate the share of each class.",
    "paper": "The label question alone estimates the share of each class.",
}


@dataclass(frozen=True, kw_only=True)
class FeatureView:
    """One feature: its texts and its tables; without reports it has no tables."""

    anchor: str
    name: str
    facts: str
    marked: bool
    tables: Sequence[EstimateTable]


@dataclass(frozen=True, kw_only=True)
class RelevanceRow:
    """What one feature explains of the label."""

    anchor: str
    name: str
    marked: bool
    chart: Markup
    text: str


def build_view(
    results: SurveyResults, comparison: Comparison | None = None, other: SurveyResults | None = None
) -> dict[str, Any]:
    """Return the variables of the template.

    Parameters
    ----------
    results : SurveyResults
    comparison : Comparison, optional
        The comparison with another survey.
    other : SurveyResults, optional
        The other survey, if there is a comparison.
    """
    plan, estimates = results.plan, results.estimates
    description = ModelDescription(
        plan=plan,
        classes=plan.label.values,
        estimates=estimates,
        simulated=bool(results.privacy.get("simulated")),
        unlabelled=results.unlabelled,
        silos=find_silo_statement(results.privacy),
    )
    silos = estimates.get("silos")
    is_validation = plan.validation is not None
    table = [] if is_validation else build_table(estimates)
    features = [] if is_validation else list(_build_features(results, table))
    return {
        "survey": plan.id,
        "title": plan.texts.about.get("title") if plan.texts else None,
        "digest": plan.digest,
        "label": plan.row_label.name,
        "classes": plan.row_label.values,
        "is_validation": is_validation,
        "summary": list(summarise(results, description, table)),
        "facts": list(list_facts(results, description)),
        "rejections": describe_rejections(results),
        "prior": None if is_validation else build_prior_table(table),
        "equal_share": format_percent(1 / len(plan.label.values)),
        "features": features,
        "relevance": [] if is_validation else _build_relevance(results, features),
        "validation": build_validation(estimates, description),
        "poisoning": build_poisoning(estimates),
        "privacy": build_privacy(results, description),
        "warnings": estimates.get("warnings") or [],
        "unlabelled": list(describe_unlabelled(results.unlabelled)) if results.unlabelled else [],
        "model_limits": list_limits(is_fitted(results.unlabelled), description.has_people, silos is not None),
        "method": _build_method(results),
        "estimator": _describe_estimator(results),
        "has_people": description.has_people,
        "silos": list(describe_silos(silos, plan.label)) if silos else [],
        "mechanisms": list(explain_mechanisms(question.mechanism.name for question in plan.questions)),
        "citation": cite_survey(plan.id, plan.digest, description.epsilon, describe_sent(estimates)),
        "method_citation": f"{METHOD_AUTHORS}, {METHOD_TITLE}, {METHOD_SOURCE}.",
        "comparison": build_comparison(comparison, results, other) if comparison and other else None,
    }


# -- the features ---------------------------------------------------------------------------------


def _build_features(results: SurveyResults, table: Sequence[Row]) -> Iterator[FeatureView]:
    tables = build_feature_tables(table, results.plan)
    for place, (feature, entry) in enumerate(
        zip(results.plan.features, results.estimates["features"], strict=True)
    ):
        yield FeatureView(
            anchor=f"feature-{place + 1}",
            name=feature.name,
            facts=_describe_feature(feature, entry),
            marked=entry["distinguishable"],
            tables=tables.get(feature.name, []),
        )


def _describe_feature(feature: Feature, entry: Mapping[str, Any]) -> str:
    """Return one line on a feature: its kind, its reports and their mechanisms."""
    if isinstance(feature, NumericFeature):
        low, high = map(format_plain, feature.bounds)
        kind, questions = f"number from {low} to {high}", [entry["mean_question"], entry["square_question"]]
    else:
        values = len(entry["values"])
        kind, questions = f"{values} value{'s' if values > 1 else ''}", [entry]
    asked = [each for each in questions if each["mechanism"]]
    if not asked:
        return f"{kind}; the survey does not ask about it"
    counts = " + ".join(f"{each['n']:,}" for each in asked)
    mechanisms = " + ".join(dict.fromkeys(each["mechanism"] for each in asked))
    together = entry.get("asked_with")
    shared = f"; the same reports as {', '.join(together)}" if together else ""
    return f"{kind}; {counts} {name_counted(asked[0]['mechanism'])} by {mechanisms}{shared}"


def _build_relevance(results: SurveyResults, features: Sequence[FeatureView]) -> list[RelevanceRow]:
    """Return what each feature explains of the label, the most relevant first; unknown ones last."""
    axis = Axis(*PROBABILITY)
    rows: list[tuple[float, RelevanceRow]] = []
    for view, entry in zip(features, results.estimates["features"], strict=True):
        value, low, high, maximum = (entry["relevance"][key] for key in ("value", "low", "high", "maximum"))
        known = None not in (value, low, high) and (low > 0 or high < maximum)
        value = min(max(value, low), high) if known else -1.0
        mark = Mark(value=value, single=(low, high)) if known else None
        row = RelevanceRow(
            anchor=view.anchor,
            name=view.name,
            marked=view.marked,
            chart=draw_mark(axis, mark),
            text=format_relevance(value, low, high, maximum) if known else UNKNOWN,
        )
        rows.append((value, row))
    return [row for _, row in sorted(rows, key=lambda pair: -pair[0])]


# -- how it was estimated -------------------------------------------------------------------------


def _describe_estimator(results: SurveyResults) -> str:
    name = results.estimates["estimator"]
    return f"Estimator: {name}. {_ESTIMATORS.get(name, '')}".rstrip()


def _build_method(results: SurveyResults) -> list[PlainTable]:
    """Return the questions with their mechanism, epsilon and reports, also of validation rounds."""
    titles = ("Validation round", "Validation round of the classifier that is not kept")
    rounds = [results.privacy.get(name, {}) for name in VALIDATIONS]
    parts = [("Questions", results.privacy), *zip(titles, rounds, strict=True)]
    return [
        PlainTable(
            caption=f"{title}: mechanism, exact epsilon and reports",
            head=("Question", "Mechanism", "Epsilon", "Reports"),
            rows=[
                (
                    entry["question"],
                    entry["mechanism"],
                    format_epsilon(Decimal(entry["epsilon"])),
                    f"{entry['reports']:,}",
                )
                for entry in part["questions"]
            ],
            numeric={2, 3},
        )
        for title, part in parts
        if part.get("questions")
    ]
