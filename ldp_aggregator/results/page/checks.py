"""Builds the sections on validation, fabricated reports and privacy of the results page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Any

from ldp_aggregator.estimation.poisoning.outcome import CheckOutcome, summarise_checks
from ldp_aggregator.estimation.validation_result import GAIN_RANGE
from ldp_aggregator.models.privacy_statement import list_questions
from ldp_aggregator.render.numbers import UNKNOWN, format_percent
from ldp_aggregator.render.text_table import PlainTable
from ldp_aggregator.results.card import ModelDescription
from ldp_aggregator.results.silo_text import describe_silo_privacy
from ldp_aggregator.results.statements import (
    PRIVACY_LIMITS,
    describe_audit,
    describe_beliefs,
    describe_privacy,
)
from ldp_aggregator.results.survey_results import SurveyResults
from ldp_aggregator.results.unlabelled_text import state_privacy

Json = Mapping[str, Any]

# -- validation -----------------------------------------------------------------------------------


def build_validation(estimates: Json, description: ModelDescription) -> dict[str, Any] | None:
    """Return the table of accuracy and gains, and what the model keeps; None without a validation round."""
    round_estimates = estimates.get("validation") or estimates
    result = round_estimates.get("validation_result")
    if result is None:
        return None
    return {
        "survey": round_estimates["survey"],
        "reports": f"{round_estimates['reports']:,}",
        "accuracy": _describe_accuracy(result),
        "gains": _build_gains(result),
        "selection": _describe_selection(result),
    }


def _describe_accuracy(result: Json) -> str:
    accuracy = result["accuracy"]
    if accuracy["value"] is None or accuracy["low"] is None or accuracy["high"] is None:
        return "There are no reports, so the accuracy is unknown."
    value, low, high = (format_percent(min(max(accuracy[key], 0.0), 1.0)) for key in ("value", "low", "high"))
    return (
        f"The model with all {len(result['features'])} validated features predicts an estimated {value} of "
        f"labels correctly (95% interval {low} to {high})."
    )


def _build_gains(result: Json) -> PlainTable:
    gains, rows = result["gains"], []
    for place, k in enumerate(result["top_k"]):
        value = gains["value"][place]
        low, high = (gains["simultaneous"][end][place] for end in ("low", "high"))
        known = value is not None and low is not None and high is not None and high - low < GAIN_RANGE
        texts = [f"{100 * each:+.1f}" for each in (value, low, high)] if known else []
        interval = f"{texts[1]} to {texts[2]}" if texts else UNKNOWN
        selected = "selected" if k == result["selected_k"] else ""
        rows.append((f"top {k}", texts[0] if texts else UNKNOWN, interval, selected))
    return PlainTable(
        caption="Gain in accuracy of smaller feature sets over all features, in percentage points",
        head=("Features", "Gain", "Simultaneous 95% interval", "Selection"),
        rows=rows,
        numeric={1, 2},
    )


def _describe_selection(result: Json) -> str:
    count, names = result["selected_k"], result["features"]
    if count is None:
        return "No smaller feature set is significantly more accurate, so the model keeps all of them."
    return (
        f"The model keeps {count} of {len(names)} features: {', '.join(names[:count])}. A smaller feature "
        "set is significantly more accurate; this is the smallest within one standard error of the best."
    )


# -- fabricated reports ---------------------------------------------------------------------------


def build_poisoning(estimates: Json) -> dict[str, Any] | None:
    """Return the outcome of the check for fabricated reports; None if the file has none."""
    document = estimates.get("poisoning")
    if document is None:
        return None
    outcome = summarise_checks(document, estimates["label"]["name"])
    influence = outcome.largest_influence
    return {
        "alarms": [
            (check["question"], finding)
            for check in document["questions"]
            if check["support"]
            for finding in check["support"]["findings"]
        ],
        "result": _describe_tests(outcome),
        "influence": f"{influence[0].upper()}{influence[1:]}." if influence else None,
        "untested": list(_list_untested(document)),
    }


def _describe_tests(outcome: CheckOutcome) -> str:
    if not outcome.tested:
        return f"None of the {outcome.questions} questions can be tested for fabricated reports."
    tests = f"{outcome.tested} of {outcome.questions} questions can be tested for fabricated reports"
    if outcome.alarms:
        return f"ALARM: some reports are not what devices send. {tests}. Nothing was corrected."
    return f"No alarm. {tests}."


def _list_untested(document: Json) -> Iterator[tuple[str, str]]:
    """Yield each reason why questions cannot be tested, with these questions."""
    reasons: dict[str, list[str]] = {}
    for check in document["questions"]:
        if check["support"] is None:
            reasons.setdefault(check["untested"], []).append(check["question"])
    for reason, questions in reasons.items():
        yield ", ".join(questions), reason


# -- privacy --------------------------------------------------------------------------------------


def build_privacy(results: SurveyResults, description: ModelDescription) -> dict[str, Any]:
    """Return the privacy of one report as odds, its limits, and what the privacy statement contains."""
    statement = results.privacy
    audit, shuffled = statement.get("audit"), statement.get("only_if_shuffled")
    beliefs = PlainTable(
        caption="What one report can change at most",
        head=("Belief before the report", "Belief after it, at most"),
        rows=list(describe_beliefs(description.odds_factor)),
        numeric={1},
    )
    return {
        "statement": describe_privacy(description.epsilon, description.odds_factor, description.simulated),
        "beliefs": beliefs,
        "limits": PRIVACY_LIMITS,
        "unlabelled": state_privacy(results.unlabelled) if results.unlabelled else None,
        "silos": list(describe_silo_privacy(description.silos)) if description.silos else [],
        "spent": _find_spent_epsilon(statement),
        "audit": describe_audit(bool(audit.get("passed"))) if isinstance(audit, dict) else None,
        "shuffled": _describe_shuffled(shuffled, float(results.plan.epsilon)) if shuffled else None,
    }


def format_epsilon(epsilon: Decimal) -> str:
    """Return an exact epsilon, rounded up to four decimals."""
    return f"{epsilon.quantize(Decimal('0.0001'), ROUND_CEILING):f}"


def _find_spent_epsilon(statement: Json) -> str | None:
    """Return the largest exact epsilon of any question."""
    largest = max((Decimal(entry["epsilon"]) for entry in list_questions(statement)), default=None)
    return None if largest is None else format_epsilon(largest)


def _describe_shuffled(shuffled: Json, local: float) -> str | None:
    if shuffled["epsilon"] >= local:
        return None
    return (
        f"The central epsilon is {shuffled['epsilon']:.3g} with delta {shuffled['delta']:.1g}, but "
        f"{shuffled['condition']}."
    )
