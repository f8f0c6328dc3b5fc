"""Silo surveys that tests share."""

from collections.abc import Iterable, Sequence

from encoders.randomness import RandomSource
from encoders.report import ID_BYTES, Report, pack
from encoders.survey.any_survey import read_any_survey
from encoders.survey.silo_plan import SiloPlan, SiloSurvey

WARDS = """
[survey]
id = "wards"
kind = "silo"
epsilon = 1.0
rows = 100000
rows_per_person = 1

[label]
name = "ill"
values = ["yes", "no"]

[features.smoker]
values = ["yes", "no"]
[features.age]
range = [0, 100]
bins = 4
missing = "category"
[features.weight]
range = [30, 130]
[features.pulse]
range = [40, 160]
missing = "category"
"""

HABITS = """
[survey]
id = "habits"
kind = "silo"
epsilon = 1.0
rows = 100000

[features.smoker]
values = ["yes", "no"]
[features.drinks]
choices = ["beer", "wine", "other"]
missing = "category"
[features.weight]
range = [30, 130]
[features.pulse]
range = [40, 160]
missing = "category"
"""
"""A survey without a label, with a feature that has several answers."""

CodedRow = tuple[Sequence[int], int]
"""The codes of a row's features, and of its label."""


def read_silo_survey(text: str = WARDS) -> SiloSurvey:
    """Read a silo survey."""
    survey = read_any_survey(text)
    assert isinstance(survey, SiloSurvey)
    return survey


def count_rows(plan: SiloPlan, rows: Iterable[CodedRow]) -> list[int]:
    """Return the exact counts of rows, in parts of a unit."""
    counts = [0] * plan.mechanism.cells
    for codes, label in rows:
        for cell, amount in plan.question.row_parts(codes, label):
            counts[cell] += amount
    return counts


def make_rows(plan: SiloPlan, count: int) -> list[CodedRow]:
    """Return different rows of a plan."""
    return [
        (
            [(7919 * row + 31 * place) % feature.size for place, feature in enumerate(plan.features)],
            row % len(plan.label.values),
        )
        for row in range(count)
    ]


def make_message(plan: SiloPlan, rows: Iterable[CodedRow], rng: RandomSource) -> bytes:
    """Return the report of one silo with these rows."""
    payload = plan.mechanism.perturb(count_rows(plan, rows), rng)
    return pack(Report(plan.digest_bytes, plan.question.index, rng.take(ID_BYTES), payload))
