"""Every mechanism for numbers: the exact privacy ratio is at most e^epsilon, and nearly that."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from encoders.epsilon_proof import realised_epsilon
from encoders.errors import PrivacyError
from encoders.mechanisms import NumericDomain, NumericMechanism, load_numeric
from encoders.mechanisms.numeric_base import GRID
from encoders.probability_tables import WORD
from encoders.randomness import FastStream
from tests.support import reference
from tests.support.numeric_mechanisms import (
    MISSING,
    enumerated,
    every_epsilon,
    every_moment,
    every_name,
    forms,
    made,
    perturbed,
    values_of,
)


def fair_or_better(epsilon: float) -> float:
    """Return what onebit spends on squares: its coin is never worse than fair, (e^eps + 1)/2 of it."""
    return math.log((math.exp(epsilon) + 1) / 2)


SPENT = {
    # the rounding of unary bits may cost 1e-4 of epsilon, and the scale of Laplace noise has 2^-14 of slack
    "laplace": 1 - 1e-4,
    "sampled-laplace": 1 - 1e-4,
    "sign": 1 - 1e-4,
    "sign-vector": 1 - 1e-11,
    "onebit": 1 - 1e-11,
    "piecewise": 1 - 1e-11,
}
"""The share of epsilon that is spent at least; realised_epsilon itself is rounded up to 12 digits."""


@every_name
@every_epsilon
@every_moment
def test_the_exact_ratio_is_at_most_e_to_the_epsilon_and_nearly_that(name, epsilon, low):
    bound = reference.e_to_the(Fraction(epsilon))[0]
    for form in forms(name, low):
        mechanism = made(name, form, epsilon)
        assert mechanism.ratio <= bound
        spent, budget = float(realised_epsilon(mechanism.ratio)), float(epsilon)
        if name == "onebit" and low == 0:
            assert spent == pytest.approx(fair_or_better(budget), rel=1e-11)
        else:
            assert SPENT[name] <= spent / budget <= 1


def assert_exact(mechanism: NumericMechanism) -> None:
    _, laws = enumerated(mechanism)
    for law in zip(*laws, strict=True):
        assert sum(law) == 1
    assert min(map(min, laws)) > 0  # every output is reachable from every input
    assert max(max(law) / min(law) for law in laws) == mechanism.ratio


@pytest.mark.parametrize("name", ["onebit", "sign-vector", "sign"])
@every_epsilon
@every_moment
def test_the_ratio_is_the_worst_over_all_inputs_and_outputs(name, epsilon, low):
    for form in [
        NumericDomain(1, (True,), low),
        NumericDomain(2, (False,), low),
        NumericDomain(2, (True,), low),
        NumericDomain(3, (False,), low),
    ]:
        assert_exact(made(name, form, epsilon))


@pytest.mark.parametrize("name", ["onebit", "sign-vector", "sign"])
@every_epsilon
@every_moment
def test_the_ratio_of_one_slot_is_the_worst_too_except_for_squares_of_sign_vector(name, epsilon, low):
    mechanism = made(name, NumericDomain(1, (False,), low), epsilon)
    if (name, low) != ("sign-vector", 0):
        assert_exact(mechanism)
        return
    _, laws = enumerated(mechanism)  # no other slot has the true answer, whose coin is never worse than fair
    worst = max(max(law) / min(law) for law in laws)
    assert worst == Fraction(WORD // 2, int(mechanism.parameters["q"])) < mechanism.ratio


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("onebit", NumericDomain(10, (True,))),
        ("onebit", NumericDomain(25, (True,), 0)),
        ("sign-vector", NumericDomain(8, (False,))),
    ],
)
def test_the_ratio_is_the_worst_for_many_classes_too(name, form):
    assert_exact(made(name, form))


@pytest.mark.parametrize(
    ("epsilon", "form"),
    [
        ("0.5", NumericDomain(2)),
        ("8", NumericDomain(2, (True,), 0)),
        ("1", NumericDomain(1)),
        ("0.1", NumericDomain(1, (True,), 0)),
        ("4", NumericDomain(1, (False,), 0)),
    ],
)
def test_the_ratio_of_piecewise_is_the_worst_over_every_corner_and_every_cell(epsilon, form):
    # A law out of 2^64 takes one addition per corner: all that any input changes is its own window.
    mechanism = made("piecewise", form, epsilon)
    near, reach = int(mechanism.parameters["near"]), int(mechanism.parameters["reach"])
    line, window = 129 + 2 * reach, 2 * reach + 1
    cells = form.slots * line

    def size(cell: int, count: int) -> int:
        return -(-(cell + 1) * WORD // count) - -(-cell * WORD // count)

    anywhere = [(WORD - near) * size(cell, cells) for cell in range(cells)]
    assert sum(anywhere) == (WORD - near) * WORD
    meetings = {
        (near * size(place, window), anywhere[slot * line + position + place])
        for slot in range(form.slots)
        for position in range(129)
        for place in range(window)
    }
    assert mechanism.ratio == 1 + max(Fraction(*each) for each in meetings)
    corners = mechanism.corners
    assert len(corners) == form.labels * (129 + form.missing[0])
    for number in range(0, len(corners), 17):
        slot, u = divmod(corners[number] // form.labels, MISSING)
        own = corners[number] % form.labels + slot * form.labels
        position = 128 if slot else (2 * (u - GRID) if form.low == 0 else u) >> 14
        law = list(anywhere)
        for place in range(window):
            law[own * line + position + place] += near * size(place, window)
        assert sum(law) == WORD * WORD
        for cell in range(0, cells, 5):
            found = mechanism.probability(cell.to_bytes(2, "little"), corners[number])
            assert found == Fraction(law[cell], WORD * WORD)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laplace", "sampled-laplace"])
@every_epsilon
@every_moment
def test_the_ratio_of_laplace_is_the_worst_of_its_slots(name, epsilon, low):
    # The slots are independent given the input: an input that moves to another slot changes two of them,
    # one that stays changes one, and of several numbers each does so on its own.
    for form in [
        NumericDomain(1, (True,), low),
        NumericDomain(2, (True,), low),
        *([NumericDomain(3, (True, False), low)] if name == "laplace" else []),
    ]:
        mechanism = made(name, form, epsilon)
        steps = int(mechanism.parameters["steps"])
        laws = reference.slot_laws(mechanism.parameters, low * steps)
        assert all(sum(law.values()) == 1 for law in laws.values())
        assert min(min(law.values()) for law in laws.values()) > 0
        empty, ends = laws[0], laws[0].keys()
        most = {y: max(law[y] for law in laws.values()) for y in ends}
        least = {y: min(law[y] for law in laws.values()) for y in ends}
        stays = max(most[y] / least[y] for y in ends)
        moves = max(most[y] / empty[y] for y in ends) * max(empty[y] / least[y] for y in ends)
        assert mechanism.ratio == max(stays, moves) ** len(form.missing)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laplace", "sampled-laplace"])
@every_epsilon
@every_moment
def test_the_ratio_of_laplace_with_one_slot_is_an_upper_bound(name, epsilon, low):
    mechanism = made(name, NumericDomain(1, (False,), low), epsilon)
    laws = reference.slot_laws(mechanism.parameters, low * int(mechanism.parameters["steps"]))
    worst = max(max(law[y] for law in laws.values()) / min(law[y] for law in laws.values()) for y in laws[0])
    assert worst <= mechanism.ratio
    spent = math.log(worst) / math.log(mechanism.ratio)
    assert spent == pytest.approx(1 if low else 1 / 2, rel=1e-6)  # a square moves half as far as a number


@pytest.mark.parametrize("name", ["laplace", "sampled-laplace"])
@every_moment
def test_the_likelihood_of_laplace_is_the_product_of_its_slots(name, low):
    for form in [
        NumericDomain(2, (True,), low),
        *([NumericDomain(2, (False, True, False), low)] if name == "laplace" else []),
    ]:
        mechanism = made(name, form, "2")
        steps = int(mechanism.parameters["steps"])
        laws, half = reference.slot_laws(mechanism.parameters, low * steps), GRID // steps // 2
        for values in values_of(form, 3, 5)[::3]:
            grid = [value // 2 // (2 * half) * (2 * half) * 2 + value % 2 for value in values]
            values = tuple(old if old // 2 == MISSING else new for old, new in zip(values, grid, strict=True))
            payload = perturbed(mechanism, values, FastStream(values[0]).take(mechanism.random_bytes))
            vector, start, expected = np.frombuffer(payload, "<i2"), 0, Fraction(1)
            for value, absent in zip(values, form.missing, strict=True):
                slot, x = value % 2, (value // 2 - GRID) // (2 * half)
                if value // 2 == MISSING:
                    slot, x = slot + 2, steps
                for i in range(2 + 2 * absent):
                    expected *= laws[x if i == slot else 0][int(vector[start + i])]
                start += 2 + 2 * absent
            assert mechanism.probability(payload, values if mechanism.multivariate else values[0]) == expected


@every_name
@every_moment
def test_every_law_is_between_those_of_the_corners(name, low):
    for form in [
        NumericDomain(1, (False,), low),
        NumericDomain(2, (True,), low),
        NumericDomain(3, (False,), low),
    ]:
        mechanism, noise = made(name, form), FastStream(3)
        for values in values_of(form, 10, 1)[::7]:
            payload = perturbed(mechanism, values, noise.take(mechanism.random_bytes))
            chance = mechanism.probability(payload, values if mechanism.multivariate else values[0])
            corners = mechanism.likelihood(payload)
            assert 0 < min(corners) <= chance <= max(corners)


@every_name
def test_corners_reach_both_ends_and_the_missing_in_every_class(name):
    for form in (NumericDomain(3, (True,)), NumericDomain(3, (True,), 0)):
        corners = [each[0] if isinstance(each, tuple) else each for each in made(name, form).corners]
        for code, label in itertools.product((GRID * (1 + form.low), 2 * GRID, MISSING), range(3)):
            assert code * 3 + label in corners


@every_name
@every_moment
def test_a_mechanism_is_refused_below_what_it_spends(name, low):
    mechanism = made(name, NumericDomain(3, (True,), low))
    mechanism.prove(Decimal(1))
    spent = realised_epsilon(mechanism.ratio)
    with pytest.raises(PrivacyError):
        mechanism.prove(spent - Decimal("1e-11"))


def test_a_sign_s_oracle_is_proved():
    edited = load_numeric("sign", NumericDomain(2), {"oracle": "DE", "keep": str(WORD // 2)})
    assert edited.ratio > 2.999
    with pytest.raises(PrivacyError, match="spend"):
        edited.prove(Decimal(1))
