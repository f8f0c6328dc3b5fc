"""The tests of homogeneity are exact: they find fault with a sound client with probability alpha at most."""

import numpy as np
import pytest
from scipy.stats import binom

from ldp_audit.homogeneity import min_p_value


@pytest.mark.parametrize(("trials", "share"), [(1000, 0.005), (20_000, 1 / 4000), (1280, 1 / 256), (50, 0.5)])
@pytest.mark.parametrize("alpha", [1e-2, 1e-5, 1e-9])
def test_rare_outcomes_do_not_raise_false_alarms(trials, share, alpha):
    counts = np.arange(trials + 1)
    p = np.array([min_p_value(np.array([count]), trials, np.array([share])) for count in counts[:400]])
    chance = binom.pmf(counts[:400], trials, share)[p < alpha].sum()
    assert chance <= alpha


def test_a_value_that_never_or_always_occurs_has_a_small_p_value():
    assert min_p_value(np.array([1000, 0]), 1000, np.array([0.5, 0.5])) < 1e-200
    assert min_p_value(np.array([500, 500]), 1000, np.array([0.5, 0.5])) == 1
