"""Exact samplers: their laws by enumeration, against closed forms, and against OpenDP."""

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import stats

from encoders import exact_samplers
from encoders.errors import LdpError
from encoders.exact_samplers import draw_below, draw_bernoulli_exp, draw_laplace, permute_and_flip
from encoders.randomness import FastStream, GivenBytes, SystemEntropy
from tests.support.branching import Paths, enumerated, realised_epsilon

ALARM = 1e-8


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 200, 256, 300, 5000])
def test_a_draw_below_a_bound_is_uniform_over_all_bytes(bound):
    size = ((bound - 1).bit_length() + 7) // 8
    drawn: Counter[int] = Counter()
    for word in range(256**size):
        try:
            drawn[draw_below(bound, GivenBytes(word.to_bytes(size, "little")))] += 1
        except LdpError:  # the word was rejected, and there is no other
            continue
    assert drawn.keys() == set(range(bound))
    assert len(set(drawn.values())) == 1
    assert drawn.total() * 2 > 256**size or size == 0


def only_below(paths: Paths, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(exact_samplers, "draw_below", paths.draw_below)


@pytest.mark.slow
@pytest.mark.parametrize(("top", "bottom"), [(0, 1), (1, 3), (1, 1), (5, 2), (7, 3)])
def test_bernoulli_of_an_exponential_has_its_probability(top, bottom, monkeypatch):
    paths = Paths()
    only_below(paths, monkeypatch)
    law, left = paths.law(lambda: draw_bernoulli_exp(top, bottom, SystemEntropy()), runs=10_000)
    assert left < 1e-6
    assert abs(law[True] - math.exp(-top / bottom)) <= left + 1e-15


@pytest.mark.slow
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(3, 2)])
def test_discrete_laplace_has_the_closed_form_by_enumeration(scale, monkeypatch):
    paths = Paths()
    only_below(paths, monkeypatch)
    monkeypatch.setattr(exact_samplers, "_draw_short_exp", paths.draw_bernoulli_exp)
    law, left = paths.law(lambda: draw_laplace(scale, SystemEntropy()), runs=30_000)
    a = math.exp(-1 / scale)
    assert left < 0.02
    for z in range(-3, 4):
        share = (1 - a) / (1 + a) * a ** abs(z)
        assert law[z] <= share + 1e-12
        assert share <= law[z] + left
        assert law[z] == pytest.approx(law[-z], abs=float(left))


@pytest.mark.slow
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(70, 3)])
def test_discrete_laplace_fits_the_closed_form_in_many_draws(scale):
    source = FastStream(7)
    assert chi_square([draw_laplace(scale, source) for _ in range(20_000)], scale) > ALARM


def chi_square(drawn: list[int], scale: Fraction) -> float:
    """Return the p-value of draws of discrete Laplace noise, with the tails pooled."""
    a, n = math.exp(-1 / scale), len(drawn)
    far = next(z for z in range(10_000) if n * a ** (z + 1) < 50)
    inner = [(1 - a) / (1 + a) * a ** abs(z) for z in range(-far, far + 1)]
    tail = (1 - sum(inner)) / 2
    counts = Counter(min(max(z, -far - 1), far + 1) for z in drawn)
    found = [counts[z] for z in range(-far - 1, far + 2)]
    return float(stats.chisquare(found, n * np.array([tail, *inner, tail])).pvalue)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(5), Fraction(42, 1)])
def test_discrete_laplace_agrees_with_opendp(scale):
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    theirs = dp.m.make_laplace(*space, scale=float(scale))([0] * 20_000)
    assert chi_square(theirs, scale) > ALARM
    source = SystemEntropy()
    ours = [draw_laplace(scale, source) for _ in range(20_000)]
    assert chi_square(ours, scale) > ALARM
    assert stats.ks_2samp(ours, theirs).pvalue > ALARM


def law_of_choice(scores: tuple[int, ...], rate: Fraction) -> dict[object, float]:
    with enumerated("encoders.exact_samplers") as paths:
        law, left = paths.law(lambda: permute_and_flip(scores, rate, SystemEntropy()))
    assert left == 0
    return {key: float(mass) for key, mass in law.items()}


def test_permute_and_flip_prefers_the_best_and_is_uniform_among_equals():
    assert law_of_choice((2, 2, 2), Fraction(1)) == pytest.approx({0: 1 / 3, 1: 1 / 3, 2: 1 / 3})
    flip = math.exp(-1.0)
    expected = {0: 1 - flip / 2, 1: flip / 2}  # half of the time the second is visited first
    assert law_of_choice((1, 0), Fraction(1)) == pytest.approx(expected)


def worst_ratio(rate: Fraction, changes: tuple[int, ...]) -> float:
    """Return the realised epsilon over all score vectors in 0..2^3 and changes of each score."""
    laws: dict[tuple[int, ...], dict[object, float]] = {}

    def law(scores: tuple[int, ...]) -> dict[object, float]:
        shifted = tuple(score - min(scores) for score in scores)
        if shifted not in laws:
            laws[shifted] = law_of_choice(shifted, rate)
        return laws[shifted]

    pairs = product(product(range(3), repeat=3), product(changes, repeat=3))
    return max(
        realised_epsilon(law(scores), law(tuple(map(sum, zip(scores, change, strict=True)))))
        for scores, change in pairs
    )


@pytest.mark.slow
def test_permute_and_flip_realises_exactly_epsilon():
    epsilon = Fraction(1)
    assert worst_ratio(epsilon, (0, 1)) == pytest.approx(1.0)
    assert worst_ratio(epsilon / 2, (-1, 0, 1)) == pytest.approx(1.0)


@pytest.mark.slow
def test_the_rate_of_monotone_scores_is_too_high_for_others():
    assert worst_ratio(Fraction(1), (-1, 0, 1)) > 1.5


def test_permute_and_flip_ends_where_all_other_scores_are_far_below():
    scores = [Fraction(0), Fraction(10**40, 3), Fraction(0)]
    assert permute_and_flip(scores, Fraction(1, 7), SystemEntropy()) == 1


def test_a_curators_noise_is_unbounded():
    # a clamp would bias the noise and is not needed: larger draws are rarer, and none is cut
    drawn = sorted({abs(draw_laplace(Fraction(50), FastStream(seed))) for seed in range(3000)})
    assert drawn[-1] > 250
    assert all(low < high for low, high in pairwise(drawn))
