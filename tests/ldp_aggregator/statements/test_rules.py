import math

import numpy as np
import pytest

from encoders.survey import read_survey
from ldp_aggregator.estimation import Estimates, estimate_snapshot
from ldp_aggregator.estimation.intervals import IntervalEstimate
from ldp_aggregator.estimation.relevance import Relevance
from ldp_aggregator.simulated_population import SyntheticPopulation
from ldp_aggregator.statements.rules import is_known
from ldp_aggregator.statements.warnings import find_warnings
from ldp_aggregator.views.feature_sections import format_relevance
from ldp_design.sizing.margins import ExpectedTotals
from ldp_design.sizing.survey_size import size_for_users
from tests.support.surveys import survey_toml


@pytest.mark.parametrize(
    ("low", "high", "stderr", "known"),
    [
        (0.1, 0.8, 0.1, True),
        (0.1, 0.85, 0.1, False),
        (0.0, 0.5, 0.25, True),
        (0.0, 0.5, 0.26, False),
        (None, 0.5, 0.1, False),
        (0.1, math.nan, 0.1, False),
    ],
)
def test_an_estimate_is_known_if_its_interval_and_its_margin_are_narrow(low, high, stderr, known):
    assert is_known(low, high, stderr=stderr) == known
    if low is not None:
        assert is_known(2 * low - 1, 2 * high - 1, 2.0, 2 * stderr) == known


@pytest.mark.parametrize(
    ("value", "low", "high", "maximum", "text"),
    [
        (1412.7, 0.5, 1.0, 1.0, "1.00 [0.50, 1.00]"),
        (-0.2, 0.0, 0.3, 1.0, "0.00 [0.00, 0.30]"),
        (0.27, 0.1, 0.5, 1.0, "0.27 [0.10, 0.50]"),
        (0.4, 0.0, 1.0, 1.0, "unknown"),
        (0.4, 0.0, 0.5, 0.5, "unknown"),
        (0.4, 0.2, 0.96, 1.0, "unknown"),
        (math.nan, 0.0, 1.0, 1.0, "unknown"),
    ],
)
def test_a_relevance_is_inside_its_interval_or_unknown(value, low, high, maximum, text):
    ends = (np.asarray(low), np.asarray(high))
    estimate = IntervalEstimate(np.asarray(value), np.asarray(0.1), *ends, *ends)
    assert format_relevance(Relevance(estimate, 0.0, maximum)) == text


CHOICES = {"pain": {"choices": ["head", "back", "knee", "foot"]}, "age": ["young", "middle", "old"]}


def estimate_choices(users: int) -> Estimates:
    plan = read_survey(survey_toml(features=CHOICES, label=None)).compile()
    return estimate_snapshot(ExpectedTotals(plan, SyntheticPopulation.uniform(plan)).snapshot(users))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
@pytest.mark.parametrize("label", [None, ["yes", "no"]])
def test_results_call_noise_what_the_size_calls_noise(label, epsilon, monkeypatch):
    monkeypatch.setattr("ldp_design.sizing.changes.find_remedies", lambda *_: None)  # they take most time
    features = CHOICES | {"hours": {"range": [0, 10]}}
    survey = read_survey(survey_toml(features=features, label=label, epsilon=epsilon))
    plan = survey.compile()
    found = set()
    for users in (300, 1_000, 3_000, 10_000, 300_000):
        size = size_for_users(survey, users, repeats=0)
        population = SyntheticPopulation.uniform(plan)
        estimates = estimate_snapshot(ExpectedTotals(plan, population).snapshot(users))
        warned = {str(each).rpartition(": noise")[0] for each in find_warnings(estimates)} - {""}
        close = {each.name for each in size.features if 0.8 < each.excess < 1.2}
        assert warned - close == set(size.noise) - close
        found |= set(size.noise)
    assert found


def test_with_the_reports_that_a_warning_names_the_feature_is_no_longer_noise():
    estimates = estimate_choices(500)
    [warning] = [each for each in find_warnings(estimates) if str(each).startswith("age: noise")]
    needed = int(warning.values["needed"])
    users = needed * 5  # 5 questions of equal weight
    assert not [each for each in find_warnings(estimate_choices(users)) if "age" in str(each)]
    assert [each for each in find_warnings(estimate_choices(users * 9 // 10)) if "age" in str(each)]


def test_a_yes_no_choice_is_graded_as_one_half():
    """349 reports about each choice at epsilon 1 are rough, and not noise."""
    assert not [each for each in find_warnings(estimate_choices(349 * 5)) if str(each).startswith("pain")]
    assert [each for each in find_warnings(estimate_choices(60 * 5)) if str(each).startswith("pain")]


def test_a_warning_names_the_classes_that_are_noise():
    plan = read_survey(survey_toml(features={"age": ["young", "old"]}, label={"weight": 1})).compile()
    population = SyntheticPopulation.uniform(plan, np.array([0.05, 0.95]))
    estimates = estimate_snapshot(ExpectedTotals(plan, population).snapshot(5_000))
    [warning] = [str(each) for each in find_warnings(estimates) if str(each).startswith("age")]
    assert warning.startswith(
        "age: noise in yes. With 2,500 reports, the margin of a share in the class yes is "
    )
    assert "more than 25.0% is noise" in warning
    assert warning.endswith("is 50% or more; more than 25.0% is noise. Do not use these estimates.")
