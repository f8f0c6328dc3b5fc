"""A second round's projection is learned from the class means estimated by the first round."""

from decimal import Decimal

import numpy as np
import pytest

from encoders.survey import read_survey
from ldp_aggregator.estimation import Gaussian
from ldp_design.rounds.learn import find_objections, learn_projection, min_people

PILOT = """
[survey]
id = "tea"
epsilon = 1
[label]
name = "tired"
values = ["yes", "no"]
[features.kind]
values = ["black", "green"]
[features.hours]
edges = [0, 6, 7, 10]
missing = "category"
[features.idle]
range = [0, 1]
weight = 0
[features.cups]
range = [0, 20]
"""
PRIOR = np.array([0.4, 0.6])
KIND = np.array([[0.9, 0.1], [0.1, 0.9]])
# the bins' middles are 3, 6.5 and 8.5 of 0 to 10, so -.4, .3 and .7
HOURS = np.array([[0.5, 0.1], [0.0, 0.2], [0.0, 0.5], [0.5, 0.2]])
CUPS = Gaussian(np.array([-0.2, 0.4]), np.array([0.1, 0.2]), None)
IDLE = Gaussian(np.array([0.9, -0.9]), np.array([0.1, 0.1]), None)


def test_class_means_come_from_the_middles_of_bins_and_from_normal_distributions():
    survey = read_survey(PILOT)
    assert [feature.name for feature in survey.features] == ["kind", "hours", "idle", "cups"]
    fit = learn_projection(survey, PRIOR, (KIND, HOURS, IDLE, CUPS))
    assert [(each.name, each.low, each.high) for each in fit.projection.inputs] == [
        ("hours", "0", "10"),
        ("cups", "0", "20"),
    ]
    hours = np.array([-0.4, (-0.4 * 0.1 + 0.3 * 0.2 + 0.7 * 0.5) / 0.8])
    weights = np.array([float(text) for text in fit.projection.components[0].weights])
    expected = np.array([np.diff(hours)[0], np.diff(CUPS.mean)[0]])
    np.testing.assert_allclose(weights / weights[0], expected / expected[0], atol=1e-5)


@pytest.mark.parametrize(
    ("numbers", "epsilon", "people"), [(8, "1", 8000), (14, ".5", 56000), (3, "1.9", 832), (3, "32", 750)]
)
def test_the_people_needed_grow_with_the_numbers_and_fall_with_epsilon_squared_up_to_two(
    numbers, epsilon, people
):
    assert min_people(numbers, Decimal(epsilon)) == people


GOOD = (
    PILOT.replace("[features.kind]", "")
    .replace('values = ["black", "green"]', "")
    .replace('edges = [0, 6, 7, 10]\nmissing = "category"', "range = [0, 10]\nbins = 2")
    .replace("range = [0, 20]", "range = [0, 20]\nbins = 2")
)
UNIFORM = np.full((2, 2), 0.5)
GAPS = np.array([[0.48, 0.46], [0.47, 0.48], [0.05, 0.06]])


@pytest.mark.parametrize(
    ("old", "new", "conditionals", "words"),
    [
        ("", "", (UNIFORM, IDLE, UNIFORM), []),
        ("range = [0, 10]\nbins = 2", "range = [0, 10]\nbins = 3", (UNIFORM, IDLE, UNIFORM), ["in 2 bins"]),
        ("range = [0, 10]\nbins = 2", "range = [0, 10]", (CUPS, IDLE, UNIFORM), ["in 2 bins"]),
        ("range = [0, 10]", "range = [0, 10]\nweight = 0", (UNIFORM, IDLE, UNIFORM), ["own direction"]),
        (
            "range = [0, 10]",
            "range = [0, 10]\nmissing = 'category'",
            (GAPS, IDLE, UNIFORM),
            ["6% of the people lack one"],
        ),
        ('"no"]', '"no", "rather"]', (UNIFORM, IDLE, UNIFORM), ["3 classes differ in 2"]),
        (
            "[features.idle]",
            "[features.kind]\nvalues = ['a', 'b']\n[features.idle]",
            (UNIFORM, UNIFORM, IDLE, UNIFORM),
            ["questions about categories"],
        ),
    ],
)
def test_objections_to_a_second_round_are_named(old, new, conditionals, words):
    survey = read_survey(GOOD.replace(old, new, 1))
    prior = np.full(len(survey.label.values), 1 / len(survey.label.values))
    if len(prior) == 3:
        conditionals = tuple(np.full((2, 3), 0.5) if each is UNIFORM else each for each in conditionals)
    found = find_objections(survey, prior, conditionals, 1)
    assert len(found) == len(words)
    assert all(word in objection for word, objection in zip(words, found, strict=True))
