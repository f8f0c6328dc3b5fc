"""The sections of results: each chooses statements and tables, for the page, the card and the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

from encoders.canonical import decimal_text
from encoders.survey.compiled_plan import AnyPlan
from ldp_aggregator.estimation import Estimates
from ldp_aggregator.estimation.table_result import TableResult
from ldp_aggregator.estimation.validation_result import GAIN_BOUNDS, ValidationResult
from ldp_aggregator.privacy_statement import ReportsPrivacy
from ldp_aggregator.render.document import Bullets, Note, Part, PlainTable, Pointer, Section, Terms
from ldp_aggregator.results import Results
from ldp_aggregator.statements import TEXTS, model
from ldp_aggregator.statements.data import find_classes_and_features, find_data, find_silos, find_validation
from ldp_aggregator.statements.privacy import find_privacy, format_epsilon
from ldp_aggregator.statements.rules import find_known_majority, is_known
from ldp_aggregator.statements.warnings import find_poisoning, find_untested, find_warnings
from ldp_aggregator.views.estimate_rows import CELL, COMPARISONS, ROW_SHARE, EstimateRow, group_by_feature
from ldp_aggregator.views.estimate_tables import (
    build_bars,
    build_comparison_table,
    find_texts,
    format_with_interval,
)
from ldp_aggregator.views.feature_sections import find_shares, list_features, make_section
from ldp_aggregator.views.series_sections import find_wave
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import (
    Count,
    Counted,
    FactorAtMost,
    FirstNames,
    Names,
    Share,
    format_interval,
    format_percent,
    format_points,
    localise,
    quote,
    write_unknown,
)


def find_lead(results: Results, table: Sequence[EstimateRow]) -> list[Statement]:
    estimates = results.estimates
    lead = [each for each in _find_data(results) if each.id != "data.rejected"]
    if not estimates.reports:
        return lead
    lead += [each for each in find_privacy(results.privacy) if each.id == "privacy.short"]
    if results.is_validation:
        return lead
    lead += find_shares(results, table)
    if not estimates.has_label:
        return lead
    return [*lead, *find_classes_and_features(estimates, [each for _, each in results.joined_features])]


def list_facts(results: Results) -> dict[str, str]:
    used, names = results.used_features, [entry.name for entry, _ in results.joined_features]
    plan, majority = results.plan, find_known_majority(results.estimates)
    stated = TEXTS.section(
        "facts",
        **count_reports(results),
        digest=plan.digest,
        epsilon=localise(decimal_text(plan.epsilon)),
        factor=FactorAtMost(math.exp(float(plan.epsilon))),
        simulated=results.privacy.simulated,
        validation=results.is_validation,
        label=plan.label.name if results.estimates.has_label else "",
        classes=Names(plan.label.values),
        used=len(used),
        count=len(plan.features) if results.estimates.has_label else len(names),
        names=FirstNames(used if results.estimates.has_label else names),
        majority=SimpleNamespace(name=majority.name, share=Share(majority.share)) if majority else None,
    )
    return {each.title: str(each) for each in stated}


def count_reports(results: Results) -> dict[str, Any]:
    """Return the facts on what was counted, which several text files name."""
    silos, rejected = results.estimates.silos, sum(results.privacy.rejected.values())
    messages = silos.messages if silos else 0
    return {
        "wave": results.series.wave if results.series else "",
        "silos": SimpleNamespace(messages=Count(messages), rows=Count(max(round(silos.rows), 0)))
        if silos
        else None,
        "people": results.has_people,
        "asks_all": results.plan.asks_all,
        "reports": Count(results.estimates.reports - messages),
        "rejected": Count(rejected),
    }


def write_epsilon(results: Results) -> str:
    relay, epsilon = results.privacy.relay, localise(decimal_text(results.plan.epsilon))
    if not (results.plan.asks_all and relay):
        return epsilon
    return TEXTS.write("labels.epsilons", relay=localise(f"{relay.epsilon:g}"), epsilon=epsilon)


def build_model(results: Results) -> Section | None:
    if not results.estimates.has_label:
        return None
    statements = [each for each in _find_model(results) if each.id in ("model.kind", "model.useless")]
    facts = PlainTable(**TEXTS.table("model"), rows=list(list_facts(results).items()))
    return make_section("model", [*statements, facts])


def build_data(results: Results) -> Section:
    parts: list[Part] = [*_find_data(results), *_find_silos(results), list_features(results)]
    return make_section("data", parts, survey=results.plan.id, epsilon=write_epsilon(results))


def build_accuracy(results: Results) -> Section | None:
    if not results.estimates.has_label:
        return None
    ids = ("model.not-validated", "model.majority", "model.useless")
    worth = [each for each in _find_model(results) if each.id in ids]
    validation = results.estimates.validation
    parts = _list_validation(validation, results.privacy.validation) if validation else []
    return make_section("accuracy", [*parts, *worth])


def build_validation(results: Results) -> Section | None:
    estimates = results.estimates
    validation = estimates if results.is_validation else estimates.validation
    if not validation:
        return None
    privacy = results.privacy
    own = privacy.people if results.is_validation else privacy.validation
    parts = _list_validation(validation, own)
    if estimates.validation and (poisoning := estimates.validation.poisoning):
        parts += find_poisoning(poisoning, estimates.validation.label)[:1]
    return make_section("validation", parts)


def build_fake_reports(results: Results) -> Section | None:
    poisoning = results.estimates.poisoning
    if not poisoning:
        return None
    statements = find_poisoning(poisoning, results.estimates.label)
    untested = find_untested(poisoning)
    return make_section("fake-reports", [*statements, *([Bullets(untested)] if untested else [])])


def build_silos(results: Results) -> Section | None:
    return make_section("silos", _find_silos(results)) if results.estimates.silos else None


def build_privacy(results: Results, *, shuffled: bool = False) -> Section:
    """Return the section about privacy; `shuffled` adds the central epsilon after shuffling.

    That epsilon holds under a condition that is easily overlooked in a short text.
    """
    hidden = {"privacy.short"} if shuffled else {"privacy.short", "privacy.shuffled"}
    statements = [each for each in find_privacy(results.privacy) if each.id not in hidden]
    return make_section("privacy", statements, people=results.has_people)


def build_warnings(results: Results) -> Section | None:
    warnings = find_warnings(results.estimates)
    return make_section("warnings", [Bullets(warnings)]) if warnings else None


def point_to_warnings(results: Results) -> list[Pointer]:
    count = Counted(len(find_warnings(results.estimates)), "warning")
    return [Pointer(TEXTS.find("warnings.pointer", warnings=count), "warnings")] if count else []


def build_method(results: Results) -> Section:
    privacy = results.privacy
    rounds = ((False, privacy.people), (True, privacy.validation))
    tables = [_list_questions(each, validation=is_validation) for is_validation, each in rounds if each]
    return make_section("method", [*model.explain("method", results), *tables, *list_mechanisms(results)])


def list_mechanisms(results: Results) -> list[Note]:
    explained = " ".join(model.explain_mechanisms(each.mechanism.name for each in results.plan.questions))
    return [Note(TEXTS.find("tables.mechanisms", explanations=explained))] if explained else []


def build_reading(results: Results, *, all_looks: bool = False) -> Section:
    return make_section("reading", [Terms(model.explain("reading", results, all_looks=all_looks))])


def build_limits(results: Results) -> Section:
    return make_section("limits", [Bullets(model.explain("limits", results))], classes=results.has_label)


def build_citation(results: Results) -> Section:
    return make_section("citation", model.find_citation(results))


# -- statements and tables of several sections ------------------------------------------------------


def _find_data(results: Results) -> list[Statement]:
    data = find_data(results.estimates, results.privacy, validation=results.is_validation)
    return [*find_wave(results), *data]


def _find_model(results: Results) -> list[Statement]:
    estimates = results.estimates
    return model.find_model(estimates, results.usefulness) if estimates.has_label else []


def _find_silos(results: Results) -> list[Statement]:
    estimates = results.estimates
    return find_silos(estimates.silos, estimates.label, estimates.classes) if estimates.silos else []


def _list_questions(privacy: ReportsPrivacy, *, validation: bool) -> PlainTable:
    return PlainTable(
        **TEXTS.table("questions", validation=validation),
        rows=[
            (quote(name), each.mechanism, format_epsilon(Decimal(each.epsilon)), str(Count(each.reports)))
            for name, each in ((each.question, each) for each in privacy.questions)
        ],
        numeric={2, 3},
    )


def _list_validation(validation: Estimates, privacy: ReportsPrivacy | None) -> list[Part]:
    assert validation.validation_result is not None
    *statements, selection = find_validation(validation, privacy.rejected if privacy else {})
    return [*statements, _list_gains(validation.validation_result), selection]


def _list_gains(result: ValidationResult) -> PlainTable:
    gains, rows = result.gains, []
    for index, k in enumerate(result.top_k):
        ends = float(gains.simultaneous_low[index]), float(gains.simultaneous_high[index])
        single_low, single_high, stderr = (
            float(each[index]) for each in (gains.low, gains.high, gains.stderr)
        )
        known = is_known(single_low, single_high, GAIN_BOUNDS[1] - GAIN_BOUNDS[0], stderr)
        cells = (format_points(float(gains.value[index])), format_interval(ends, format_points))
        selected = TEXTS.write("labels.selected") if index == result.selected else ""
        top = TEXTS.write("labels.top", number=k)
        rows.append((top, *(cells if known else [write_unknown()] * 2), selected))
    return PlainTable(
        **TEXTS.table("gains"),
        rows=rows,
        numeric={1, 2},
    )


def drop_empty(sections: Iterable[Section | None]) -> list[Section]:
    return [each for each in sections if each]


# -- tables of several features ---------------------------------------------------------------------


MAX_SHOWN_ROWS, MAX_SHOWN_COLUMNS = 40, 12
"""Tables with more rows or columns are in the CSV file only."""
DEPENDENT_LEVEL = 0.05
"""A p-value up to this one shows that rows and columns depend on each other."""
_SHADES = 5


def build_tables(results: Results, table: Sequence[EstimateRow]) -> Section | None:
    rows = group_by_feature(table)
    parts = [
        Section(
            id=f"table-{index}",
            heading=quote(each.name),
            parts=_describe_table(each, results.plan, rows.get(each.name, [])),
        )
        for index, each in enumerate(results.estimates.tables, 1)
    ]
    if not parts:
        return None
    # while a survey is open, there are no tests
    tests = [find_independence(each) for each in results.estimates.tables if each.independence or not each.n]
    shown = [Bullets(tests)] if tests else []
    note = Note(TEXTS.find("tables.several-features"))
    return Section(id="tables", heading=TEXTS.find("headings.tables"), parts=[*shown, note, *parts])


def _describe_table(result: TableResult, plan: AnyPlan, table: Sequence[EstimateRow]) -> list[Part]:
    rows = [row for row in table if row.n]
    across = ", ".join(map(quote, result.across))
    if not rows or len(result.rows) > MAX_SHOWN_ROWS or len(result.columns) > MAX_SHOWN_COLUMNS:
        return [Note(TEXTS.find("tables.too-large"))] if rows else []
    texts = find_texts(plan, result.features[0])
    names = [find_texts(plan, each) for each in result.across]
    columns = {
        ", ".join(each): ", ".join(known.get(value, value) for known, value in zip(names, each, strict=True))
        for each in result.columns
    }
    shares = [row for row in rows if row.statistic == ROW_SHARE]
    bars = build_bars(shares, TEXTS.write("captions.row-shares", columns=across), across, texts, columns)
    compared = [row for row in rows if row.statistic in COMPARISONS]
    groups = [f"{across} = {name}" for name in columns.values()]
    return [
        _draw_heat(result, [row for row in rows if row.statistic == CELL], texts, columns),
        bars,
        *([build_comparison_table(compared, groups, texts)] if compared else []),
    ]


def find_independence(result: TableResult) -> Statement:
    test, levels = result.independence, (0.001, 0.01)
    shown = next((localise(f"p < {level:g}") for level in levels if test and test.p_value < level), None)
    return TEXTS.find(
        "tables.independence",
        known=test is not None,
        table=quote(result.name),
        dependent=test is not None and test.p_value <= DEPENDENT_LEVEL,
        rows=quote(result.features[0]),
        columns=Names(map(quote, result.across)),
        p=shown or (localise(f"p = {test.p_value:.2f}") if test else ""),
    )


def _draw_heat(
    result: TableResult, cells: Sequence[EstimateRow], texts: Mapping[str, str], columns: Mapping[str, str]
) -> PlainTable:
    largest = max((row.estimate or 0.0 for row in cells), default=0.0) or 1.0
    rows, shades, count = [], [], len(columns)

    def write(row: EstimateRow) -> str:
        return format_with_interval(row, format_percent) if row.known else write_unknown()

    for place, value in enumerate(result.rows):
        part = cells[place * count : (place + 1) * count]
        rows.append((texts.get(value, value), *map(write, part)))
        shades.append([round(_SHADES * (row.estimate or 0.0) / largest) * row.known for row in part])
    return PlainTable(
        caption=TEXTS.write("captions.heat"),
        head=(quote(result.features[0]), *columns.values()),
        rows=rows,
        numeric=set(range(1, count + 1)),
        shades=shades,
    )
