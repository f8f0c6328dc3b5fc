"""What each table of a survey costs: its own margin, and the margins if it is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from encoders.survey import Plan, Survey
from ldp_aggregator.synthetic_people import SyntheticPopulation
from ldp_design.simulation.expected_totals import ExpectedTotals
from ldp_design.sizing.margins import Margin, compute_expected_margins


@dataclass(frozen=True, kw_only=True)
class TableCost:
    """What to expect of a table, and of the survey if it is left out and its features are asked alone."""

    features: tuple[str, ...]
    cells: int
    """Number of combinations."""
    question_probability: float
    """Probability that a person is asked for the table."""
    margin: float
    """Margin of the share of one combination: the root mean square over all."""
    without: Mapping[str, float]
    """Without the table, the margin of P(value) of each of its features."""
    other_people: float | None
    """Number of people that any other feature then needs for the same margin, as a multiple of today's; None
    without other features."""

    def as_dict(self) -> dict[str, Any]:
        """Return the cost for JSON."""
        return asdict(self)


def compute_table_costs(
    survey: Survey, plan: Plan, population: SyntheticPopulation, users: int, margins: Sequence[Margin]
) -> Iterator[TableCost]:
    """Yield the cost of each table if `users` people answer, given the margins of the survey."""
    cells = {each.name: each.overall for each in margins if each.kind == "table"}
    for table in survey.tables:
        names = tuple(survey.features[index].name for index in table.feature_indices)
        reduced = survey.keep_tables([each for each in survey.tables if each is not table]).compile()
        alone = compute_expected_margins(ExpectedTotals(reduced, population), users)
        [question] = [each for each in plan.questions if each.feature_indices == table.feature_indices]
        others = set(range(len(plan.features))) - set(table.feature_indices)
        ratios = [
            _ask_rate(plan, each) / _ask_rate(reduced, each) for each in others if _ask_rate(plan, each)
        ]
        yield TableCost(
            features=names,
            cells=question.domain,
            question_probability=plan.question_probability(question),
            margin=cells[" x ".join(names)] or 0.0,
            without={each.name: _overall_margin(each) for each in alone if each.name in names},
            other_people=max(ratios, default=None),
        )


def _ask_rate(plan: Plan, feature: int) -> float:
    return sum(plan.question_probability(each) for each in plan.questions if feature in each.feature_indices)


def _overall_margin(margin: Margin) -> float:
    return margin.margin if margin.overall is None else margin.overall
