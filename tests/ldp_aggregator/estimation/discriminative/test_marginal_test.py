"""Rows and reports of one population seldom contradict each other; of different populations they do."""

import numpy as np
import pytest
from scipy import stats

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator.estimation.discriminative import estimate_label_moments
from ldp_aggregator.estimation.discriminative.marginal_test import (
    compute_marginal_p_values,
    tail_of_weighted_squares,
)
from ldp_aggregator.simulated_population import simulate_reports
from tests.support.overlapping import SURVEY, draw_people, simulate


@pytest.mark.parametrize("freedom", [1, 2, 5, 20])
@pytest.mark.parametrize("tail", [0.3, 0.01, 0.001])
def test_equal_weights_give_the_tail_of_a_chi_square(freedom, tail):
    value = stats.chi2.isf(tail, freedom)
    assert tail_of_weighted_squares([1.0] * freedom, value) == pytest.approx(tail, rel=0.25)
    assert tail_of_weighted_squares([3.0] * freedom, 3 * value) == pytest.approx(tail, rel=0.25)
    assert tail_of_weighted_squares([1.0] * freedom + [0.0], value) == pytest.approx(tail, rel=0.25)


def test_unequal_weights_give_the_simulated_tail():
    weights = np.array([2.0, 1.0, 0.5, 0.1])
    sums = (np.random.default_rng(1).normal(size=(400_000, 4)) ** 2) @ weights
    for tail in (0.1, 0.01, 0.001):
        value = float(np.quantile(sums, 1 - tail))
        assert tail_of_weighted_squares(weights.tolist(), value) == pytest.approx(tail, rel=0.2)


def test_a_value_far_below_the_mean_has_the_tail_one():
    assert tail_of_weighted_squares([1.0, 0.001], 0.0) == pytest.approx(1, abs=0.05)


@pytest.mark.slow
def test_fair_rows_are_seldom_called_contradicting():
    plan = read_survey(SURVEY).compile()
    false_alarms = 0
    for seed in range(150):
        codes, labels = draw_people(3000, seed)
        moments = estimate_label_moments(simulate_reports(plan, codes, labels, FastStream(seed)))
        rows, _ = draw_people(200, 10_000 + seed)
        p_values = compute_marginal_p_values(moments, rows)
        false_alarms += min(p_values.values()) < 0.005 / len(p_values)
    # with a rate of 1%, eleven or more have a probability below 1e-6
    assert false_alarms <= 10


def test_a_feature_of_another_population_gets_a_small_p_value():
    moments = estimate_label_moments(simulate(50_000))
    rows, _ = draw_people(500, 3)
    rows[:, 2] = 0
    p_values = compute_marginal_p_values(moments, rows)
    assert list(p_values) == [0, 1, 2, 3, 4, 5]
    assert p_values[2] < 1e-9
    assert min(p_values[place] for place in (0, 1, 3, 4, 5)) > 1e-4
