"""The sections about features: shares of all people, estimates by class, comparisons and relevance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, islice

from encoders.survey import CategoricalFeature, Feature, Label, NumericFeature
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.features import BinnedFeature, Choices
from encoders.survey.parse_value import MISSING_TEXT
from encoders.survey.questions import count_values
from ldp_aggregator.estimation import FeatureResult, NumberResult
from ldp_aggregator.estimation.figures import MEAN, SHARE
from ldp_aggregator.estimation.relevance import Relevance
from ldp_aggregator.render.document import Note, Part, PlainTable, RelevanceRow, RelevanceTable, Section
from ldp_aggregator.render.interval import Axis, Mark, draw_mark
from ldp_aggregator.results import Results
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.statements.rules import is_relevance_known
from ldp_aggregator.views.estimate_rows import (
    AT_MOST,
    BELOW,
    CLASS_QUANTILE,
    QUANTILE,
    EstimateRow,
    build_table,
    group_by_feature,
)
from ldp_aggregator.views.estimate_tables import (
    build_bars,
    build_comparison_tables,
    build_feature_tables,
    build_prior_table,
    build_share_tables,
    find_class_texts,
    find_texts,
    find_title,
    show_values,
)
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import (
    WORDS,
    Count,
    Counted,
    FirstNames,
    Names,
    Share,
    choose_number_format,
    format_percent,
    format_plain,
    localise,
    name_counted,
    quote,
    write_percent,
    write_unknown,
)

_SHARES_IN_LEAD = 2
MAX_SHOWN_LIMITS = 12
"""Number of cumulative shares that are shown; the CSV file has all."""
MIN_SHOWN_BINS = 5
"""Fewer bins say little about quantiles."""
_FACTS = 8
"""Number of entries of the survey whose estimates are in the facts of a model."""


def make_section(name: str, parts: Sequence[Part | Section], **values: object) -> Section:
    return Section(id=name, heading=TEXTS.find(f"headings.{name}", **values), parts=parts)


def build_classes(results: Results, table: Sequence[EstimateRow]) -> Section:
    plan, label = results.plan, results.plan.label
    note = Note(TEXTS.find("tables.prior-mark", equal_share=Share(1 / len(label.values))))
    parts: list[Part] = [*_find_name(plan, label), build_prior_table(table, plan), note]
    return make_section("classes", parts, label=quote(label.name))


def build_shares(results: Results, table: Sequence[EstimateRow]) -> Section:
    plan, tables, rows = results.plan, build_share_tables(table, results.plan), group_by_feature(table)
    parts = [
        Section(
            id=f"shares-{index}",
            heading=find_title(plan, entry.name),
            parts=[
                *_find_name(plan, entry),
                Note(_describe_feature(entry, result)),
                *shown,
                *build_cumulative(plan, entry, rows.get(entry.name, [])),
            ],
        )
        for index, (entry, result) in enumerate(results.joined_features, 1)
        for shown in [[tables[entry.name]] if entry.name in tables else []]
    ]
    note = TEXTS.find(
        "tables.shares", people=results.has_people, silos=results.estimates.silos, curator=False
    )
    return make_section("shares", [Note(note), *parts])


def find_shares(results: Results, table: Sequence[EstimateRow]) -> list[Statement]:
    """Return what the first two entries with known estimates show: a mean, or the most frequent value."""
    entries, found = {each.name: each for each, _ in results.joined_features}, []
    of_all = (
        row
        for row in table
        if row.class_name is None and row.statistic in (SHARE, MEAN) and row.value != MISSING_TEXT
    )
    for name, group in groupby(of_all, key=lambda row: row.feature):
        entry, row = entries[name], max(group, key=lambda row: row.estimate or 0.0)
        if row.known:
            found.append(_find_share(results, entry, row))
    people = results.has_people
    return found[:_SHARES_IN_LEAD] or [TEXTS.find("shares.none", people=people)]


def _find_share(results: Results, entry: Feature, row: EstimateRow) -> Statement:
    # the value was chosen because it is the most frequent, so its interval is the simultaneous one
    is_mean = isinstance(entry, NumericFeature)
    ends = (row.low, row.high) if is_mean else (row.simultaneous_low, row.simultaneous_high)
    write = choose_number_format(row.stderr) if is_mean else format_percent
    estimate, low, high = (write(each or 0.0) for each in (row.estimate, *ends))
    [value] = show_values(results.plan, entry.name, [row.value or ""])
    return TEXTS.find(
        "shares.mean" if is_mean else "shares.share",
        choices=isinstance(entry, Choices),
        feature=quote(entry.name),
        value=value,
        estimate=estimate,
        low=low,
        high=high,
    )


def list_share_facts(results: Results) -> dict[str, str]:
    tables = build_share_tables(build_table(results.estimates, results.plan), results.plan)
    facts = {
        f"feature {name}": str(FirstNames(f"{each.name} {each.short}" for each in table.groups[0].rows))
        for name, table in islice(tables.items(), _FACTS)
    }
    return facts | ({"further features": str(len(tables) - _FACTS)} if len(tables) > _FACTS else {})


def build_features(results: Results, table: Sequence[EstimateRow]) -> Section:
    plan, tables = results.plan, build_feature_tables(table, results.plan)
    compared, rows = build_comparison_tables(table, plan), group_by_feature(table)
    parts = [
        Section(
            id=f"feature-{index}",
            heading=find_title(plan, entry.name),
            marked=result.distinguishable,
            parts=[
                *tables.get(entry.name, []),
                *([] if entry.name in tables else [Note(_describe_feature(entry, result))]),
                *([compared[entry.name]] if entry.name in compared else []),
                *build_class_quantiles(plan, entry, rows.get(entry.name, [])),
            ],
        )
        for index, (entry, result) in enumerate(results.joined_features, 1)
    ]
    note = TEXTS.find("tables.features", silos=results.estimates.silos, label=quote(plan.label.name))
    comparing = [Note(TEXTS.find("tables.comparisons"))] if compared else []
    return make_section("features", [Note(note), *comparing, *parts])


def _find_name(plan: AnyPlan, entry: Feature | Label) -> list[Statement]:
    """Return the name of a feature or of the label, and its values with texts, as the CSV file has them."""
    texts = find_texts(plan, entry.name)
    values = Names(each for each in getattr(entry, "values", ()) if each in texts)
    is_named = find_title(plan, entry.name) == entry.name and not values
    return [] if is_named else [TEXTS.find("tables.name", name=entry.name, values=values)]


def _describe_feature(feature: Feature, result: FeatureResult | NumberResult) -> Statement:
    mechanism, counted = _count(result)
    low, high, size, together = "", "", None, Names(())
    if isinstance(feature, NumericFeature):
        low, high = map(format_plain, feature.bounds)
    else:
        assert isinstance(result, FeatureResult)
        values = feature.values if isinstance(feature, Choices) else result.values
        size = Counted(len(values), "choice" if isinstance(feature, Choices) else "value")
        together = Names(map(quote, result.asked_with))
    return TEXTS.find(
        "tables.feature",
        low=low,
        # the bounds of a number; empty for other features
        high=high,
        size=size,
        choices=isinstance(feature, Choices),
        # empty if the survey does not ask about the feature
        mechanism=mechanism,
        counted=counted,
        together=together,
    )


def build_relevance(results: Results) -> Section:
    rows: list[tuple[float, RelevanceRow]] = []
    for index, (_, feature) in enumerate(results.joined_features):
        known = is_relevance_known(feature.relevance)
        value, low, high = _cut_relevance(feature.relevance)
        value = value if known else -1.0
        mark = Mark(value=value, single=(low, high)) if known else None
        row = RelevanceRow(
            anchor=f"feature-{index + 1}",
            name=find_title(results.plan, feature.name),
            marked=feature.distinguishable,
            chart=draw_mark(Axis(0.0, 1.0), mark),
            text=format_relevance(feature.relevance),
        )
        rows.append((value, row))
    ordered = [row for _, row in sorted(rows, key=lambda pair: -pair[0])]
    label = quote(results.plan.label.name)
    table = RelevanceTable(caption=TEXTS.write("captions.relevance", label=label), rows=ordered)
    return make_section("relevance", [Note(TEXTS.find("tables.relevance")), table], label=label)


def format_relevance(relevance: Relevance) -> str:
    """Return a relevance with its 95% interval; "unknown" if the interval shows nothing."""
    value, low, high = _cut_relevance(relevance)
    if not is_relevance_known(relevance):
        return write_unknown()
    estimate, low_end, high_end = (localise(f"{each:.2f}") for each in (value, low, high))
    return WORDS.write("values.explained", estimate=estimate, low=low_end, high=high_end)


def _cut_relevance(relevance: Relevance) -> tuple[float, float, float]:
    value, low, high = map(float, (relevance.estimate.value, relevance.estimate.low, relevance.estimate.high))
    return min(max(value, low), high), low, high


def list_features(results: Results) -> PlainTable:
    used, has_label = results.estimates.used_features, results.estimates.has_label
    table, rows = TEXTS.table("data", classes=has_label), []
    for index, feature in enumerate(results.estimates.features):
        mechanism, counted = _count(feature)
        together = feature.asked_with if isinstance(feature, FeatureResult) else ()
        if together:
            counted = TEXTS.write("labels.counted-with", counted=counted, features=Names(together))
        explains = format_relevance(feature.relevance) if mechanism else ""
        use = TEXTS.write("labels.used" if index in used else "labels.unused")
        cells = (feature.name, counted, mechanism or TEXTS.write("labels.not-asked"), explains, use)
        rows.append(cells[: len(table["head"])])
    return PlainTable(**table, rows=rows)


def _count(feature: FeatureResult | NumberResult) -> tuple[str, str]:
    questions = (
        [feature.mean_question, feature.square_question] if isinstance(feature, NumberResult) else [feature]
    )
    asked = [each for each in questions if each.mechanism]
    mechanisms = dict.fromkeys(each.mechanism for each in asked if each.mechanism)
    counts = " + ".join(str(Count(each.n)) for each in asked)
    noun = name_counted(asked[0].mechanism if asked else None)
    counted = WORDS.write(f"counted.{noun}", number=counts, one=counts == "1")
    return " + ".join(mechanisms), counted if asked else ""


# -- quantiles --------------------------------------------------------------------------------------


def build_cumulative(plan: AnyPlan, entry: Feature, rows: Sequence[EstimateRow]) -> list[Part]:
    mine = [row for row in rows if row.class_name is None]
    limits = [row for row in mine if row.statistic in (BELOW, AT_MOST)]
    quantiles = [row for row in mine if row.statistic == QUANTILE]
    if not limits or not _shows_quantiles(entry):
        return []
    texts = find_texts(plan, entry.name)
    shown = [_show_quantile(entry, row, texts) for row in quantiles]
    median = shown[len(shown) // 2]
    step = -(-len(limits) // MAX_SHOWN_LIMITS)
    words = "labels.below" if isinstance(entry, BinnedFeature) else "labels.up-to"
    values = {row.value or "": texts.get(row.value or "", localise(row.value or "")) for row in limits}
    names = {value: TEXTS.write(words, value=text) for value, text in values.items()}
    quartiles = [(_write_level(row), *cells) for row, cells in zip(quantiles, shown, strict=True)]
    table = TEXTS.table("cumulative")
    return [
        TEXTS.find(
            "tables.median",
            feature=quote(entry.name),
            known=quantiles[len(shown) // 2].known,
            median=median[0],
            interval=median[1],
        ),
        PlainTable(
            **TEXTS.table("quantiles"),
            rows=quartiles,
            numeric={1, 2},
        ),
        build_bars(limits[step - 1 :: step], table["caption"], table["head"][0], names),
    ]


def build_class_quantiles(plan: AnyPlan, entry: Feature, rows: Sequence[EstimateRow]) -> list[PlainTable]:
    rows = [row for row in rows if row.statistic == CLASS_QUANTILE and _shows_quantiles(entry)]
    texts, classes = find_texts(plan, entry.name), find_class_texts(plan)
    shown: dict[str, list[str]] = {}
    for row in rows:
        value, interval = _show_quantile(entry, row, texts)
        cell = WORDS.write("values.compared", estimate=value, interval=interval) if row.known else value
        shown.setdefault(row.class_name or "", []).append(cell)
    table = TEXTS.table("class-quantiles")
    return [
        PlainTable(
            caption=table["caption"],
            head=(*table["head"], *dict.fromkeys(map(_write_level, rows))),
            rows=[(classes.get(name, name), *cells) for name, cells in shown.items()],
            numeric={1, 2, 3},
        )
    ][: len(rows)]


def _write_level(row: EstimateRow) -> str:
    return write_percent((row.value or "").removesuffix("%"))


def _shows_quantiles(entry: Feature) -> bool:
    return isinstance(entry, CategoricalFeature) or count_values(entry) >= MIN_SHOWN_BINS


def _show_quantile(entry: Feature, row: EstimateRow, texts: Mapping[str, str]) -> tuple[str, str]:
    """Return a quantile and its interval as texts; both may be unknown.

    A number has as many digits as a tenth of its interval justifies; the ends are edges of bins.
    """
    if not row.known:
        return write_unknown(), write_unknown()
    estimate, low, high = (each or 0.0 for each in (row.estimate, row.low, row.high))
    if isinstance(entry, CategoricalFeature):
        values = (entry.values[round(each)] for each in (estimate, low, high))
        shown, *ends = (texts.get(value, value) for value in values)
    else:
        shown, *ends = choose_number_format(high - low)(estimate), format_plain(low), format_plain(high)
    return shown, WORDS.write("values.interval", low=ends[0], high=ends[1])
