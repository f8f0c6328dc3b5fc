"""The section that compares two surveys."""

from __future__ import annotations

from encoders.canonical import decimal_text
from encoders.survey.compiled_plan import AnyPlan
from ldp_aggregator.render.document import Part, PlainTable, Section
from ldp_aggregator.results import Results
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.views.estimate_tables import name_statistic, show_values
from ldp_aggregator.views.feature_sections import make_section
from ldp_aggregator.views.survey_comparison import LEVEL, Comparison, Difference
from ldp_aggregator.wording.values import (
    WORDS,
    Count,
    RoundShare,
    choose_number_format,
    format_interval,
    format_percent,
    format_points,
    localise,
    quote,
)


def build_comparison(comparison: Comparison, first: Results, second: Results) -> Section:
    differing = comparison.differing
    result, rest, *others = TEXTS.section(
        "comparison",
        count=Count(len(comparison.differences)),
        differing=Count(len(differing)),
        one_differs=len(differing) == 1,
        # whether a raw estimate that differs is not a possible share
        impossible=any(_is_impossible(each) for each in differing),
        one_family=first.plan.family == second.plan.family,
        level=RoundShare(LEVEL),
    )
    parts: list[Part] = [result, rest, _list_surveys(first, second)]
    if differing:
        parts.append(_list_differences(differing, first.plan))
    parts += others
    if comparison.not_compared:
        parts.append(PlainTable(**TEXTS.table("not-compared"), rows=comparison.not_compared))
    return make_section("comparison", parts)


def _list_surveys(first: Results, second: Results) -> PlainTable:
    return PlainTable(
        **TEXTS.table("surveys"),
        rows=[
            (
                TEXTS.write(f"labels.{name}"),
                each.plan.id,
                str(Count(each.estimates.reports)),
                localise(decimal_text(each.plan.epsilon)),
                each.plan.digest[:16],
            )
            for name, each in (("first", first), ("second", second))
        ],
        numeric={2, 3},
    )


def _list_differences(differing: tuple[Difference, ...], plan: AnyPlan) -> PlainTable:
    table = TEXTS.table("differing", classes=plan.label.exists)
    rows = [_format_difference(each, plan) for each in differing]
    columns = len(table["head"])
    return PlainTable(**table, rows=rows, numeric=range(columns - 4, columns))


def _format_difference(each: Difference, plan: AnyPlan) -> tuple[str, ...]:
    quantity = each.quantity
    [value] = show_values(plan, quantity.feature, [quantity.value])
    [class_name] = show_values(plan, plan.label.name, [quantity.class_name])
    name = name_statistic(quantity.statistic, value)
    if _is_share(each):
        texts = [format_percent(number) for number in (each.first, each.second)]
        change = [
            WORDS.write("values.points", number=format_points(each.difference)),
            format_interval((each.low, each.high), format_points),
        ]
    else:
        write = choose_number_format(each.stderr)
        texts = [write(number) for number in (each.first, each.second)]
        change = [write(each.difference), format_interval((each.low, each.high), write)]
    classes = [class_name or TEXTS.write("labels.all-people")] if plan.label.exists else []
    return (quote(quantity.feature), name, *classes, *texts, *change)


def _is_share(each: Difference) -> bool:
    return each.quantity.statistic.startswith("P(")


def _is_impossible(each: Difference) -> bool:
    return _is_share(each) and not all(0 <= number <= 1 for number in (each.first, each.second))
