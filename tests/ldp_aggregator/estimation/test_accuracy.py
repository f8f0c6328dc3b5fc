"""Frequencies are unbiased, their standard errors are correct, and 95% intervals contain the truth."""

from dataclasses import replace

import numpy as np
import pytest

from encoders.mechanisms import MECHANISMS
from ldp_aggregator.estimation import estimate_snapshot
from tests.ldp_aggregator.estimation.conftest import RawResults, World, make_world, raw_results, tables_plan
from tests.support.statistical_checks import (
    assert_correct_errors,
    assert_covered,
    assert_covered_simultaneously,
    assert_unbiased,
    small_and_full,
)

pytestmark = pytest.mark.slow

USERS = 3000


@pytest.fixture(scope="module", params=small_and_full(60, 500, long=True))
def collections(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(scope="module", params=MECHANISMS)
def many(request: pytest.FixtureRequest, collections: int) -> tuple[World, list[RawResults]]:
    """Return (world, the estimates of many collections)."""
    world = make_world(request.param)
    return world, [raw_results(world.snapshot(USERS, seed), [0]) for seed in range(collections)]


def test_frequencies_conditionals_and_the_prior_have_correct_errors_and_intervals(
    many,
):
    world, estimates = many
    frequencies = [each.features[0].frequencies for each in estimates]
    conditionals = [each.features[0].conditionals for each in estimates]
    priors = [each.raw_prior for each in estimates]
    assert_unbiased(frequencies, world.joint)
    assert_correct_errors(frequencies)
    assert_covered(frequencies, world.joint)
    assert_unbiased(priors, world.prior)
    assert_correct_errors(priors)
    assert_covered(priors, world.prior)
    # the interval of a ratio is valid even for the rare label, whose ratio is not informative here
    assert_covered(conditionals, world.joint / world.prior)
    assert_covered_simultaneously(frequencies, world.joint)
    assert_covered_simultaneously(priors, world.prior)
    assert_covered_simultaneously(conditionals, world.joint / world.prior)


def test_the_papers_estimator_takes_the_prior_from_the_label_question(de_world, collections):
    snapshots = [de_world.snapshot(USERS, seed) for seed in range(collections)]
    raw_priors = [estimate_snapshot(each, "paper").raw_prior for each in snapshots]
    assert_unbiased(raw_priors, de_world.prior)
    assert_correct_errors(raw_priors)
    pooled = [raw_results(each, []).raw_prior for each in snapshots]
    assert np.mean([each.stderr for each in pooled]) < 0.95 * np.mean([each.stderr for each in raw_priors])


@pytest.mark.parametrize("surveys", small_and_full(40, 200))
def test_conditionals_have_the_standard_errors_of_the_delta_method(de_world, surveys):
    estimates = [raw_results(de_world.snapshot(60_000, seed), [1]) for seed in range(surveys)]
    conditionals = [each.features[1].conditionals for each in estimates]
    frequent = [type(each)(*(array[:, :2] for array in vars(each).values())) for each in conditionals]
    assert_unbiased(frequent, (de_world.two / de_world.prior)[:, :2], slack=0.002)
    assert_correct_errors(frequent, slack=0.05)


def test_simultaneous_intervals_cover_tables_of_few_reports_and_rare_values(collections):
    world = replace(make_world("DE"), plan=tables_plan("DE", epsilon=4))
    features = [raw_results(world.snapshot(400, seed), [0]).features[0] for seed in range(collections)]
    assert_covered_simultaneously([each.frequencies for each in features], world.joint)
    assert_covered_simultaneously([each.conditionals for each in features], world.joint / world.prior)
