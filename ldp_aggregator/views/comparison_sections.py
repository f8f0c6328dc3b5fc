"""The section that compares two surveys."""

from __future__ import annotations

from encoders.canonical import decimal_text
from encoders.survey.compiled_plan import AnyPlan
from ldp_aggregator.render.document import Part, PlainTable, Section
from ldp_aggregator.results import Results
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.views.estimate_tables import show_values
from ldp_aggregator.views.feature_sections import make_section
from ldp_aggregator.views.survey_comparison import LEVEL, Comparison, Difference
from ldp_aggregator.wording.values import Count, RoundShare, choose_number_format, format_percent


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
        parts.append(
            PlainTable(
                caption="What was not compared", head=("Estimates", "Reason"), rows=comparison.not_compared
            )
        )
    return make_section("comparison", parts)


def _list_surveys(first: Results, second: Results) -> PlainTable:
    return PlainTable(
        caption="The two surveys",
        head=("Survey", "Id", "Reports", "Epsilon", "Plan digest"),
        rows=[
            (
                name,
                each.plan.id,
                str(Count(each.estimates.reports)),
                decimal_text(each.plan.epsilon),
                each.plan.digest[:16],
            )
            for name, each in (("First", first), ("Second", second))
        ],
        numeric={2, 3},
    )


def _list_differences(differing: tuple[Difference, ...], plan: AnyPlan) -> PlainTable:
    head = ("Feature", "Quantity", "Class", "First", "Second", "Difference", "Simultaneous 95% interval")
    shown = [index for index, name in enumerate(head) if name != "Class" or plan.label.exists]
    texts = [head, *(_format_difference(each, plan) for each in differing)]
    rows = [[row[index] for index in shown] for row in texts]
    return PlainTable(
        caption="Estimates that differ significantly",
        head=rows[0],
        rows=rows[1:],
        numeric=range(len(shown) - 4, len(shown)),
    )


def _format_difference(each: Difference, plan: AnyPlan) -> tuple[str, ...]:
    quantity = each.quantity
    [value] = show_values(plan, quantity.feature, [quantity.value])
    [class_name] = show_values(plan, plan.label.name, [quantity.class_name])
    name = quantity.statistic.replace("value", value)
    if _is_share(each):
        texts = [format_percent(number) for number in (each.first, each.second)]
        change = [f"{100 * number:+.1f}" for number in (each.difference, each.low, each.high)]
        change = [change[0] + " points", f"{change[1]} to {change[2]}"]
    else:
        write = choose_number_format(each.stderr)
        texts = [write(number) for number in (each.first, each.second)]
        change = [write(each.difference), f"{write(each.low)} to {write(each.high)}"]
    return (quantity.feature, name, class_name or "all people", *texts, *change)


def _is_share(each: Difference) -> bool:
    return each.quantity.statistic.startswith("P(")


def _is_impossible(each: Difference) -> bool:
    return _is_share(each) and not all(0 <= number <= 1 for number in (each.first, each.second))
