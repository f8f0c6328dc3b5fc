"""Checks that estimates are unbiased, standard errors are correct, and intervals contain the truth.

Every check covers many estimates. With fixed seeds its result is always the same; over random seeds its
probability of a false alarm is below 1e-7, since each estimate's bound is taken at ALARM / estimates.

The following tests draw from the system instead. In one run, a false alarm of any of them has a probability
below 1e-6: 30 audits of devices and curators at 1e-8 each, and others at 1e-9 (3e-7); the orders in the files
of stores and relays, 12 scores beyond 5.4 deviations or more (3e-7); the draws of a batch (2e-7); the times
of sending, and wrong tokens, at 1e-7 each (2e-7). `make test-statistics` and `make test-clients` add about 30
audits at 1e-8.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ldp_aggregator.estimation import IntervalEstimate

ALARM = 1e-7


def small_and_full(small: object, full: object, *, long: bool = False) -> list[Any]:
    """Return two sizes of a simulation, as parameters of a test or fixture.

    `make test` takes the small one, `make test-statistics` the other. The bounds follow from the size: the
    small test fails for a wrong formula, the full one also for one that is wrong by a few percent.
    `make test-all` takes the full one alone, or the small one alone of a `long` simulation.
    """
    marks = [pytest.mark.slow], [pytest.mark.slow, pytest.mark.statistics]
    marks[long].append(pytest.mark.repeated)
    return [pytest.param(small, id="small", marks=marks[0]), pytest.param(full, id="full", marks=marks[1])]


def assert_unbiased(estimates: Sequence[IntervalEstimate], truth: np.ndarray, slack: float = 0.0) -> None:
    values = np.stack([each.value for each in estimates])
    error = values.std(axis=0, ddof=1) / math.sqrt(len(estimates))
    bound = stats.t.isf(ALARM / 2 / truth.size, len(estimates) - 1)
    assert (np.abs(values.mean(axis=0) - truth) <= bound * error + slack).all()


def assert_correct_errors(estimates: Sequence[IntervalEstimate], slack: float = 0.02) -> None:
    values = np.stack([each.value for each in estimates])
    claimed = np.sqrt(np.mean([each.stderr**2 for each in estimates], axis=0))
    ratio = values.std(axis=0, ddof=1) / claimed
    free = len(estimates) - 1
    low, high = (math.sqrt(stats.chi2.ppf(q, free) / free) for q in tails(ratio.size))
    assert low - slack <= ratio.min() <= ratio.max() <= high + slack


def assert_covered(estimates: Sequence[IntervalEstimate], truth: np.ndarray, slack: float = 0.015) -> None:
    held = np.mean([(each.low <= truth) & (truth <= each.high) for each in estimates], axis=0)
    low = stats.binom.ppf(tails(truth.size)[0], len(estimates), 0.95) / len(estimates)
    assert (held >= low - slack).all()


def assert_covered_simultaneously(
    estimates: Sequence[IntervalEstimate], truth: np.ndarray, slack: float = 0.01
) -> None:
    held = np.mean(
        [((each.simultaneous_low <= truth) & (truth <= each.simultaneous_high)).all() for each in estimates]
    )
    assert held >= stats.binom.ppf(ALARM, len(estimates), 0.95) / len(estimates) - slack


def tails(estimates: int) -> tuple[float, float]:
    return ALARM / 2 / estimates, 1 - ALARM / 2 / estimates
