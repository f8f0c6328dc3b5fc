"""A survey and pilots that the tests of sizing share."""

from dataclasses import replace

import numpy as np

from encoders.survey import Plan, Survey, read_survey
from ldp_aggregator.simulated_population import SyntheticPopulation
from ldp_design.sizing.assumed_people import Pilot
from ldp_design.sizing.forecast import Forecast
from ldp_design.sizing.survey_size import Size
from tests.support.surveys import survey_toml

FEATURES = {
    "kind": {"values": ["black", "green", "mint", "rooibos"], "missing": "category"},
    "hours": {"range": [0, 12], "bins": 8},
    "cups": {"range": [0, 20], "missing": "category"},
    "sugar": ["yes", "no"],
}


def make_text(**changes: object) -> str:
    return survey_toml(**{"features": FEATURES} | changes)


def make_survey(**changes: object) -> Survey:
    return read_survey(make_text(**changes))


SURVEY = make_survey()
PLAN = SURVEY.compile()


def make_pilot(plan: Plan = PLAN, ratio: float = 2.0, mean_shift: float = 1.0) -> Pilot:
    people = SyntheticPopulation.from_strength(plan, ratio, mean_shift)
    return Pilot(
        name="pilot.json", plan=plan, prior=people.prior, conditionals=people.conditionals, reports=5_000
    )


def widest(size: Size) -> float:
    return max(each.share for each in size.margins)


def make_rare_pilot() -> Pilot:
    return replace(make_pilot(), prior=np.array([0.1, 0.9]))


def make_forecast(users: int, mean: float = 0.6) -> Forecast:
    """Return fixed accuracies, which no simulation computes."""
    return Forecast(
        users=users,
        mean=mean,
        low=mean - 0.02,
        high=mean + 0.01,
        majority=0.5,
        best_possible=0.7,
        repeats=20,
    )
