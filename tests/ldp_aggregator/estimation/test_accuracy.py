"""Estimates are unbiased, their standard errors are what they claim, and 95% intervals hold the truth.

Every test looks at many figures; with fixed seeds it always gives the same answer, and over seeds it
would raise a false alarm less than once in 10^7: each figure's bound is taken at ALARM / figures.
"""

import math

import numpy as np
import pytest
from scipy import stats

from ldp_aggregator.estimation import estimate_snapshot

ALARM = 1e-7
COLLECTIONS = 500
USERS = 3000


@pytest.fixture
def many(world):
    """Return (world, the estimates of many collections)."""
    return world, [estimate_snapshot(world.snapshot(USERS, seed)) for seed in range(COLLECTIONS)]


def test_frequencies_conditionals_and_the_prior(many):
    world, estimates = many
    frequencies = [each.features[0].frequencies for each in estimates]
    conditionals = [each.features[0].conditionals for each in estimates]
    priors = [each.raw_prior for each in estimates]
    assert_unbiased(frequencies, world.joint)
    assert_honest_errors(frequencies)
    assert_covered(frequencies, world.joint)
    assert_unbiased(priors, world.prior)
    assert_honest_errors(priors)
    assert_covered(priors, world.prior)
    # the interval of a ratio holds even for the rare label, whose ratio itself is meaningless here
    assert_covered(conditionals, world.joint / world.prior)


def test_the_paper_takes_the_prior_from_the_label_question(de_world):
    snapshots = [de_world.snapshot(USERS, seed) for seed in range(COLLECTIONS)]
    figures = [estimate_snapshot(each, "paper").raw_prior for each in snapshots]
    assert_unbiased(figures, de_world.prior)
    assert_honest_errors(figures)
    pooled = [estimate_snapshot(each).raw_prior for each in snapshots]
    assert np.mean([each.stderr for each in pooled]) < 0.95 * np.mean([each.stderr for each in figures])


def test_a_ratio_has_the_delta_methods_error(de_world):
    estimates = [estimate_snapshot(de_world.snapshot(60_000, seed)) for seed in range(200)]
    figures = [each.features[1].conditionals for each in estimates]
    frequent = [type(each)(*(array[:, :2] for array in vars(each).values())) for each in figures]
    assert_unbiased(frequent, (de_world.two / de_world.prior)[:, :2], slack=0.002)
    assert_honest_errors(frequent, slack=0.05)


def assert_unbiased(figures, truth, slack=0.0):
    values = np.stack([each.value for each in figures])
    error = values.std(axis=0, ddof=1) / math.sqrt(len(figures))
    bound = stats.t.isf(ALARM / 2 / truth.size, len(figures) - 1)
    assert (np.abs(values.mean(axis=0) - truth) <= bound * error + slack).all()


def assert_honest_errors(figures, slack=0.02):
    values = np.stack([each.value for each in figures])
    claimed = np.sqrt(np.mean([each.stderr**2 for each in figures], axis=0))
    ratio = values.std(axis=0, ddof=1) / claimed
    free = len(figures) - 1
    low, high = (math.sqrt(stats.chi2.ppf(q, free) / free) for q in tails(ratio.size))
    assert low - slack <= ratio.min() <= ratio.max() <= high + slack


def assert_covered(figures, truth, slack=0.015):
    held = np.mean([(each.low <= truth) & (truth <= each.high) for each in figures], axis=0)
    low = stats.binom.ppf(tails(truth.size)[0], len(figures), 0.95) / len(figures)
    assert (held >= low - slack).all()


def tails(figures):
    return ALARM / 2 / figures, 1 - ALARM / 2 / figures
