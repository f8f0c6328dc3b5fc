"""Standard errors of raw estimates are right to a few percent.

For each survey the squared errors, divided by their estimated variances, are averaged over all estimates.
Over surveys this has a mean of 1; standard errors 15% too small or too large would make it 1.38 or 0.76.
Seeds are fixed. Over seeds, a true mean of 1 is within a bound with probability above 1 - 1e-6. The bound of
250 surveys is 0.15 or less; that of 30 detects standard errors that are wrong by a half.
"""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from encoders.mechanisms import MECHANISMS, NUMERIC_MECHANISMS
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from tests.ldp_aggregator.estimation.conftest import (
    DEGREE,
    DEGREES,
    INCOME,
    INCOMES,
    PRIOR,
    make_world,
    number_world,
)
from tests.support.statistical_checks import small_and_full

SURVEYS, ALARM, BOUND = 250, 1e-6, 0.15
SIZES = small_and_full(30, SURVEYS)


def assert_right(squares: Sequence[float] | np.ndarray) -> None:
    error = np.std(squares, ddof=1) / math.sqrt(len(squares))
    bound = stats.t.isf(ALARM / 2, len(squares) - 1) * error
    assert bound < BOUND * (1 if len(squares) == SURVEYS else 4)
    assert abs(np.mean(squares) - 1) < max(bound, BOUND)


@pytest.mark.parametrize("surveys", SIZES)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_standard_errors_of_frequencies_and_priors_are_right(mechanism, surveys):
    world = make_world(mechanism)
    truths = world.joint.ravel(), world.two.ravel(), world.prior
    squares = []
    for seed in range(surveys):
        raw = compute_raw_estimates(world.snapshot(1500, seed))
        parts = [(each.raw, each.stderr) for each in raw.feature_estimates]
        parts.append((raw.prior.estimate.value, raw.prior.estimate.stderr))
        squares.append(mean_square(parts, truths))
    assert_right(squares)


@pytest.mark.parametrize("surveys", SIZES)
@pytest.mark.parametrize("mechanism", NUMERIC_MECHANISMS)
def test_standard_errors_of_numbers_and_their_squares_are_right(mechanism, surveys):
    world = number_world(mechanism)
    income, degrees = (INCOMES[:-1] - 100) / 100, (DEGREES - 10) / 40
    truths = [
        PRIOR * (x**power @ shares)
        for x, shares in ((income, INCOME[:-1]), (degrees, DEGREE))
        for power in (1, 2)
    ]
    squares = []
    for seed in range(surveys):
        moments = [
            each
            for number in compute_raw_estimates(world.snapshot(3000, seed)).numbers
            for each in number.questions
        ]
        squares.append(mean_square([(each.raw[0], each.covariance[0, 0] ** 0.5) for each in moments], truths))
    assert_right(squares)


def mean_square(parts: list[tuple[np.ndarray, np.ndarray]], truths: Sequence[np.ndarray]) -> float:
    pairs = zip(parts, truths, strict=True)
    return np.mean(np.concatenate([((value - truth) / error) ** 2 for (value, error), truth in pairs]))


def test_an_error_of_fifteen_percent_is_detected():
    squares = np.random.default_rng(1).chisquare(20, SURVEYS) / 20  # about as many independent estimates
    assert_right(squares)
    for factor in (0.85, 1.15):
        with pytest.raises(AssertionError):
            assert_right(squares / factor**2)
