"""Class means and variances are unbiased, and their standard errors and intervals are correct."""

import pytest

from encoders.mechanisms import NUMERIC_MECHANISMS
from ldp_aggregator.estimation import IntervalEstimate
from tests.ldp_aggregator.estimation.conftest import NumberWorld, RawResults, number_world, raw_results
from tests.support.statistical_checks import (
    assert_correct_errors,
    assert_covered,
    assert_unbiased,
    small_and_full,
)

pytestmark = pytest.mark.slow

USERS = 20_000


@pytest.fixture(scope="module", params=small_and_full(30, 250))
def collections(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(scope="module", params=["auto", *NUMERIC_MECHANISMS])
def many(request: pytest.FixtureRequest, collections: int) -> tuple[NumberWorld, list[RawResults]]:
    """Return (world, the estimates of many collections)."""
    world = number_world(request.param)
    return world, [raw_results(world.snapshot(USERS, seed), [0, 2]) for seed in range(collections)]


def estimates_of(estimates: list[RawResults], feature: int, name: str) -> list[IntervalEstimate]:
    return [getattr(each.features[feature].by_class, name) for each in estimates]


def scaled(
    estimates: list[IntervalEstimate], width: float, labels: slice = slice(None)
) -> list[IntervalEstimate]:
    """Return estimates in units of half the range, for some labels."""
    return [IntervalEstimate(*(array[labels] / width for array in vars(each).values())) for each in estimates]


@pytest.mark.parametrize(("place", "feature", "width"), [(0, 0, 100), (1, 2, 40)], ids=["income", "degrees"])
@pytest.mark.parametrize("name", ["means", "squares"])
def test_means_and_second_moments_have_correct_errors_and_intervals(many, place, feature, width, name):
    world, estimates = many
    unit = width if name == "means" else width**2
    found, truth = estimates_of(estimates, feature, name), getattr(world, name)[place] / unit
    assert_covered(scaled(found, unit), truth)
    # a ratio is biased by about the square of its relative error, which matters for the rare label only
    assert_unbiased(scaled(found, unit, slice(2)), truth[:2], slack=0.01)
    assert_correct_errors(scaled(found, unit, slice(2)), slack=0.07)


@pytest.mark.parametrize(("place", "feature", "width"), [(0, 0, 100), (1, 2, 40)], ids=["income", "degrees"])
def test_variances_are_unbiased_and_within_their_intervals(many, place, feature, width):
    world, estimates = many
    found, truth = estimates_of(estimates, feature, "variances"), world.variances[place] / width**2
    assert_covered(scaled(found, width**2), truth, slack=0.03)
    assert_unbiased(scaled(found, width**2, slice(2)), truth[:2], slack=0.015)


def test_intervals_of_missing_shares_and_the_prior_are_correct(
    many,
):
    world, estimates = many
    assert_covered(estimates_of(estimates, 0, "missing"), world.missing)
    priors = [each.raw_prior for each in estimates]
    assert_unbiased(priors, world.prior)
    assert_correct_errors(priors, slack=0.05)
    assert_covered(priors, world.prior)
