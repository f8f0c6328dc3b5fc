"""Builds the section of the results page that compares two surveys."""

from __future__ import annotations

from typing import Any

from encoders.survey.decimals import decimal_text
from ldp_aggregator.render.numbers import choose_number_format, format_percent
from ldp_aggregator.render.text_table import PlainTable
from ldp_aggregator.results.comparison import LEVEL, Comparison, Difference
from ldp_aggregator.results.survey_results import SurveyResults


def build_comparison(comparison: Comparison, first: SurveyResults, second: SurveyResults) -> dict[str, Any]:
    """Return the estimates that differ, and what was not compared."""
    count, differing = len(comparison.differences), comparison.differing
    shared = first.plan.family == second.plan.family
    return {
        "surveys": _build_surveys(first, second),
        "result": _describe_result(len(differing), count),
        "count": f"{count:,}",
        "level": f"{LEVEL:.0%}",
        "differing": PlainTable(
            caption="Estimates that differ significantly",
            head=(
                "Feature",
                "Quantity",
                "Class",
                "First",
                "Second",
                "Difference",
                "Simultaneous 95% interval",
            ),
            rows=[_format_difference(each) for each in differing],
            numeric={3, 4, 5, 6},
        )
        if differing
        else None,
        "has_impossible": any(_is_impossible(each) for each in differing),
        "not_compared": comparison.not_compared,
        "is_one_family": shared,
    }


def _build_surveys(first: SurveyResults, second: SurveyResults) -> PlainTable:
    return PlainTable(
        caption="The two surveys",
        head=("Survey", "Id", "Reports", "Epsilon", "Plan digest"),
        rows=[
            (
                name,
                each.plan.id,
                f"{each.estimates['reports']:,}",
                decimal_text(each.plan.epsilon),
                each.plan.digest[:16],
            )
            for name, each in (("First", first), ("Second", second))
        ],
        numeric={2, 3},
    )


def _describe_result(differing: int, count: int) -> str:
    if not count:
        return "No estimate could be compared."
    if not differing:
        return f"None of the {count:,} compared estimates differ by more than their noise."
    verb = "differs" if differing == 1 else "differ"
    return f"{differing:,} of {count:,} compared estimates {verb} by more than the noise explains."


def _format_difference(each: Difference) -> tuple[str, ...]:
    quantity = each.quantity
    name = f"P({quantity.value} | class)" if quantity.value else quantity.statistic
    if quantity.statistic.startswith("P("):
        texts = [format_percent(number) for number in (each.first, each.second)]
        change = [f"{100 * number:+.1f}" for number in (each.difference, each.low, each.high)]
        change = [change[0] + " points", f"{change[1]} to {change[2]}"]
    else:
        write = choose_number_format(each.stderr)
        texts = [write(number) for number in (each.first, each.second)]
        change = [write(each.difference), f"{write(each.low)} to {write(each.high)}"]
    return (quantity.feature, name, quantity.class_name, *texts, *change)


def _is_impossible(each: Difference) -> bool:
    """Return whether a raw estimate is not a possible probability."""
    is_share = each.quantity.statistic.startswith("P(")
    return is_share and not all(0 <= number <= 1 for number in (each.first, each.second))
