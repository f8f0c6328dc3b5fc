"""Every mechanism for numbers: the description for the person states the exact probabilities."""

import math
import re
from fractions import Fraction

import pytest

from encoders.mechanisms import NumericDomain
from encoders.mechanisms.sign import Sign
from encoders.probability_tables import WORD
from tests.support import reference
from tests.support.mechanism_checks import percentages
from tests.support.numeric_mechanisms import MISSING, enumerated, every_moment, made, number


@pytest.mark.parametrize("name", ["onebit", "sign-vector"])
@every_moment
def test_description_of_a_coin_states_its_exact_distribution(name, low):
    mechanism = made(name, NumericDomain(2, (True,), low))
    payloads, _ = enumerated(mechanism)
    for value, own in [(number(0.3, low), 1), (2 * MISSING + 1, 3)]:
        yes, asked = [Fraction(0)] * 4, [Fraction(0)] * 4
        for payload in payloads:
            chance = mechanism.probability(payload, value)
            for slot, cell in enumerate(mechanism.contribution(payload)):
                yes[slot] += chance * (cell == 1)
                asked[slot] += chance * (cell != 0)
        coins = [float(ones / all_of) for ones, all_of in zip(yes, asked, strict=True)]
        assert percentages(mechanism.describe_output(value)) == pytest.approx(
            [coins[own], coins[0]], abs=6e-4
        )


@every_moment
def test_description_of_sign_states_the_rounding_and_the_oracle(low):
    mechanism = made("sign", NumericDomain(2, (True,), low))
    assert isinstance(mechanism, Sign)
    oracle = mechanism.oracle.describe_output(0)
    assert percentages(mechanism.describe_output(number(0.3, low))) == pytest.approx(
        [0.3, *percentages(oracle)]
    )
    assert mechanism.describe_output(number(0.3, low)).endswith(oracle)
    assert mechanism.describe_output(2 * MISSING) == (
        f"a missing number stays missing; for the result together with the label, the device sends {oracle}"
    )


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (NumericDomain(1), "1 place (one for the number)"),
        (
            NumericDomain(1, (True,)),
            "2 places (one for the number, and another in case the number is missing)",
        ),
        (NumericDomain(1, (False, False)), "2 places (one for each number)"),
        (NumericDomain(2), "2 places (one for each label)"),
        (NumericDomain(2, (False, False)), "4 places (one for each number and label)"),
    ],
)
def test_description_of_the_slots_names_a_label_only_if_there_is_one(form, text):
    assert form.slots_text == text


def test_description_of_sign_without_a_label_does_not_mention_one():
    mechanism = made("sign", NumericDomain(1, (True,)))
    assert "label" not in mechanism.describe_output(MISSING)


@every_moment
def test_description_of_laplace_states_the_slot_and_the_exact_noise(low):
    for name, missing in [("sampled-laplace", (False,)), ("laplace", (False, True))]:
        mechanism = made(name, NumericDomain(2, missing, low))
        steps = int(mechanism.parameters["steps"])
        noise = reference.slot_laws(mechanism.parameters, 0)[0]
        value = number(0.3, low)
        words = mechanism.describe_output((value, 2 * MISSING) if mechanism.multivariate else value)
        *rounding, none, inside = percentages(words)
        held = low * steps + 0.3 * (1 - low) * steps
        below, up = re.findall(r"(-?\d+) \(or (-?\d+),", words)[0]
        assert [int(below), int(up)] == [math.floor(held), math.floor(held) + 1]
        assert rounding == pytest.approx([held % 1], abs=6e-4)
        reach = int(re.findall(r"between -(\d+)", words)[0])
        assert none == pytest.approx(float(noise[0]), abs=6e-4)
        assert inside == pytest.approx(float(sum(noise[y] for y in noise if abs(y) <= reach)), abs=6e-4)
        assert f"where {low * steps} stands for the lowest and {steps} for the highest number" in words


@every_moment
def test_description_of_piecewise_states_its_tables(low):
    mechanism = made("piecewise", NumericDomain(2, (True,), low))
    near, reach = (int(mechanism.parameters[key]) for key in ("near", "reach"))
    words, line = mechanism.describe_output(number(0.3, low)), 129 + 2 * reach
    assert percentages(words) == pytest.approx([near / WORD], abs=6e-4)
    assert words.startswith(f"one of {4 * line} points, {line} for each of 4 places")
    assert f"one of the {2 * reach + 1} around the true point" in words
