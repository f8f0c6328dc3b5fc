"""Simulated series of a survey with two features and a number."""

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.estimation import Gaussian
from ldp_aggregator.simulated_population import SyntheticPopulation, simulate_series

SURVEY = """
survey = {{id = "habits", epsilon = 4}}
{label}
features.tea.values = ["black", "green", "none"]
features.hours.range = [2, 12]
features.unasked = {{values = ["a", "b"], weight = 0}}
waves = {{first = 2025-01-01, every = "month", count = {count}}}
"""
LABEL = 'label = {name = "asleep", values = ["yes", "no"]}'
TEA = np.array([[0.6, 0.2], [0.3, 0.3], [0.1, 0.5]])


def make_plan(label=LABEL, count=5, more=""):
    return read_survey(SURVEY.format(label=label, count=count) + more).compile()


def make_people(prior=0.4, tea=TEA, hours=(-0.2, 0.2)):
    """Return people with a share of the class "yes", P(tea | class) and means of the normalised hours."""
    number = Gaussian(np.array(hours), np.full(2, 0.04), None)
    return SyntheticPopulation(np.array([prior, 1 - prior]), (np.asarray(tea), number, np.full((2, 2), 0.5)))


def simulate(plan, populations, users=20_000, seed=1):
    return simulate_series(plan, populations, users, np.random.default_rng(seed), FastStream(seed))


def simulate_jump():
    """Return a series in which the shares of tea jump in the fourth wave, in both classes."""
    moved = make_people(tea=TEA[::-1])
    return simulate(make_plan(), [make_people()] * 3 + [moved] * 2, 60_000)


@pytest.fixture(scope="session")
def snapshot():
    return simulate_jump()
