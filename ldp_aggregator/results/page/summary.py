"""Builds the first paragraph and the tiles of the results page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from encoders.survey import Label
from ldp_aggregator.estimation.intervals import PROBABILITY
from ldp_aggregator.findings.bounds import factor_at_most, percent_at_most
from ldp_aggregator.render.numbers import format_percent, is_known
from ldp_aggregator.results.card import ModelDescription
from ldp_aggregator.results.silo_text import SILO_ERRORS, describe_silo_data, describe_silo_influence
from ldp_aggregator.results.statements import SIMULATED_ORIGIN, update_belief
from ldp_aggregator.results.survey_results import SurveyResults
from ldp_aggregator.results.table import CLASS_PRIOR, Row
from ldp_aggregator.results.unlabelled_text import state_privacy

_MAX_NAMED = 6


def summarise(results: SurveyResults, description: ModelDescription, table: Sequence[Row]) -> Iterator[str]:
    """Yield the sentences of the first paragraph."""
    estimates, plan, factor = results.estimates, results.plan, description.odds_factor
    reports = estimates["reports"]
    if not reports:
        sent = "reports" if description.has_people else "messages"
        yield f"There are no {sent} yet, so this page contains no estimates."
        return
    silos = estimates.get("silos")
    if silos:
        yield describe_silo_data(silos)
    if not description.has_people:
        yield from _describe_estimates(results, table)
        return
    reports -= silos["messages"] if silos else 0
    people = "1 person" if reports == 1 else f"{reports:,} people"
    task = (
        "reported whether an earlier model predicts their label correctly"
        if plan.validation
        else f"answered one question{'' if reports == 1 else ' each'}"
    )
    yield (
        f"The reports were simulated: {SIMULATED_ORIGIN}"
        if description.simulated
        else f"{people} {task}. Each answer was randomised on the person's own device before it was sent."
    )
    yield (
        f"With epsilon {description.epsilon}, a report changes the odds between any two answers of a person "
        f"by a factor of at most {factor_at_most(factor)}: a belief of 50% becomes at most "
        f"{percent_at_most(update_belief(0.5, factor))}."
    )
    if plan.validation:
        return
    if results.unlabelled:
        yield state_privacy(results.unlabelled)
    yield from _describe_estimates(results, table)


def describe_silos(silos: Mapping[str, Any], label: Label) -> Iterator[str]:
    """Yield what the errors of estimates from silos cover, and how far one lying silo can move them."""
    yield SILO_ERRORS
    if influence := describe_silo_influence(silos, label.name, label.values):
        yield influence


def _describe_estimates(results: SurveyResults, table: Sequence[Row]) -> Iterator[str]:
    estimates, plan = results.estimates, results.plan
    yield _describe_largest_class(table, plan.label.name)
    yield _describe_distinguishable(estimates, plan.label.name)


def _describe_largest_class(table: Sequence[Row], label: str) -> str:
    prior = [row for row in table if row["statistic"] == CLASS_PRIOR and is_known(row, PROBABILITY)]
    if not prior:
        return f"The reports do not show the shares of the classes of {label}."
    row = max(prior, key=lambda row: row["estimate"] or 0.0)
    share, low, high = (format_percent(row[key] or 0.0) for key in ("estimate", "low", "high"))
    return (
        f"The label is {label}; its most frequent class is {row['class']}, with an estimated {share} (95% "
        f"interval {low} to {high})."
    )


def _describe_distinguishable(estimates: Mapping[str, Any], label: str) -> str:
    features = estimates["features"]
    names = [entry["name"] for entry in features if entry["distinguishable"]]
    if not names:
        return f"In none of the {len(features)} features are the classes of {label} distinguishable."
    listed = ", ".join(names[:_MAX_NAMED])
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    count = f"{len(names)} of {len(features)} feature{'s' if len(features) > 1 else ''}"
    return f"The classes of {label} are distinguishable in {count}: {listed}{more}."


def list_facts(results: SurveyResults, description: ModelDescription) -> Iterator[tuple[str, str]]:
    """Yield the names and values of the tiles."""
    rejected = _count_rejected(results)
    silos, reports = results.estimates.get("silos"), results.estimates["reports"]
    if silos:
        yield "Messages of silos", f"{silos['messages']:,}"
        yield "Rows of silos, about", f"{max(round(silos['rows']), 0):,}"
        reports -= silos["messages"]
    if description.has_people:
        yield "Reports", f"{reports:,}"
    if rejected is not None:
        yield "Rejected", f"{sum(rejected.values()):,}"
    if description.has_people:
        yield "Questions", f"{len(results.plan.questions):,}"
    yield "Epsilon", description.epsilon
    if not results.plan.validation:
        features = results.estimates["features"]
        count = sum(entry["distinguishable"] for entry in features)
        yield "Features that differ", f"{count} of {len(features)}"


def _count_rejected(results: SurveyResults) -> Counter[str] | None:
    """Return the numbers of rejected reports and messages of silos by reason; None if they are unknown."""
    rejected = results.privacy.get("rejected")
    if rejected is None:
        return None
    silos = results.privacy.get("silos") or {}
    return Counter(rejected) + Counter(silos.get("rejected") or {})


def describe_rejections(results: SurveyResults) -> str | None:
    """Return the numbers of rejected reports by reason; None if none was rejected."""
    rejected = _count_rejected(results)
    if not rejected:
        return None
    return "Rejected reports: " + ", ".join(
        f"{count:,} {reason}" for reason, count in sorted(rejected.items())
    )
