"""The accuracy to expect, and the number of people that an accuracy needs."""

import numpy as np
import pytest

from encoders.randomness import FastStream
from ldp_aggregator.estimation import estimate_parameters
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_aggregator.simulated_population import SyntheticPopulation, simulate_reports
from ldp_design.sizing.forecast import Forecaster
from ldp_design.sizing.sample_size import SizeError
from ldp_design.sizing.size_summary import format_size
from ldp_design.sizing.survey_size import (
    size_for_accuracy,
    size_for_users,
)
from tests.ldp_design.sizing.surveys import PLAN, SURVEY, make_pilot, make_rare_pilot


@pytest.mark.slow
def test_the_interval_contains_the_mean_accuracy_of_other_surveys_of_the_population():
    people, found = SyntheticPopulation.from_strength(PLAN, 2.0, 1.0), []
    forecast = Forecaster(PLAN, people, seed=1).forecast(5_000)
    for seed in range(10):
        rng = np.random.default_rng([7, seed])
        estimates = estimate_parameters(
            simulate_reports(PLAN, *people.draw_people(5_000, rng), FastStream(seed))
        )
        codes, labels = people.draw_people(20_000, rng)
        scores = LogProbabilities.from_probabilities(estimates.prior, estimates.conditionals).compute_scores(
            codes
        )
        found.append(np.mean(scores.argmax(axis=1) == labels))
    assert forecast.low < np.mean(found) < forecast.high
    assert forecast.majority < forecast.mean < forecast.best_possible
    error = np.std(found, ddof=1) * np.sqrt(1 / 10 + 1 / forecast.repeats)
    assert np.mean(found) == pytest.approx(forecast.mean, abs=4 * error)


@pytest.mark.slow
def test_equal_seeds_give_equal_forecasts():
    one, same, other = (
        Forecaster(PLAN, SyntheticPopulation.from_strength(PLAN, 2.0, 1.0), 3, seed).forecast(1_000)
        for seed in (1, 1, 2)
    )
    assert one == same != other


@pytest.mark.slow
def test_the_users_found_for_an_accuracy_reach_it_and_half_of_them_do_not():
    found = size_for_accuracy(SURVEY, 0.75, make_pilot(), repeats=6)
    forecast = found.forecasts["pilot"]
    assert forecast.users == found.users
    assert forecast.mean >= 0.75
    half = size_for_users(SURVEY, found.users // 2, make_pilot(), repeats=6).forecasts["pilot"]
    assert half.mean < 0.75


def test_an_impossible_accuracy_is_refused_with_the_best_possible():
    pilot = make_pilot()
    most = Forecaster(PLAN, pilot.build_population(PLAN)).best_possible
    with pytest.raises(SizeError, match=f"the best possible accuracy is {most:.1%}"):
        size_for_accuracy(SURVEY, 0.99, pilot)


def test_an_accuracy_that_the_majority_class_reaches_is_refused():
    with pytest.raises(SizeError, match=r"always guessing 'no' is right in 90\.0% of cases"):
        size_for_accuracy(SURVEY, 0.8, make_rare_pilot())


def test_an_accuracy_that_needs_more_people_than_are_simulated_is_refused(
    monkeypatch,
):
    monkeypatch.setattr("ldp_design.sizing.forecast.MAX_SIMULATED_USERS", 1_000)
    most = Forecaster(PLAN, make_pilot().build_population(PLAN)).best_possible
    with pytest.raises(SizeError, match="1,000 people, the maximum that is simulated, reach"):
        size_for_accuracy(SURVEY, most - 0.001, make_pilot(), repeats=2)


@pytest.mark.slow
def test_a_forecast_names_the_number_of_people_that_were_simulated(monkeypatch):
    monkeypatch.setattr("ldp_design.sizing.forecast.MAX_SIMULATED_USERS", 1_000)
    found = size_for_users(SURVEY, 5_000, repeats=2)
    assert {each.users for each in found.forecasts.values()} == {1_000}
    assert "surveys of 1,000 people" in format_size(found)
