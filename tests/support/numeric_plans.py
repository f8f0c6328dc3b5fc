"""Plans with numbers and a projection, and the type of their JSON documents."""

import dataclasses
from typing import Any

from encoders.mechanisms import NUMERIC_MECHANISMS
from encoders.survey import Plan, Survey, read_survey
from encoders.survey.features import NumericFeature
from tests.support.surveys import PROJECTED

SURVEY = read_survey(PROJECTED)
NAMES = ("auto", *NUMERIC_MECHANISMS)
Document = dict[str, Any]


def compiled(**changes: Any) -> Plan:
    """Return the plan of the survey with some entries replaced."""
    return dataclasses.replace(SURVEY, **changes).compile()


def survey(numeric: str, city: int, hours: int, nap: int, label: int | None = None) -> Survey:
    """Return a survey of a category and two numbers with the given weights."""
    features = (SURVEY.features[0], SURVEY.features[1], NumericFeature("nap", "0", "3", "category"))
    return dataclasses.replace(
        SURVEY, features=features, weights=(label, city, hours, nap), numeric=numeric, projection=None
    )


PLANS = {numeric: compiled(numeric=numeric) for numeric in NAMES}
"""One plan for each numeric mechanism."""
