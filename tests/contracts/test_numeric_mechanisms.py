"""The contract of every mechanism for numbers: exact privacy, one result on both paths, unbiased moments."""

from __future__ import annotations

import decimal
import itertools
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from encoders.epsilon_proof import realised_epsilon
from encoders.errors import PrivacyError, Reason, ReportError, SurveyError
from encoders.mechanisms import (
    NUMERIC_MECHANISMS,
    NumericDomain,
    NumericMechanism,
    design_numeric,
    load_numeric,
    numeric_candidates,
)
from encoders.mechanisms.numeric_base import GRID
from encoders.mechanisms.sign import Sign
from encoders.probability_tables import WORD
from encoders.randomness import FastStream, GivenBytes
from tests.support import reference

NAMES = sorted(NUMERIC_MECHANISMS)
EPSILONS = ("0.1", "0.5", "1", "2", "4", "8")
LABELS = (2, 3, 10)
MISSING = 2 * GRID + 1
SEVERAL = ((False, True), (True, False, False))
SIGMAS = 5.5
"""Two-sided false alarms of one z-test: 4e-8. The seeds are fixed, so a pass stays a pass."""

every_name = pytest.mark.parametrize("name", NAMES)
every_epsilon = pytest.mark.parametrize("epsilon", EPSILONS)
every_moment = pytest.mark.parametrize("low", [-1, 0], ids=["numbers", "squares"])


@cache
def made(name: str, form: NumericDomain, epsilon: str = "1") -> NumericMechanism:
    return design_numeric(name, form, Decimal(epsilon))


def forms(name: str, low: int, labels: tuple[int, ...] = LABELS) -> list[NumericDomain]:
    """Return what a mechanism may be asked: missing or not, and several numbers where it takes them."""
    missing = [(False,), (True,), *(SEVERAL if NUMERIC_MECHANISMS[name].multivariate else ())]
    return [NumericDomain(k, each, low) for k in labels for each in missing]


def codes_of(absent: bool, low: int, count: int, seed: int) -> list[int]:
    """Return the ends, the middle, what is next to a grid point, a missing number, and any others."""
    least = GRID * (1 + low)
    known = [least, least + 1, GRID, GRID + 1, GRID + (1 << 14), 2 * GRID - 1, 2 * GRID]
    drawn = np.random.default_rng(seed).integers(least, 2 * GRID + 1, size=count).tolist()
    return [*known, *drawn, *([MISSING] if absent else [])]


def values_of(form: NumericDomain, count: int, seed: int) -> list[tuple[int, ...]]:
    """Return values to ask for, one code per number and the class in each."""
    rng, columns = np.random.default_rng(seed), []
    for number, absent in enumerate(form.missing):
        codes = codes_of(absent, form.low, count, seed + number)
        columns.append(rng.permutation(codes).tolist())
    most = max(map(len, columns))
    return [
        tuple(column[i % len(column)] * form.labels + i % form.labels for column in columns)
        for i in range(most * form.labels)
    ]


def perturbed(mechanism: NumericMechanism, values: tuple[int, ...], data: bytes) -> bytes:
    return mechanism.perturb(values if mechanism.multivariate else values[0], GivenBytes(data))


def by_reference(mechanism: NumericMechanism, values: tuple[int, ...], data: bytes) -> bytes:
    form = mechanism.domain
    return reference.perturb_numbers(
        mechanism.name, mechanism.parameters, form.labels, form.missing, form.low == 0, list(values), data
    )


def is_laplace(name: str) -> bool:
    return name in ("laplace", "sampled-laplace")


# -- privacy -----------------------------------------------------------------------------------


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
def test_the_exact_ratio_is_at_most_e_to_the_epsilon_and_nearly_that(
    name: str, epsilon: str, low: int
) -> None:
    bound = reference.e_to_the(Fraction(epsilon))[0]
    for form in forms(name, low):
        mechanism = made(name, form, epsilon)
        assert mechanism.ratio <= bound
        spent, budget = float(realised_epsilon(mechanism.ratio)), float(epsilon)
        if name == "onebit" and low == 0:
            assert spent == pytest.approx(fair_or_better(budget), rel=1e-11)
        else:
            assert SPENT[name] <= spent / budget <= 1


def every_payload(mechanism: NumericMechanism) -> Iterator[bytes]:
    """Yield every byte string of the right length that `check` accepts."""
    for values in itertools.product(range(256), repeat=mechanism.payload_bytes):
        try:
            mechanism.check(bytes(values))
        except ReportError:
            continue
        yield bytes(values)


def enumerated(mechanism: NumericMechanism) -> tuple[list[bytes], list[list[Fraction]]]:
    payloads = list(every_payload(mechanism))
    return payloads, [mechanism.likelihood(payload) for payload in payloads]


def assert_exact(mechanism: NumericMechanism) -> None:
    _, laws = enumerated(mechanism)
    for law in zip(*laws, strict=True):
        assert sum(law) == 1
    assert min(map(min, laws)) > 0  # every output is reachable from every input
    assert max(max(law) / min(law) for law in laws) == mechanism.ratio


@pytest.mark.parametrize("name", ["onebit", "sign-vector", "sign"])
@every_epsilon
@every_moment
def test_the_ratio_is_the_worst_over_all_inputs_and_outputs(name: str, epsilon: str, low: int) -> None:
    for form in [
        NumericDomain(2, (False,), low),
        NumericDomain(2, (True,), low),
        NumericDomain(3, (False,), low),
    ]:
        assert_exact(made(name, form, epsilon))


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("onebit", NumericDomain(10, (True,))),
        ("onebit", NumericDomain(25, (True,), 0)),
        ("sign-vector", NumericDomain(8, (False,))),
    ],
)
def test_the_ratio_is_the_worst_for_many_classes_too(name: str, form: NumericDomain) -> None:
    assert_exact(made(name, form))


@pytest.mark.parametrize(
    ("epsilon", "form"), [("0.5", NumericDomain(2)), ("8", NumericDomain(2, (True,), 0))]
)
def test_the_ratio_of_piecewise_is_the_worst_over_every_corner_and_every_cell(
    epsilon: str, form: NumericDomain
) -> None:
    # A law out of 2^64 takes one addition per corner: all that any input changes is its own window.
    mechanism = made("piecewise", form, epsilon)
    near, reach = int(mechanism.parameters["near"]), int(mechanism.parameters["reach"])  # type: ignore[call-overload]
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


@pytest.mark.parametrize("name", ["laplace", "sampled-laplace"])
@every_epsilon
@every_moment
def test_the_ratio_of_laplace_is_the_worst_of_its_slots(name: str, epsilon: str, low: int) -> None:
    # The slots are independent given the input: an input that moves to another slot changes two of them,
    # one that stays changes one, and of several numbers each does so on its own.
    for form in [
        NumericDomain(2, (True,), low),
        *([NumericDomain(3, (True, False), low)] if name == "laplace" else []),
    ]:
        mechanism = made(name, form, epsilon)
        steps = int(mechanism.parameters["steps"])  # type: ignore[call-overload]
        laws = reference.slot_laws(mechanism.parameters, low * steps)
        assert all(sum(law.values()) == 1 for law in laws.values())
        assert min(min(law.values()) for law in laws.values()) > 0
        empty, ends = laws[0], laws[0].keys()
        most = {y: max(law[y] for law in laws.values()) for y in ends}
        least = {y: min(law[y] for law in laws.values()) for y in ends}
        stays = max(most[y] / least[y] for y in ends)
        moves = max(most[y] / empty[y] for y in ends) * max(empty[y] / least[y] for y in ends)
        assert mechanism.ratio == max(stays, moves) ** len(form.missing)


@pytest.mark.parametrize("name", ["laplace", "sampled-laplace"])
@every_moment
def test_the_likelihood_of_laplace_is_the_product_of_its_slots(name: str, low: int) -> None:
    for form in [
        NumericDomain(2, (True,), low),
        *([NumericDomain(2, (False, True, False), low)] if name == "laplace" else []),
    ]:
        mechanism = made(name, form, "2")
        steps = int(mechanism.parameters["steps"])  # type: ignore[call-overload]
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
def test_every_law_is_between_those_of_the_corners(name: str, low: int) -> None:
    for form in [NumericDomain(2, (True,), low), NumericDomain(3, (False,), low)]:
        mechanism, noise = made(name, form), FastStream(3)
        for values in values_of(form, 10, 1)[::7]:
            payload = perturbed(mechanism, values, noise.take(mechanism.random_bytes))
            chance = mechanism.probability(payload, values if mechanism.multivariate else values[0])
            corners = mechanism.likelihood(payload)
            assert 0 < min(corners) <= chance <= max(corners)


@every_name
def test_corners_reach_both_ends_and_the_missing_in_every_class(name: str) -> None:
    for form in (NumericDomain(3, (True,)), NumericDomain(3, (True,), 0)):
        corners = [each[0] if isinstance(each, tuple) else each for each in made(name, form).corners]
        for code, label in itertools.product((GRID * (1 + form.low), 2 * GRID, MISSING), range(3)):
            assert code * 3 + label in corners


@every_name
@every_moment
def test_a_mechanism_is_refused_below_what_it_spends(name: str, low: int) -> None:
    mechanism = made(name, NumericDomain(3, (True,), low))
    mechanism.prove(Decimal(1))
    spent = realised_epsilon(mechanism.ratio)
    with pytest.raises(PrivacyError):
        mechanism.prove(spent - Decimal("1e-11"))


@pytest.mark.parametrize(
    ("name", "key", "step"), [("onebit", "q", -1), ("sign-vector", "q", -1), ("piecewise", "near", 10)]
)
def test_tables_edited_to_spend_more_are_refused(name: str, key: str, step: int) -> None:
    form = NumericDomain(3, (True,))
    tables = dict(made(name, form).parameters)
    edited = load_numeric(name, form, tables | {key: str(int(tables[key]) + step)})  # type: ignore[call-overload]
    with pytest.raises(PrivacyError, match="spend"):
        edited.prove(Decimal(1))


@pytest.mark.parametrize("name", ["laplace", "sampled-laplace"])
def test_less_noise_or_more_steps_are_refused(name: str) -> None:
    form = NumericDomain(3, (True,))
    tables, finer = dict(made(name, form).parameters), dict(made(name, form, "1.001").parameters)
    for spending in (finer, tables | {"steps": str(2 * int(tables["steps"]))}):  # type: ignore[call-overload]
        with pytest.raises(PrivacyError, match="spend"):
            load_numeric(name, form, spending).prove(Decimal(1))


def test_a_sign_s_oracle_is_proved() -> None:
    edited = load_numeric("sign", NumericDomain(2), {"oracle": "DE", "keep": str(WORD // 2)})
    assert edited.ratio > 2.999
    with pytest.raises(PrivacyError, match="spend"):
        edited.prove(Decimal(1))


# -- the device, and populations -----------------------------------------------------------------


@every_name
@every_moment
def test_perturb_follows_the_wire_format(name: str, low: int) -> None:
    for form in forms(name, low, (2, 3, 10) if is_laplace(name) else (2, 3, 10, 130)):
        mechanism = made(name, form)
        size, stream = mechanism.random_bytes, FastStream(form.labels)
        for values in values_of(form, 6, 7)[:24]:
            for data in (stream.take(size), stream.take(size), bytes(size), b"\xff" * size):
                assert perturbed(mechanism, values, data) == by_reference(mechanism, values, data)


@every_name
@every_epsilon
def test_perturb_follows_the_wire_format_at_every_epsilon(name: str, epsilon: str) -> None:
    form, stream = NumericDomain(3, (True,) * (2 if name == "laplace" else 1)), FastStream(1)
    mechanism = made(name, form, epsilon)
    for values in values_of(form, 20, 3):
        data = stream.take(mechanism.random_bytes)
        assert perturbed(mechanism, values, data) == by_reference(mechanism, values, data)


@every_name
@every_moment
def test_a_population_is_bit_equal_to_its_devices(name: str, low: int) -> None:
    for form in forms(name, low, (2, 3, 8, 65, 130)):
        mechanism = made(name, form)
        values = values_of(form, 12, 9)[:100]
        data = FastStream(4).take(len(values) * mechanism.random_bytes)
        given = np.array(values if mechanism.multivariate else [each[0] for each in values], dtype=np.int64)
        payloads = mechanism.perturb_many(given, GivenBytes(data))
        assert payloads.dtype == np.uint8
        assert payloads.shape == (len(values), mechanism.payload_bytes)
        rng = GivenBytes(data)
        devices = [mechanism.perturb(each if mechanism.multivariate else each[0], rng) for each in values]
        assert payloads.tobytes() == b"".join(devices)


@every_name
@every_moment
def test_a_population_is_bit_equal_on_the_least_and_the_greatest_draws(name: str, low: int) -> None:
    form = NumericDomain(3, (True,), low)
    mechanism = made(name, form, "8")
    values = [each[0] for each in values_of(form, 4, 2)]
    shaped = np.array(values, dtype=np.int64).reshape((-1, 1) if mechanism.multivariate else -1)
    for byte in (b"\x00", b"\xff"):
        data = byte * (len(values) * mechanism.random_bytes)
        payloads = mechanism.perturb_many(shaped, GivenBytes(data))
        rng = GivenBytes(data)
        devices = [mechanism.perturb((value,) if mechanism.multivariate else value, rng) for value in values]
        assert payloads.tobytes() == b"".join(devices)


@every_name
def test_empty_population_gives_no_payloads(name: str) -> None:
    mechanism = made(name, NumericDomain(3, (True,)))
    none = np.empty((0, 1) if mechanism.multivariate else 0, dtype=np.int64)
    payloads = mechanism.perturb_many(none, GivenBytes(b""))
    assert payloads.shape == (0, mechanism.payload_bytes)
    assert mechanism.tally(payloads).tolist() == [0] * mechanism.cells


@every_name
def test_a_value_may_be_a_numpy_integer(name: str) -> None:
    # Numpy's truth values add up as truths, and its integers overflow: neither may reach the arithmetic.
    form = NumericDomain(70, (True,))
    mechanism = made(name, form)
    for code, label in itertools.product((0, GRID + 1, 2 * GRID, MISSING), (0, 69)):
        value = code * 70 + label
        for seed in range(5):
            data = FastStream(seed).take(mechanism.random_bytes)
            of_numpy = perturbed(mechanism, (np.int64(value),), data)  # type: ignore[arg-type]
            assert of_numpy == perturbed(mechanism, (value,), data)


class Counting:
    """Returns bytes of a stream and counts them."""

    def __init__(self) -> None:
        self.stream, self.taken = FastStream(1), 0

    def take(self, count: int) -> bytes:
        self.taken += count
        return self.stream.take(count)


@every_name
@every_moment
def test_lengths_depend_on_nothing_but_the_form(name: str, low: int) -> None:
    for form in forms(name, low, (2, 3, 64, 65)):
        mechanism, rng = made(name, form), Counting()
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
def test_coin_changes_exactly_at_the_threshold_of_its_likelihood(name: str, low: int) -> None:
    mechanism = made(name, NumericDomain(2, (True,), low))
    for code in codes_of(False, low, 20, 2):
        turn = coin_of(mechanism, code)
        for draw, bit in ((turn - 1, 1), (turn, 0)):
            data = bytes(mechanism.random_bytes - 8) + draw.to_bytes(8, "little")
            assert perturbed(mechanism, (code * 2,), data)[0] & 1 == bit
    assert coin_of(mechanism, GRID) == WORD // 2
    assert coin_of(mechanism, 2 * GRID) == WORD - int(mechanism.parameters["q"])  # type: ignore[call-overload]


@every_name
@every_moment
def test_frequencies_of_reports_agree_with_their_likelihood(name: str, low: int) -> None:
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
            size = len(mechanism.parameters["weights"]) - 1 - int(mechanism.parameters["steps"])  # type: ignore[arg-type,call-overload]
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


# -- the collector -------------------------------------------------------------------------------


@every_name
@every_moment
def test_every_payload_of_a_device_passes_the_check(name: str, low: int) -> None:
    for form, epsilon in itertools.product(forms(name, low, (2, 3, 8, 64, 65)), ("0.1", "8")):
        mechanism = made(name, form, epsilon)
        values = values_of(form, 4, 6)[:40]
        given = np.array(values if mechanism.multivariate else [each[0] for each in values], dtype=np.int64)
        for payload in mechanism.perturb_many(given, FastStream(3)):
            mechanism.check(payload.tobytes())


@every_name
def test_a_payload_of_another_length_is_refused(name: str) -> None:
    for form in forms(name, -1, (2, 8, 130)):
        mechanism = made(name, form)
        payload = perturbed(mechanism, values_of(form, 1, 1)[0], bytes(mechanism.random_bytes))
        for wrong in (b"", payload[:-1], payload + b"\0", payload * 2):
            with pytest.raises(ReportError) as caught:
                mechanism.check(wrong)
            assert caught.value.reason is Reason.BAD_PAYLOAD


@pytest.mark.parametrize(
    ("name", "form", "epsilon", "count"),
    [
        ("onebit", NumericDomain(3), "1", 6),
        ("onebit", NumericDomain(65, (True,)), "1", 260),
        ("sign-vector", NumericDomain(3), "1", 8),
        ("sign-vector", NumericDomain(8), "1", 256),
        ("sign-vector", NumericDomain(5, (True,)), "1", 1024),
        ("sign", NumericDomain(2), "4", 4),
        ("sign", NumericDomain(3, (True,)), "0.5", 512),
    ],
)
def test_payload_passes_the_check_if_and_only_if_some_value_can_give_it(
    name: str, form: NumericDomain, epsilon: str, count: int
) -> None:
    assert sum(1 for _ in every_payload(made(name, form, epsilon))) == count


def test_a_piecewise_cell_beyond_the_last_line_is_refused() -> None:
    for form in (NumericDomain(2), NumericDomain(3, (True,), 0)):
        mechanism = made("piecewise", form)
        cells = form.slots * (129 + 2 * int(mechanism.parameters["reach"]))  # type: ignore[call-overload]
        mechanism.check((cells - 1).to_bytes(2, "little"))
        for cell in (cells, 0xFFFF):
            with pytest.raises(ReportError, match="no piecewise device sends this"):
                mechanism.check(cell.to_bytes(2, "little"))


@pytest.mark.parametrize("name", ["laplace", "sampled-laplace"])
@every_epsilon
def test_a_slot_one_step_beyond_the_clamp_is_refused(name: str, epsilon: str) -> None:
    mechanism = made(name, NumericDomain(2, (True,)), epsilon)
    size = len(mechanism.parameters["weights"]) - 1 - int(mechanism.parameters["steps"])  # type: ignore[arg-type,call-overload]
    for slot, sign in itertools.product(range(4), (-1, 1)):
        vector = np.zeros(4, "<i2")
        vector[slot] = sign * size
        mechanism.check(vector.tobytes())
        vector[slot] = sign * (size + 1)
        with pytest.raises(ReportError, match="device sends this"):
            mechanism.check(vector.tobytes())


@every_name
@every_moment
def test_many_payloads_are_checked_like_each(name: str, low: int) -> None:
    rng = np.random.default_rng(1)
    for form in forms(name, low, (2, 3, 10, 70)):
        mechanism = made(name, form)
        values = values_of(form, 4, 8)[:120]
        given = np.array(values if mechanism.multivariate else [each[0] for each in values], dtype=np.int64)
        sent = mechanism.perturb_many(given, FastStream(5))
        changed = sent.copy()
        rows = np.arange(len(sent))
        changed[rows, rng.integers(0, sent.shape[1], len(sent))] = rng.integers(0, 256, len(sent))
        payloads = np.concatenate([sent, changed, rng.integers(0, 256, sent.shape).astype(np.uint8)])
        assert mechanism.are_valid(payloads).tolist() == [accepted(mechanism, each) for each in payloads]
        assert mechanism.are_valid(payloads[:0]).tolist() == []


def accepted(mechanism: NumericMechanism, payload: np.ndarray) -> bool:
    try:
        mechanism.check(payload.tobytes())
    except ReportError:
        return False
    return True


@every_name
@every_moment
def test_a_tally_is_the_sum_of_what_each_payload_adds(name: str, low: int) -> None:
    for form in forms(name, low, (2, 3, 10, 70)):
        mechanism = made(name, form)
        values = values_of(form, 4, 8)[:120]
        given = np.array(values if mechanism.multivariate else [each[0] for each in values], dtype=np.int64)
        payloads = mechanism.perturb_many(given, FastStream(5))
        slow = [
            reference.contribution_of_numbers(
                name, mechanism.parameters, form.labels, form.missing, payload.tobytes()
            )
            for payload in payloads
        ]
        tally = mechanism.tally(payloads)
        assert tally.dtype == np.int64
        assert tally.tolist() == np.sum(slow, axis=0).tolist()
        assert tally.tolist() == (mechanism.tally(payloads[:11]) + mechanism.tally(payloads[11:])).tolist()


# -- the trainer ---------------------------------------------------------------------------------


@every_name
@every_moment
def test_a_contribution_is_the_tally_of_one_payload(name: str, low: int) -> None:
    for form in forms(name, low, (2, 3, 10)):
        mechanism = made(name, form)
        values = [each if mechanism.multivariate else each[0] for each in values_of(form, 3, 8)]
        for payload in mechanism.perturb_many(np.array(values), FastStream(4)):
            added = mechanism.contribution(payload.tobytes())
            assert added == mechanism.tally(payload[None]).tolist()
            assert {type(cell) for cell in added} == {int}
        names = mechanism.counter_names(
            [f"x{i}" for i in range(len(form.missing))], [*map(str, range(form.labels))]
        )
        assert len(names) == len(set(names)) == mechanism.cells


# -- the person at the device --------------------------------------------------------------------


def percentages(words: str) -> list[float]:
    """Return the probabilities that a text states, as fractions."""
    return [float(text) / 100 for text in re.findall(r"([\d.]+)%", words)]


def number(share: float, low: int) -> int:
    """Return the value, with the class 1 of 2, of the number so far from the lowest to the highest."""
    least = GRID * (1 + low)
    return 2 * (least + round(share * (2 * GRID - least))) + 1


@pytest.mark.parametrize("name", ["onebit", "sign-vector"])
@every_moment
def test_description_of_a_coin_states_its_exact_distribution(name: str, low: int) -> None:
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
def test_description_of_sign_states_the_rounding_and_the_oracle(low: int) -> None:
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


@every_moment
def test_description_of_laplace_states_the_slot_and_the_exact_noise(low: int) -> None:
    for name, missing in [("sampled-laplace", (False,)), ("laplace", (False, True))]:
        mechanism = made(name, NumericDomain(2, missing, low))
        steps = int(mechanism.parameters["steps"])  # type: ignore[call-overload]
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
def test_description_of_piecewise_states_its_tables(low: int) -> None:
    mechanism = made("piecewise", NumericDomain(2, (True,), low))
    near, reach = (int(mechanism.parameters[key]) for key in ("near", "reach"))  # type: ignore[call-overload]
    words, line = mechanism.describe_output(number(0.3, low)), 129 + 2 * reach
    assert percentages(words) == pytest.approx([near / WORD], abs=6e-4)
    assert words.startswith(f"one of {4 * line} points, {line} for each of 4 places")
    assert f"one of the {2 * reach + 1} around the true point" in words


def estimates(mechanism: NumericMechanism, payloads: np.ndarray) -> np.ndarray:
    """Return what each report on its own estimates, shape (m, numbers, 3, k)."""
    unique, which = np.unique(payloads, axis=0, return_inverse=True)
    form = mechanism.domain
    added = np.array(
        [
            reference.contribution_of_numbers(
                mechanism.name, mechanism.parameters, form.labels, form.missing, row.tobytes()
            )
            for row in unique
        ]
    )
    # moments are affine in the totals: their value at zero, and how each counter moves them
    start = mechanism.moments(np.zeros(mechanism.cells, dtype=np.int64), 1)
    moves = np.array([mechanism.moments(row, 1) - start for row in np.eye(mechanism.cells, dtype=np.int64)])
    return start + np.tensordot(added, moves, axes=1)[which.ravel()]


def population(form: NumericDomain, m: int, seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Draw values of classes of unequal size and spread; return the true moments of each number.

    The truth: P(present, class), E[x 1(class)], E[x^2 1(class)] and P(missing, class).
    """
    rng, k = np.random.default_rng(seed), form.labels
    chance = np.arange(1, k + 1) / (k * (k + 1) / 2)
    label = rng.choice(k, size=m, p=chance)
    columns, truths = [], []
    for number, absent in enumerate(form.missing):
        start = GRID * (1 + form.low) + (np.arange(k) + number) % 3 * (GRID // 4)
        end = 2 * GRID - np.arange(k) % 2 * (GRID // 4)
        gone = (np.arange(k) + 1) / (4 * k) * absent
        x = [(np.arange(a, b + 1, dtype=np.float64) - GRID) / GRID for a, b in zip(start, end, strict=True)]
        first, second = (np.array([(each**power).mean() for each in x]) for power in (1, 2))
        share = chance * (1 - gone)
        truths.append(np.array([share, share * first, share * second, chance * gone]))
        codes = rng.integers(start[label], end[label] + 1)
        columns.append(np.where(rng.random(m) < gone[label], MISSING, codes) * k + label)
    return np.stack(columns, axis=1), truths


CASES = [
    *(
        (name, NumericDomain(3, (True,), low), epsilon)
        for name in NAMES
        for low, epsilon in ((-1, "1"), (0, "4"))
    ),
    *(
        (name, NumericDomain(2, (False,), low), epsilon)
        for name in NAMES
        for low, epsilon in ((-1, "4"), (0, "1"))
    ),
    ("laplace", NumericDomain(2, (False, True, False)), "4"),
    ("piecewise", NumericDomain(2, (True,)), "8"),
]


@pytest.mark.parametrize(("name", "form", "epsilon"), CASES)
def test_moments_are_unbiased_with_the_stated_covariance(
    name: str, form: NumericDomain, epsilon: str
) -> None:
    """12,000 people, each an estimate: a z-test for every mean, variance and covariance of the three."""
    mechanism, m = made(name, form, epsilon), 12_000
    values, truths = population(form, m, 17)
    payloads = mechanism.perturb_many(values if mechanism.multivariate else values[:, 0], FastStream(23))
    each = estimates(mechanism, payloads)
    assert mechanism.moments(mechanism.tally(payloads), m) == pytest.approx(each.mean(axis=0), nan_ok=True)
    for number, (share, first, second, missing) in enumerate(truths):
        found, expected = each[:, number], np.array([first, missing, share + missing])
        stated = mechanism.covariance(share, first, second, missing)
        assert stated.shape == (3, 3, form.labels)
        estimated = 3 if mechanism.estimates_prior else 2
        assert np.isnan(found[:, estimated:]).all()
        assert np.isnan(stated[estimated:]).all()
        assert np.isnan(stated[:, estimated:]).all()
        known = form.missing[number]
        for a in range(estimated):
            sigma = np.sqrt(stated[a, a] / m)
            if a == 1 and not known:
                assert not found[:, 1].any()
                continue
            assert np.all(np.abs(found[:, a].mean(axis=0) - expected[a]) < SIGMAS * sigma)
        centred = found[:, :estimated] - found[:, :estimated].mean(axis=0)
        for a, b in itertools.product(range(estimated), repeat=2):
            if not known and 1 in (a, b):
                continue
            products = centred[:, a] * centred[:, b]
            sigma = products.std(axis=0) / math.sqrt(m)
            assert np.all(np.abs(products.mean(axis=0) - stated[a, b]) < SIGMAS * sigma), (a, b)


@every_name
@every_moment
def test_the_variance_of_a_slot_is_the_first_of_the_covariances(name: str, low: int) -> None:
    for form in (NumericDomain(3, (True,), low), NumericDomain(2, (False,), low)):
        mechanism = made(name, form, "2")
        _, (truth,) = population(form, 1, 1)
        share, first, second, _ = truth
        stated = mechanism.covariance(*truth)
        assert mechanism.slot_variance(share, first, second) == pytest.approx(stated[0, 0], rel=1e-12)
        assert stated[[1, 2, 2], [0, 0, 1]] == pytest.approx(stated[[0, 0, 1], [1, 2, 2]], nan_ok=True)
        one = mechanism.slot_variance(float(share[0]), float(first[0]), float(second[0]))
        assert one == pytest.approx(stated[0, 0, 0], rel=1e-12)


@pytest.mark.parametrize("epsilon", ["1", "8", "12", "16"])
def test_clamping_biases_the_mean_of_a_slot_by_little(epsilon: str) -> None:
    # Only the ends are debiased exactly. What the middle is off by grows as the noise's tail is cut off.
    mechanism = made("sampled-laplace", NumericDomain(2), epsilon)
    steps = int(mechanism.parameters["steps"])  # type: ignore[call-overload]
    laws = reference.slot_laws(mechanism.parameters, -steps)
    means = {x: sum(y * int(chance * WORD) for y, chance in law.items()) for x, law in laws.items()}
    off = max(abs(mean / means[steps] - x / steps) for x, mean in means.items())
    assert off < {"1": 1e-8, "8": 1e-7, "12": 1e-5, "16": 2e-4}[epsilon]


# -- design --------------------------------------------------------------------------------------


@every_name
def test_a_design_does_not_depend_on_the_application_s_decimal_context(name: str) -> None:
    epsilon = Decimal("1.23456789")
    expected = design_numeric(name, NumericDomain(3), epsilon)
    with decimal.localcontext() as context:
        context.prec, context.rounding = 2, decimal.ROUND_UP
        assert design_numeric(name, NumericDomain(3), epsilon).parameters == expected.parameters


@every_epsilon
def test_auto_is_the_least_variance_that_any_mechanism_has(epsilon: str) -> None:
    for form in (NumericDomain(2), NumericDomain(3, (True,)), NumericDomain(10)):
        best = design_numeric("auto", form, Decimal(epsilon))
        rivals = [made(name, form, epsilon) for name in NAMES]
        assert best.reference_variance == min(each.reference_variance for each in rivals)


@every_epsilon
def test_auto_uses_for_squares_only_mechanisms_that_estimate_the_prior(epsilon: str) -> None:
    for form in (NumericDomain(2, low=0), NumericDomain(3, (True,), 0), NumericDomain(10, low=0)):
        assert all(each.estimates_prior for each in numeric_candidates(form, Decimal(epsilon)))


@pytest.mark.parametrize(
    ("name", "form", "epsilon", "why"),
    [
        ("laplace", NumericDomain(2, (False,) * 101), "8", "1 to 100 numbers"),
        ("laplace", NumericDomain(2), "16.1", "epsilon = 16"),
        ("sampled-laplace", NumericDomain(2), "32", "epsilon = 16"),
        ("sampled-laplace", NumericDomain(2), "0.0039", "too many steps: raise epsilon"),
        ("laplace", NumericDomain(2, (False,) * 60), "0.2", "too many steps: raise epsilon"),
        ("piecewise", NumericDomain(600), "1", "use sign-vector"),
        ("sign", NumericDomain(2, (False, False)), "1", "one number at a time"),
        *((name, NumericDomain(1), "1", "classes") for name in NAMES),
        *((name, NumericDomain(20_000), "1", "classes") for name in NAMES),
        ("auto", NumericDomain(20_000), "1", "this many classes"),
        ("auto", NumericDomain(2), "0", "epsilon"),
        ("auto", NumericDomain(2), "NaN", "epsilon"),
        ("Laplace", NumericDomain(2), "1", "choose one of"),
    ],
)
def test_what_cannot_be_designed_is_refused_with_a_reason(
    name: str, form: NumericDomain, epsilon: str, why: str
) -> None:
    with pytest.raises(SurveyError, match=why) as caught:
        design_numeric(name, form, Decimal(epsilon))
    assert not isinstance(caught.value, PrivacyError)


@pytest.mark.parametrize("scale", ["512", "511.9", "430.01"])
def test_noise_of_every_scale_that_has_tables_keeps_epsilon(scale: str) -> None:
    epsilon = 2 / Decimal(scale)
    design_numeric(
        "sampled-laplace", NumericDomain(2), epsilon.quantize(Decimal("1e-9"), decimal.ROUND_CEILING)
    )


# -- tables from a plan --------------------------------------------------------------------------

BAD_INTEGERS = ["-1", "00", "01", "+1", " 1", "1_0", "1e3", "1.0", "", "\u0661", str(1 << 64), "9" * 5000]


@every_name
def test_malformed_tables_are_refused(name: str) -> None:
    form = NumericDomain(3, (True,))
    tables = dict(made(name, form).parameters)
    for wrong in (
        {},
        tables | {"more": "1"},
        *({k: v for k, v in tables.items() if k != key} for key in tables),
    ):
        with pytest.raises(SurveyError):
            load_numeric(name, form, wrong)
    integers = [key for key in tables if key not in ("oracle", "weights")]
    for key, wrong in itertools.product(integers, [*BAD_INTEGERS, 1, 1.0, True, None, [], {}, b"1"]):
        with pytest.raises(SurveyError):
            load_numeric(name, form, tables | {key: wrong})
    for wrong in (None, [], "q", 5):
        with pytest.raises(SurveyError):
            load_numeric(name, form, wrong)  # type: ignore[arg-type]
    for strange in (
        NumericDomain(1),
        NumericDomain(1 << 15),
        NumericDomain(3, ()),
        NumericDomain(3, (True,) * 101),
    ):
        with pytest.raises(SurveyError):
            load_numeric(name, strange, tables)


@pytest.mark.parametrize(
    ("name", "tables"),
    [
        ("onebit", {"q": "0"}),
        ("onebit", {"q": str(1 << 63)}),
        ("sign-vector", {"q": str((1 << 63) + 1)}),
        ("sign", {"oracle": "SHE", "weights": [str(WORD - 2), "1"]}),
        ("sign", {"oracle": "THE", "bits": "8", "p": "100", "q": "50", "theta": "0.5"}),
        ("sign", {"oracle": ["DE"], "keep": "1"}),
        ("sign", {"oracle": None, "keep": str(WORD // 2)}),
        ("sign", {"oracle": "DE", "keep": "1"}),
        ("sign", {"oracle": "OUE", "keep": str(WORD // 2)}),
        ("piecewise", {"near": "0", "reach": "3"}),
        ("piecewise", {"near": str(WORD), "reach": "3"}),
        ("piecewise", {"near": "1", "reach": "257"}),
        ("sampled-laplace", {"steps": "0", "weights": [str(WORD - 2), "1"]}),
        ("sampled-laplace", {"steps": "1", "weights": [str(WORD - 2), "1"]}),
        ("sampled-laplace", {"steps": "3", "weights": [str(WORD - 10), *"11111"]}),
        ("sampled-laplace", {"steps": "128", "weights": [str(WORD - 400), *["1"] * 200]}),
        ("sampled-laplace", {"steps": "64", "weights": [str(WORD - 1200), *["1"] * 600]}),
        ("sampled-laplace", {"steps": "1", "weights": [str(WORD - 4), "2"]}),
        ("sampled-laplace", {"steps": "1", "weights": [str(WORD - 4), "0", "2"]}),
        ("sampled-laplace", {"steps": "1", "weights": [str(WORD), "1", "1"]}),
        ("sampled-laplace", {"steps": "1", "weights": str(WORD)}),
        ("sampled-laplace", {"steps": "1", "weights": [str(WORD - 2 * 16384), *["1"] * 16384]}),
    ],
)
def test_tables_out_of_range_are_refused(name: str, tables: dict[str, Any]) -> None:
    with pytest.raises(SurveyError):
        load_numeric(name, NumericDomain(2), tables)


def test_piecewise_has_at_most_as_many_cells_as_two_bytes_count() -> None:
    tables = {"near": "1", "reach": "0"}
    assert load_numeric("piecewise", NumericDomain(508), tables).domain.slots * 129 <= 1 << 16
    with pytest.raises(SurveyError, match="cells"):
        load_numeric("piecewise", NumericDomain(509), tables)


def test_an_unknown_mechanism_is_refused_by_name() -> None:
    for name in ("", "auto", "Sign", "DE", None, ["sign"]):
        with pytest.raises(SurveyError, match="is not one of laplace, onebit, sampled-laplace, sign"):
            load_numeric(name, NumericDomain(2), {"q": "1"})  # type: ignore[arg-type]
