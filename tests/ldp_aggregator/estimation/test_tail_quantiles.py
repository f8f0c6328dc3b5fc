"""Quantiles of noise with heavy tails, against closed forms and numerical integrals."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from ldp_aggregator.estimation.tail_quantiles import find_quantiles, laplace_tail


@pytest.mark.parametrize("z", [0.0, 0.5, 1.96, 6.0])
def test_the_tail_of_one_laplace_noise_is_exponential(z):
    assert laplace_tail(z, 1) == pytest.approx(math.exp(-math.sqrt(2) * z))


@pytest.mark.parametrize("terms", [2, 3, 7, 32])
def test_the_tail_of_a_sum_is_that_of_a_normal_distribution_with_gamma_variance(terms):
    # a Laplace variable is normal given an exponential variance, so a sum is normal given a gamma variance
    for z in (0.3, 1.96, 3.5):
        expected, _ = integrate.quad(
            lambda g, z=z: 2 * stats.norm.sf(z / math.sqrt(g)) * stats.gamma.pdf(g, terms, scale=1 / terms),
            0,
            20,
            epsabs=1e-12,
            limit=400,
        )
        assert laplace_tail(z, terms) == pytest.approx(expected, rel=1e-6)


def test_quantiles_invert_the_tail_and_rise_from_the_normal_ones():
    for error in (0.05, 1e-4):
        normal = stats.norm.isf(error / 2)
        found = find_quantiles(error, np.array([-1.0, 0.0, 0.01, 1.0, 3.0, 9.0]))
        assert found[:2] == pytest.approx([normal, normal])
        assert (np.diff(found[1:5]) > 0).all()
        assert laplace_tail(float(found[3]), 3) == pytest.approx(error)
        assert laplace_tail(float(found[4]), 1) == pytest.approx(error)
        assert found[5] == found[4]
