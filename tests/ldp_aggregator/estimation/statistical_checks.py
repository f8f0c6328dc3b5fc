"""Whether figures are unbiased, their standard errors are what they claim, and intervals hold the truth.

Every check looks at many figures; with fixed seeds it always gives the same answer, and over seeds it
would raise a false alarm less than once in 10^7: each figure's bound is taken at ALARM / figures.
"""

import math

import numpy as np
from scipy import stats

ALARM = 1e-7


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


def assert_covered_together(figures, truth, slack=0.01):
    held = np.mean(
        [((each.simultaneous_low <= truth) & (truth <= each.simultaneous_high)).all() for each in figures]
    )
    assert held >= stats.binom.ppf(ALARM, len(figures), 0.95) / len(figures) - slack


def tails(figures):
    return ALARM / 2 / figures, 1 - ALARM / 2 / figures
