"""Every mechanism for numbers: devices and populations follow the wire format and the stated likelihood."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from encoders.mechanisms import NumericDomain, NumericMechanism
from encoders.mechanisms.numeric_base import GRID
from encoders.probability_tables import WORD
from encoders.randomness import FastStream, GivenBytes
from tests.support import reference
from tests.support.mechanism_checks import CountingSource
from tests.support.numeric_mechanisms import (
    MISSING,
    codes_of,
    every_epsilon,
    every_moment,
    every_name,
    forms,
    is_laplace,
    made,
    perturb_all,
    perturbed,
    values_of,
)


def by_reference(mechanism: NumericMechanism, values: tuple[int, ...], data: bytes) -> bytes:
    form = mechanism.domain
    return reference.perturb_numbers(
        mechanism.name, mechanism.parameters, form.labels, form.missing, form.low == 0, list(values), data
    )


@pytest.mark.slow
@every_name
@every_moment
def test_perturb_follows_the_wire_format(name, low):
    for form in forms(name, low, (1, 2, 3, 10) if is_laplace(name) else (2, 3, 10, 130)):
        mechanism = made(name, form)
        size, stream = mechanism.random_bytes, FastStream(form.labels)
        for values in values_of(form, 6, 7)[:24]:
            for data in (stream.take(size), stream.take(size), bytes(size), b"\xff" * size):
                assert perturbed(mechanism, values, data) == by_reference(mechanism, values, data)


@every_name
@every_epsilon
def test_perturb_follows_the_wire_format_at_every_epsilon(name, epsilon):
    form, stream = NumericDomain(3, (True,) * (2 if name == "laplace" else 1)), FastStream(1)
    mechanism = made(name, form, epsilon)
    for values in values_of(form, 20, 3):
        data = stream.take(mechanism.random_bytes)
        assert perturbed(mechanism, values, data) == by_reference(mechanism, values, data)


@pytest.mark.slow
@every_name
@every_moment
def test_a_population_is_bit_equal_to_its_devices(name, low):
    for form in forms(name, low, (1, 2, 3, 8, 65, 130)):
        mechanism = made(name, form)
        values = values_of(form, 12, 9)[:100]
        data = FastStream(4).take(len(values) * mechanism.random_bytes)
        payloads = perturb_all(mechanism, values, GivenBytes(data))
        assert payloads.dtype == np.uint8
        assert payloads.shape == (len(values), mechanism.payload_bytes)
        rng = GivenBytes(data)
        devices = [mechanism.perturb(each if mechanism.multivariate else each[0], rng) for each in values]
        assert payloads.tobytes() == b"".join(devices)


@every_name
@every_moment
def test_a_population_is_bit_equal_on_the_least_and_the_greatest_draws(name, low):
    form = NumericDomain(3, (True,), low)
    mechanism = made(name, form, "8")
    values = values_of(form, 4, 2)
    for byte in (b"\x00", b"\xff"):
        data = byte * (len(values) * mechanism.random_bytes)
        payloads = perturb_all(mechanism, values, GivenBytes(data))
        rng = GivenBytes(data)
        devices = [mechanism.perturb(each if mechanism.multivariate else each[0], rng) for each in values]
        assert payloads.tobytes() == b"".join(devices)


@every_name
def test_empty_population_gives_no_payloads(name):
    mechanism = made(name, NumericDomain(3, (True,)))
    none = np.empty((0, 1) if mechanism.multivariate else 0, dtype=np.int64)
    payloads = mechanism.perturb_many(none, GivenBytes(b""))
    assert payloads.shape == (0, mechanism.payload_bytes)
    assert mechanism.tally(payloads).tolist() == [0] * mechanism.cells


@every_name
def test_a_value_may_be_a_numpy_integer(name):
    # Numpy's truth values add up as truths, and its integers overflow: neither may reach the arithmetic.
    form = NumericDomain(70, (True,))
    mechanism = made(name, form)
    for code, label in itertools.product((0, GRID + 1, 2 * GRID, MISSING), (0, 69)):
        value = code * 70 + label
        for seed in range(5):
            data = FastStream(seed).take(mechanism.random_bytes)
            of_numpy = perturbed(mechanism, (np.int64(value),), data)
            assert of_numpy == perturbed(mechanism, (value,), data)


@every_name
@every_moment
def test_lengths_depend_on_nothing_but_the_form(name, low):
    for form in forms(name, low, (1, 2, 3, 64, 65)):
        mechanism, rng = made(name, form), CountingSource()
        for values in values_of(form, 0, 1)[:24]:
            rng.taken = 0
            payload = mechanism.perturb(values if mechanism.multivariate else values[0], rng)
            assert len(payload) == mechanism.payload_bytes
            assert rng.taken == mechanism.random_bytes


def coin_of(mechanism: NumericMechanism, code: int) -> int:
    """Return below which draw the own slot's coin shows 1, from the likelihood alone."""
    if mechanism.name == "onebit":
        slots = mechanism.domain.slots
        of_first = Fraction(-(-WORD // slots), WORD)  # draws that ask for slot 0
        found = mechanism.probability(b"\x01", code * mechanism.domain.labels) / of_first * WORD
    else:
        found = (
            mechanism.probability(b"\x01", code * mechanism.domain.labels)
            * 2 ** (mechanism.domain.slots - 1)
            * WORD
        )
    assert found.denominator == 1
    return found.numerator


@pytest.mark.parametrize("name", ["onebit", "sign-vector"])
@every_moment
def test_coin_changes_exactly_at_the_threshold_of_its_likelihood(name, low):
    mechanism = made(name, NumericDomain(2, (True,), low))
    for code in codes_of(False, low, 20, 2):
        turn = coin_of(mechanism, code)
        for draw, bit in ((turn - 1, 1), (turn, 0)):
            data = bytes(mechanism.random_bytes - 8) + draw.to_bytes(8, "little")
            assert perturbed(mechanism, (code * 2,), data)[0] & 1 == bit
    assert coin_of(mechanism, GRID) == WORD // 2
    assert coin_of(mechanism, 2 * GRID) == WORD - int(mechanism.parameters["q"])


@pytest.mark.slow
@every_name
@every_moment
def test_frequencies_of_reports_agree_with_their_likelihood(name, low):
    """Chi-square of 15,000 reports, for four values; each is beyond its bound by chance once in 1e7."""
    form, n = NumericDomain(2, (True,), low), 15_000
    mechanism = made(name, form, "2")
    for number, code in enumerate((GRID * (1 + low), GRID + 300_001, 2 * GRID, MISSING)):
        value = code * 2 + number % 2
        shape = (n, 1) if mechanism.multivariate else n
        payloads = mechanism.perturb_many(np.full(shape, value), FastStream(number))
        if is_laplace(name):  # the own slot's law; the others are at their first output, whatever it is
            slot = number % 2 + 2 * (code == MISSING)
            seen = payloads.view("<i2")[:, slot].astype(np.int64)
            size = len(mechanism.parameters["weights"]) - 1 - int(mechanism.parameters["steps"])
            outputs = np.arange(-size, size + 1)
            counts = np.bincount(seen + size, minlength=len(outputs))
            vectors = np.zeros((len(outputs), form.slots), "<i2")
            vectors[:, slot] = outputs
            given = (value,) if mechanism.multivariate else value
            chances = np.array([float(mechanism.probability(row.tobytes(), given)) for row in vectors])
            expected = chances / chances.sum() * n
        else:
            keys = [payload.tobytes() for payload in np.unique(payloads, axis=0)]
            place = {key: i for i, key in enumerate(keys)}
            counts = np.bincount([place[payload.tobytes()] for payload in payloads])
            expected = np.array([float(mechanism.probability(key, value)) for key in keys]) * n
        common = expected >= 8
        rest = n - expected[common].sum()
        observed = np.append(counts[common], n - counts[common].sum())
        means = np.append(expected[common], rest)
        observed, means = observed[means > 8], means[means > 8]
        square, freedom = float(((observed - means) ** 2 / means).sum()), len(means) - 1
        # Wilson and Hilferty: a cube root of chi-square is nearly normal; 5.2 sigma leave 1e-7
        assert square < freedom * (1 - 2 / (9 * freedom) + 5.2 * math.sqrt(2 / (9 * freedom))) ** 3
