"""A survey of two features and three labels, a population with known frequencies, many collections of it."""

from dataclasses import dataclass

import numpy as np
import pytest

from encoders.mechanisms import MECHANISMS
from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.population import collect

SURVEY = """
[survey]
id = "estimation-tests"
epsilon = 1.0
[label]
name = "label"
values = ["a", "b", "rare"]
weight = 1
[features.four]
values = ["p", "q", "r", "s"]
[features.two]
values = ["x", "y"]
[mechanism]
frequency = "{mechanism}"
"""
# P(four, label): the label "rare" is rare
JOINT = np.array([[0.20, 0.05, 0.01], [0.15, 0.05, 0.005], [0.05, 0.20, 0.02], [0.20, 0.06, 0.005]])
# P(two = x | label)
GIVEN_LABEL = np.array([0.3, 0.5, 0.9])


@dataclass(frozen=True)
class World:
    """A population's truth, and a way to collect reports from it."""

    plan: object
    joint: np.ndarray
    prior: np.ndarray
    two: np.ndarray

    def snapshot(self, users, seed):
        """Draw users at random and let each send one report."""
        rng = np.random.default_rng([seed, 1])
        four, label = np.divmod(rng.choice(self.joint.size, size=users, p=self.joint.ravel()), 3)
        two = (rng.random(users) >= GIVEN_LABEL[label]).astype(np.int64)
        return collect(self.plan, np.column_stack([four, two]), label, FastStream([seed, 2]))


@pytest.fixture(params=MECHANISMS)
def world(request):
    return make_world(request.param)


@pytest.fixture
def de_world():
    return make_world("DE")


def make_world(mechanism):
    plan = read_survey(SURVEY.format(mechanism=mechanism)).compile()
    prior = JOINT.sum(axis=0)
    return World(plan, JOINT, prior, np.stack([GIVEN_LABEL, 1 - GIVEN_LABEL]) * prior)
