"""The people that a number of yes/no questions needs, with and without a label.

The margins follow in closed form, as those of a survey do. It is assumed that half of the people say yes, and
that the label has two classes of equal size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from encoders.survey import CategoricalFeature, Label, Survey
from encoders.survey.choices import TICKS
from encoders.survey.features import NO_LABEL
from ldp_aggregator.findings.values import Count
from ldp_aggregator.synthetic_people import SyntheticPopulation
from ldp_design.simulation.expected_totals import ExpectedTotals
from ldp_design.sizing.facts import TEXTS, Cell
from ldp_design.sizing.margins import Margin, compute_expected_margins, list_feature_margins
from ldp_design.sizing.sample_size import find_min_users

DEFAULT_MARGIN = 0.05
MAX_QUESTIONS = 100
_TWO_CLASSES = Label("label", ("0", "1"))


@dataclass(frozen=True, kw_only=True)
class QuestionsSize:
    """The people that yes/no questions need, so that every margin is small enough."""

    epsilon: float
    margin: float
    questions: int
    without_label: int
    with_label: int
    """For the shares among all people, in a survey with a label."""
    by_label: int
    """For the shares among the people of one label."""

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers for JSON."""
        return asdict(self)


def size_questions(survey: Survey, questions: int, margin: float = DEFAULT_MARGIN) -> QuestionsSize:
    """Return the people that yes/no questions need with the epsilon and the mechanism of a survey.

    Raises
    ------
    SurveyError, SizeError
        If there is no such survey, or no number of people is enough.
    """
    features = tuple(CategoricalFeature(f"question {number}", TICKS) for number in range(questions))

    def count_people(label: Label, choose: Callable[[Margin], float]) -> int:
        weights = (None if label.exists else 0, *(1 for _ in features))
        plan = replace(
            survey, label=label, features=features, weights=weights, users=None, projection=None, texts=None
        ).compile()
        expected = ExpectedTotals(plan, SyntheticPopulation.uniform(plan))

        def excess(users: int) -> float:
            margins = list_feature_margins(compute_expected_margins(expected, users))
            return max(map(choose, margins)) / margin

        return find_min_users(excess)

    return QuestionsSize(
        epsilon=float(survey.epsilon),
        margin=margin,
        questions=questions,
        without_label=count_people(NO_LABEL, lambda each: each.margin),
        with_label=count_people(_TWO_CLASSES, lambda each: each.overall_share),
        by_label=count_people(_TWO_CLASSES, lambda each: each.margin),
    )


def build_questions_table(sizes: Sequence[QuestionsSize]) -> list[list[Cell]]:
    """Return the head and the rows of the table of the people that yes/no questions need."""
    heads = (TEXTS.find(f"cells.{name}") for name in ("without-label", "with-label", "by-label"))
    rows: list[list[Cell]] = [["epsilon", "yes/no questions", *heads]]
    for each in sizes:
        people = map(Count, (each.without_label, each.with_label, each.by_label))
        rows.append([f"{each.epsilon:g}", each.questions, *people])
    return rows
