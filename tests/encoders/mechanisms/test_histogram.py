"""SHE: the exact distribution of one component, and the ratio of any number of components."""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
import pytest

from encoders.errors import ReportError, SurveyError
from encoders.mechanisms import Mechanism, design, load
from encoders.probability_tables import WORD
from encoders.randomness import GivenBytes

EPSILONS = ("0.1", "0.5", "1", "2", "4", "8")


def made(domain: int, epsilon: str) -> tuple[Mechanism, list[int]]:
    mechanism = design("SHE", domain, Decimal(epsilon))
    return mechanism, [int(weight) for weight in mechanism.parameters["weights"]]


def component_laws(weights: list[int]) -> tuple[dict[int, int], dict[int, int]]:
    """Return the distributions of clamp(z) and clamp(z + 1), out of 2^64, by direct summation."""
    steps = len(weights) - 1
    laws: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for z in range(-steps, steps + 1):
        for one, law in enumerate(laws):
            y = min(max(z + one, 1 - steps), steps)
            law[y] = law.get(y, 0) + weights[abs(z)]
    return laws


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_law_of_a_component_is_the_table(epsilon):
    # The noise never falls as the draw rises, so the first and last draw of every cell decide its whole law.
    mechanism, weights = made(2, epsilon)
    steps, laws = len(weights) - 1, component_laws(weights)
    borders = [0, *accumulate(weights[abs(z)] for z in range(-steps, steps + 1))]
    assert borders[-1] == WORD
    found: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for start, end in pairwise(borders):
        ends = {component_pair(mechanism, draw) for draw in (start, end - 1)}
        assert len(ends) == 1
        for law, y in zip(found, ends.pop(), strict=True):
            law[y] = law.get(y, 0) + end - start
    assert found == laws


def component_pair(mechanism: Mechanism, draw: int) -> tuple[int, int]:
    """Return what one draw makes of a zero and of a one."""
    payload = mechanism.perturb(1, GivenBytes(draw.to_bytes(8, "little") * 2))
    many = mechanism.perturb_many(np.array([1]), GivenBytes(draw.to_bytes(8, "little") * 2))
    assert many.tobytes() == payload
    zero, one = np.frombuffer(payload, "<i2").tolist()
    return zero, one


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("domain", [2, 3, 8, 64, 1024])
def test_the_worst_output_is_made_of_the_worst_two_components(domain, epsilon):
    # P[y|v]/P[y|w] = odds(y_v)/odds(y_w), and any two components occur: the extreme odds are the worst case.
    mechanism, weights = made(domain, epsilon)
    zero, one = component_laws(weights)
    odds = {y: Fraction(one[y], zero[y]) for y in zero}
    highest, lowest = max(odds, key=odds.__getitem__), min(odds, key=odds.__getitem__)
    assert odds[highest] / odds[lowest] == mechanism.ratio
    vector = [0] * domain
    vector[0], vector[-1] = highest, lowest
    law = mechanism.likelihood(np.array(vector, "<i2").tobytes())
    assert law[0] / law[-1] == mechanism.ratio


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_likelihood_is_the_product_of_its_components(epsilon):
    mechanism, weights = made(3, epsilon)
    zero, one = component_laws(weights)
    assert sum(zero.values()) == sum(one.values()) == WORD  # so that products over all payloads sum to one
    low, high = min(zero), max(zero)
    for y in ((0, 0, 0), (low, high, 0), (1, low, low), (high, high, 1), (low, low, low)):
        product = [
            Fraction(math.prod((one if i == v else zero)[y[i]] for i in range(3)), WORD**3) for v in range(3)
        ]
        assert mechanism.likelihood(np.array(y, "<i2").tobytes()) == product


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("domain", [2, 5, 64])
def test_a_component_no_noise_reaches_is_refused(domain, epsilon):
    mechanism, weights = made(domain, epsilon)
    steps = len(weights) - 1
    for inside in (1 - steps, steps):
        mechanism.check(np.full(domain, inside, "<i2").tobytes())
    for position in {0, domain // 2, domain - 1}:
        for outside in (-steps, steps + 1, -32768, 32767):
            vector = np.zeros(domain, "<i2")
            vector[position] = outside
            with pytest.raises(ReportError, match="bad-payload"):
                mechanism.check(vector.tobytes())


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_noise_is_that_of_a_discrete_laplace_law_of_scale_two_over_epsilon(epsilon):
    mechanism, _ = made(4, epsilon)
    step = math.exp(-float(epsilon) / 2)
    variance = 2 * step / (1 - step) ** 2
    assert mechanism.on_mean - mechanism.off_mean == pytest.approx(1, abs=1e-6)
    assert mechanism.off_mean == pytest.approx(0, abs=1e-6)  # clamping at one end only moves it by the tail
    assert (mechanism.on_var, mechanism.off_var) == pytest.approx((variance, variance), rel=3e-4)


def test_weights_that_are_no_law_are_refused():
    half = WORD // 2
    for weights in (
        None,
        [],
        [str(WORD)],
        "12",
        {"0": "1"},
        [str(WORD - 4), "1"],  # short of 2^64
        [str(WORD - 1), "1"],  # beyond it
        [str(WORD), "0"],  # an output that only some inputs reach
        [half, half // 2],
        [str(half), f"0{half // 2}"],
        [str(half + 2), "-1"],
        [str(WORD - 2 * 16384), *["1"] * 16384],  # components would not fit 16 bits
    ):
        with pytest.raises(SurveyError):
            load("SHE", 3, {"weights": weights})
    load("SHE", 3, {"weights": [str(half), str(half // 2)]})


def test_noise_that_would_need_too_long_a_table_is_refused():
    with pytest.raises(SurveyError, match="raise epsilon"):
        design("SHE", 3, Decimal("0.001"))
