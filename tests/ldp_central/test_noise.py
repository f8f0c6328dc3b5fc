"""Noise for arrays: closed forms, the scalar sampler, OpenDP, and the conversion to rho."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from encoders.exact_samplers import draw_laplace
from encoders.mechanisms.counted_table import laplace_variance
from encoders.randomness import FastStream, SystemEntropy
from ldp_central import noise
from ldp_central.noise import draw_gaussian, draw_gaussian_array, draw_laplace_array, find_rho

ALARM = 1e-8


def chi_square(drawn: np.ndarray, weight: np.ndarray, far: int) -> float:
    """Return the p-value of draws whose P[z] is proportional to weight[|z|], with the tails pooled."""
    shares = np.concatenate([weight[:0:-1], weight])
    shares /= shares.sum()
    middle = len(weight) - 1
    tail = shares[: middle - far].sum()
    expected = np.array([tail, *shares[middle - far : middle + far + 1], tail])
    clipped = np.clip(drawn, -far - 1, far + 1) + far + 1
    found = np.bincount(clipped, minlength=len(expected))
    return float(stats.chisquare(found, len(drawn) * expected / expected.sum()).pvalue)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(70, 3)])
def test_arrays_of_laplace_noise_fit_the_closed_form(scale):
    drawn = draw_laplace_array(scale, 200_000, FastStream(3))
    weight = np.exp(-np.arange(400) / float(scale))
    far = int(np.argmin(200_000 * np.cumsum(weight[::-1])[::-1] / weight.sum() > 100))
    assert chi_square(drawn, weight, far) > ALARM
    kurtosis_bound = 6 * math.sqrt(5 / 200_000)
    assert abs(drawn.var() / laplace_variance(scale) - 1) < kurtosis_bound


@pytest.mark.slow
def test_arrays_and_single_draws_have_the_same_law():
    scale = Fraction(7, 2)
    source = FastStream(5)
    single = [draw_laplace(scale, source) for _ in range(20_000)]
    together = draw_laplace_array(scale, 20_000, source)
    counts = [np.bincount(np.clip(each, -15, 15) + 15, minlength=31) for each in (single, together)]
    assert stats.chi2_contingency(np.stack(counts)).pvalue > ALARM


def test_a_scale_with_many_digits_is_drawn_without_overflow(monkeypatch):
    scale = Fraction(10**30 + 1, 10**29)
    drawn = draw_laplace_array(scale, 3000, FastStream(9))
    assert abs(drawn.var() / laplace_variance(scale) - 1) < 6 * math.sqrt(5 / 3000)
    monkeypatch.setattr(noise, "_MAX_NUMERATOR", 1)
    drawn = draw_laplace_array(Fraction(10), 3000, FastStream(9))
    assert abs(drawn.var() / laplace_variance(Fraction(10)) - 1) < 6 * math.sqrt(5 / 3000)


def test_words_near_the_end_of_the_range_are_rejected():
    class Ones:
        calls = 0

        def take(self, count: int) -> bytes:
            self.calls += 1
            return b"\xff" * count if self.calls == 1 else b"\x05" + b"\0" * (count - 1)

    source = Ones()
    assert noise._draw_below_array(3, 1, source).tolist() == [2]  # 2^64 - 1 is a multiple of 3
    assert source.calls == 2


@pytest.mark.slow
@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(10), Fraction(317, 7)])
def test_discrete_gaussian_fits_the_closed_form(variance):
    drawn = draw_gaussian_array(variance, 20_000, FastStream(4))
    weight = np.exp(-(np.arange(200.0) ** 2) / (2 * float(variance)))
    assert chi_square(drawn, weight, int(2 * math.sqrt(variance) + 1)) > ALARM


@pytest.mark.slow
@pytest.mark.parametrize("variance", [4, 50])
def test_discrete_gaussian_agrees_with_opendp(variance):
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    theirs = dp.m.make_gaussian(*space, scale=math.sqrt(variance))([0] * 20_000)
    ours = [draw_gaussian(Fraction(variance), SystemEntropy()) for _ in range(20_000)]
    assert stats.ks_2samp(ours, theirs).pvalue > ALARM


@pytest.mark.slow
def test_rho_agrees_with_opendp():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    for epsilon, delta in ((Fraction(1, 10), 1e-6), (Fraction(1), 1e-6), (Fraction(5), 1e-9)):
        rho = find_rho(epsilon, Fraction(delta))
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
        gaussian = dp.m.make_gaussian(*space, scale=1 / math.sqrt(2 * rho))
        curve = dp.c.make_zCDP_to_approxDP(gaussian).map(1.0)
        assert curve.epsilon(delta) == pytest.approx(float(epsilon), rel=2e-3)


def test_rho_is_exact_for_a_discrete_gaussian():
    epsilon, delta = Fraction(1), Fraction(1, 10**5)
    variance = 1 / (2 * find_rho(epsilon, delta))
    z = np.arange(-400, 401)
    law = np.exp(-(z**2) / (2 * float(variance)))
    law /= law.sum()
    realised = np.maximum(law[1:] - math.exp(epsilon) * law[:-1], 0).sum()
    assert realised <= float(delta)
    assert realised > 0.01 * float(delta)
