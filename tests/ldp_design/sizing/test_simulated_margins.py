"""Simulated margins agree with those in closed form, for each kind of question, label, table and relay."""

import math

import pytest

from encoders.survey import read_survey
from ldp_design.sizing.simulated_margins import simulate_margins
from ldp_design.sizing.survey_size import compare_sizes

pytestmark = pytest.mark.slow

_SURVEY = """
survey = {{ id = "x", epsilon = {epsilon} }}
{label}
[features]
shift = {{ values = ["day", "evening", "night"] }}
hours = {{ range = [0, 12], bins = 4 }}
mood = {{ values = ["bad", "so-so", "good"], ordered = true }}
income = {{ range = [0, 1000] }}
uses = {{ choices = ["a", "b"] }}
[tables.both]
features = ["shift", "mood"]
"""
_LABEL = 'label = { name = "ill", values = ["yes", "no"] }'


def read(label="", epsilon=2):
    return read_survey(_SURVEY.format(label=label, epsilon=epsilon))


@pytest.mark.parametrize("label", ["", _LABEL])
def test_simulated_margins_are_those_in_closed_form(label):
    """The seed is fixed. Of 100 normal errors, the 96th smallest is 0.6 to 1.67 times the 95% quantile,
    except with a probability of 1e-7 on each side (binomial tails); there are 15 comparisons."""
    survey, users = read(label), 100_000
    expected = compare_sizes(survey, users=[users])[0].margins
    *_, found = simulate_margins(survey, users)
    assert len(found) == len(expected)
    for each, simulated in zip(expected, found, strict=True):
        assert 0.6 < simulated / each.margin < 1.67, each.name


def test_there_are_margins_after_each_survey_and_equal_seeds_give_equal_ones():
    first, second = (list(simulate_margins(read(), 500, repeats=3, seed=7)) for _ in range(2))
    assert first == second
    assert len(first) == 3


def test_a_survey_without_estimates_has_an_infinite_margin():
    *_, found = simulate_margins(read(_LABEL, epsilon=0.01), 20, repeats=3)
    assert math.inf in found


def test_a_large_survey_is_simulated_with_a_million_people(monkeypatch):
    monkeypatch.setattr("ldp_design.sizing.simulated_margins.MAX_SIMULATED_USERS", 1_000)
    [small], [large] = (list(simulate_margins(read(), users, repeats=1)) for users in (1_000, 4_000))
    assert large == pytest.approx([each / 2 for each in small])
