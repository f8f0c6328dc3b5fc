"""The people that yes/no questions need, with and without a label, from the closed forms of margins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from encoders.explain.text import wrap_text
from encoders.survey import CategoricalFeature, Label, Survey
from encoders.survey.choices import TICKS
from encoders.survey.features import NO_LABEL
from encoders.text_table import format_table
from ldp_design.sizing.sample_size import round_up
from ldp_design.sizing.survey_size import size_for_margin

DEFAULT_MARGIN = 0.05
_COUNTS = (1, 5, 10)
_HEAD = ["epsilon", "yes/no questions", "without a label", "with a label, all people", "people of one class"]
_LEGEND = (
    "Each person answers one question, so more questions need more people. Assumed: half of the people say "
    "yes, and the label has two classes of equal size. A margin is half of a 95% confidence interval: of the "
    "share who say yes among all people, or among the people of one class."
)


class PeopleNeeded(NamedTuple):
    """The people that a number of questions needs, so that every margin is small enough."""

    epsilon: float
    questions: int
    without_label: int
    with_label: int
    """In a survey with a label: for the shares among all people, and among the people of one class."""
    by_label: int


def size_questions(survey: Survey, margin: float) -> list[PeopleNeeded]:
    """Return the people that 1, 5 and 10 questions need with the epsilon and the mechanism of a survey."""
    found = []
    for count in _COUNTS:
        features = tuple(CategoricalFeature(f"question {number}", TICKS) for number in range(count))
        asked = replace(survey, features=features, users=None, projection=None, tables=(), texts=None)
        alone = size_for_margin(replace(asked, label=NO_LABEL, weights=(0, *[1] * count)), margin)
        label = Label("label", TICKS)
        coupled = size_for_margin(replace(asked, label=label, weights=(None, *[1] * count)), margin)
        ratio = max(each.overall_share for each in coupled.features) / margin
        with_label = round_up(math.ceil(coupled.users * ratio**2), 3)  # margins fall with the root of people
        found.append(PeopleNeeded(float(survey.epsilon), count, alone.users, with_label, coupled.users))
    return found


def format_questions(found: Sequence[PeopleNeeded], margin: float) -> str:
    """Return a small table of the people that yes/no questions need."""
    rows = [[f"{epsilon:g}", *(f"{each:,}" for each in counts)] for epsilon, *counts in found]
    lines = [f"people needed for margins of at most {100 * margin:.3g}%", ""]
    return "\n".join([*lines, *format_table([_HEAD, *rows], ">>>>>"), "", *wrap_text(_LEGEND)])
