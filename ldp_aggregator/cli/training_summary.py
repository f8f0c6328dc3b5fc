"""The summary that ldp-train prints: reports, prior, validation result, poisoning check, privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import Any

from encoders.explain.text import wrap_text
from encoders.mechanisms.registry import explain_mechanisms
from encoders.survey import NumericFeature, Plan
from encoders.survey.silo_plan import SiloPlan
from encoders.text_table import format_table
from ldp_aggregator.estimation import Estimates, FeatureResult, NumberResult
from ldp_aggregator.estimation.tables.noisy_tables import name_counted
from ldp_aggregator.estimation.validation_result import GAIN_RANGE, ValidationResult
from ldp_aggregator.models.privacy_statement import list_questions
from ldp_aggregator.results.silo_text import (
    SILO_ERRORS,
    describe_silo_data,
    describe_silo_influence,
    find_silo_statement,
)
from ldp_aggregator.results.table import CLASS_PRIOR, Row, build_table
from ldp_aggregator.results.terminal_tables import INTERVAL_LEGEND, LEGEND, UNKNOWN, format_tables
from ldp_aggregator.snapshot import AnySnapshot, SiloSnapshot

_INTERVALS = (
    "single: it contains the truth 19 times in 20. simultaneous: all contain it at once, 19 times in 20. "
    "The estimates are consistent: at least 0, and they add up to 1."
)
_ALL_ROWS = "--csv FILE writes all of them, with raw estimates and intervals"


def format_summary(estimates: Estimates, snapshot: AnySnapshot, compared: Estimates | None = None) -> str:
    """Return the summary of a training: reports per question, estimates, validation, checks and warnings.

    Parameters
    ----------
    estimates : Estimates
    snapshot : Snapshot or SiloSnapshot
    compared : Estimates, optional
        The estimates of a second validation round, whose classifier is not kept.
    """
    table = build_table(estimates.as_dict())
    lines = [_head(estimates, snapshot), *_describe_silos(estimates), ""]
    rows = (
        [] if estimates.label_n is None else [_feature_row(estimates.label, f"{estimates.label_n} reports")]
    )
    for place, feature in enumerate(estimates.features):
        rows.append(_describe_feature(feature, estimates.label, place in estimates.used_features))
    lines += [*format_table(rows, "<><<<"), *_explain_table(rows, estimates.label)]
    lines += [
        "",
        f"P({estimates.label}), with 95% intervals",
        *_format_prior(table),
        *wrap_text(_INTERVALS, "  "),
        *_format_conditionals(table, snapshot.plan),
    ]
    lines += _format_rejections(snapshot)
    if estimates.poisoning:
        lines += ["", *estimates.poisoning.lines]
    for validation in (estimates.validation, compared):
        if validation:
            lines += ["", *_format_round(validation, kept=validation is not compared)]
    if estimates.warnings:
        lines += ["", *(f"warning: {each}" for each in estimates.warnings)]
    return "\n".join(lines)


def _head(estimates: Estimates, snapshot: AnySnapshot) -> str:
    simulated = " (simulated)" if snapshot.simulated else ""
    counted = "messages of silos" if isinstance(snapshot, SiloSnapshot) else "reports"
    return f"{estimates.survey}: {snapshot.total()} {counted}{simulated}, epsilon {snapshot.plan.epsilon}"


def _describe_silos(estimates: Estimates) -> list[str]:
    """Return what silos sent, what the errors cover, and the influence of one that lies."""
    if not estimates.silos:
        return []
    silos = estimates.silos.as_dict()
    influence = describe_silo_influence(silos, estimates.label, estimates.classes)
    sentences = [describe_silo_data(silos), SILO_ERRORS, *([influence] if influence else [])]
    return [line for sentence in sentences for line in ("", *wrap_text(sentence))]


def format_privacy(statement: Mapping[str, Any]) -> str:
    """Return a privacy statement as text: the epsilon of one report or message, and an audit's result."""
    silos = find_silo_statement(statement)
    lines = [] if silos is statement else _format_people_privacy(statement)
    if silos:
        most = silos["rows_per_person"]
        rows = "one row" if most == 1 else f"at most {most:,} rows"
        lines.append(
            f"privacy of silos: epsilon {silos['epsilon']} of each message, with {rows} of one person"
        )
    audit = statement["audit"]
    if audit:
        result = "passed" if audit["passed"] else "FAILED"
        lines.append(f"  audit {result}, {audit['trials']:,} messages of each person compared")
    return "\n".join(lines)


def _format_people_privacy(statement: Mapping[str, Any]) -> list[str]:
    spent = max((entry["epsilon"] for entry in list_questions(statement)), key=Decimal)
    epsilon = statement["epsilon"]
    return [
        f"privacy: one report per person, epsilon {epsilon}; at most {_round_up(spent, epsilon)} is spent"
    ]


def _round_up(spent: str, epsilon: str) -> str:
    """Return a bound on epsilon with three decimals, rounded up, but at most `epsilon`."""
    rounded = Decimal(spent).quantize(Decimal("0.001"), ROUND_CEILING)
    return format(min(rounded, max(Decimal(epsilon), Decimal(spent))).normalize(), "f")


def format_rejection_counts(rejections: Mapping[str, int]) -> str:
    """Return the numbers of rejected reports by reason."""
    return ", ".join(f"{count} {reason}" for reason, count in sorted(rejections.items()))


def _feature_row(
    name: str, reports: str, mechanism: str = "", relevance: str = "", note: str = ""
) -> list[str]:
    return [f"  {name}", reports, mechanism, relevance, note]


def _explain_table(rows: list[list[str]], label: str) -> list[str]:
    """Return the legend of the table of features: `explains`, and the abbreviations of mechanisms."""
    relevance = f"explains: the relevance of a feature for {label}, from 0 to 1, with its 95% interval."
    legend = [relevance] if any(row[3] for row in rows) else []
    legend += explain_mechanisms(name for row in rows for name in row[2].split(" + "))
    return ["", *wrap_text(" ".join(legend), "  ")] if legend else []


def _describe_feature(feature: FeatureResult | NumberResult, label: str, used: bool) -> list[str]:
    """Return the cells of a feature's row: its reports, their mechanism, its relevance and notes."""
    notes = []
    if isinstance(feature, NumberResult):
        mean, square = feature.mean_question, feature.square_question
        mechanisms = [mean.mechanism, square.mechanism]
        counts = [each.n for each in (mean, square) if each.mechanism or not mean.mechanism]
        reports = f"{' + '.join(map(str, counts))} {name_counted(mean.mechanism)}"
    else:
        reports = f"{feature.n} {name_counted(feature.mechanism)}"
        mechanisms = [feature.mechanism]
        if feature.asked_with:
            notes.append(f"same reports as {', '.join(feature.asked_with)}")
    names = " + ".join(name for name in mechanisms if name)
    if not names:
        return _feature_row(feature.name, "", "not asked")
    if not used:
        notes.append("not selected")
    relevance = str(feature.relevance)
    explains = f"explains {relevance}" if relevance == UNKNOWN else f"explains {relevance} of {label}"
    return _feature_row(feature.name, reports, names, explains, "; ".join(notes))


def _format_prior(table: Sequence[Row]) -> list[str]:
    rows = [["", "", "single", "simultaneous"]]
    for row in table:
        if row["statistic"] == CLASS_PRIOR:
            value = UNKNOWN if row["estimate"] is None else format(row["estimate"], ".4f")
            interval = _format_interval(row["low"], row["high"])
            simultaneous = _format_interval(row["simultaneous_low"], row["simultaneous_high"])
            rows.append([f"  {row['class']}", value, interval, simultaneous])
    return format_table(rows, "<><<")


def _format_conditionals(table: Sequence[Row], plan: Plan | SiloPlan) -> list[str]:
    """Return one table per feature, and the legend of all."""
    widths = {each.name: 2 * each.width for each in plan.features if isinstance(each, NumericFeature)}
    tables = format_tables(table, plan.label.name, _ALL_ROWS, widths)
    legend = f"{LEGEND} {INTERVAL_LEGEND}" if widths else LEGEND
    return ["", *tables, "", *wrap_text(legend, "  ")] if tables else []


def _format_rejections(snapshot: AnySnapshot | None) -> list[str]:
    if not (snapshot and snapshot.rejections):
        return []
    return ["", f"rejected: {format_rejection_counts(snapshot.rejections)}"]


def _format_round(validation: Estimates, kept: bool) -> list[str]:
    """Return what a validation round measured, its rejected reports and its check for fabricated reports."""
    result = validation.validation_result
    assert result is not None
    lines = [*_format_validation(validation, result, kept), *_format_rejections(result.snapshot)]
    if validation.poisoning:
        first, *others = validation.poisoning.lines
        lines += ["", f"{validation.survey}: {first}", *others]
    return lines


def _format_validation(validation: Estimates, result: ValidationResult, kept: bool) -> list[str]:
    """Return the accuracy of the validated model, the gains of its top-k sets, and the selected features."""
    model, accuracy, gains = result.model, result.accuracy, result.gains
    names = [model.features[place].name for place in model.order]
    rows = [
        ["", "accuracy", "95% interval", ""],
        [
            f"  all {len(names)}",
            _format_value(min(max(float(accuracy.value), 0.0), 1.0), ".4f"),
            _format_interval(float(accuracy.low), float(accuracy.high)),
            "",
        ],
        ["", "gain over all", "simultaneous 95% interval", ""],
    ]
    for place, k in enumerate(model.top_k):
        low, high = float(gains.simultaneous_low[place]), float(gains.simultaneous_high[place])
        interval = f"[{low:+.4f}, {high:+.4f}]" if high - low < GAIN_RANGE else UNKNOWN
        mark = "selected" if place == result.selected else ""
        rows.append([f"  top {k}", _format_value(float(gains.value[place]), "+.4f"), interval, mark])
    if result.selected is None:
        reason = f"all {len(names)} validated features: no smaller feature set is significantly more accurate"
    else:
        selected = ", ".join(names[: model.top_k[result.selected]])
        reason = (
            f"{selected}: a smaller feature set is significantly more accurate; this is the smallest within "
            "one standard error of the best"
        )
    head = f"{validation.survey}: {validation.reports} devices validated an earlier model"
    subject = "the model keeps" if kept else "this classifier was not kept; it would keep"
    return [head, *format_table(rows, "<>><"), *wrap_text(f"{subject} {reason}", "  ")]


def _format_value(value: float, digits: str) -> str:
    return format(value, digits) if math.isfinite(value) else UNKNOWN


def _format_interval(low: float | None, high: float | None) -> str:
    """Return an interval as text; "unknown" if it is the whole range from 0 to 1."""
    return UNKNOWN if low is None or high is None or (low <= 0 and high >= 1) else f"[{low:.4f}, {high:.4f}]"
