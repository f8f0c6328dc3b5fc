"""The contract of every mechanism: exact privacy, one result on both paths, unbiased counts, checks."""

import itertools
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from encoders.epsilon_proof import realised_epsilon
from encoders.errors import PrivacyError, Reason, ReportError
from encoders.mechanisms import MECHANISMS, Mechanism, design
from encoders.randomness import FastStream, GivenBytes
from tests.support import reference
from tests.support.mechanism_checks import CountingSource, every_payload, percentages

NAMES = sorted(MECHANISMS)
EPSILONS = ("0.1", "0.5", "1", "2", "4", "8")
SMALL, LARGE = tuple(range(2, 9)), (64, 1024)
SIGMAS = 5.5
"""Two-sided false alarms of one z-test: 4e-8. The seeds are fixed, so a pass stays a pass."""

every_name = pytest.mark.parametrize("name", NAMES)
every_epsilon = pytest.mark.parametrize("epsilon", EPSILONS)


def every_name_of(*domains: int) -> pytest.MarkDecorator:
    """Return every mechanism with the domains that it supports: SS with at most 256 values."""
    pairs = [(name, domain) for name in NAMES for domain in domains if name != "SS" or domain <= 256]
    return pytest.mark.parametrize(("name", "domain"), pairs)


@cache
def made(name: str, domain: int, epsilon: str = "1") -> Mechanism:
    return design(name, domain, Decimal(epsilon))


def she_payloads(mechanism: Mechanism) -> Iterator[bytes]:
    """Yield every pair of SHE components; one step further out on either side is refused."""
    steps = len(mechanism.parameters["weights"]) - 1
    for pair in itertools.product(range(1 - steps, steps + 1), repeat=2):
        yield np.array(pair, "<i2").tobytes()
    for outside in (-steps, steps + 1):
        with pytest.raises(ReportError):
            mechanism.check(np.array([0, outside], "<i2").tobytes())


def enumerable(name: str, epsilon: str) -> list[tuple[Mechanism, list[bytes]]]:
    """Return mechanisms small enough to write down all their payloads (SHE: two components)."""
    if name == "SHE":
        few = made(name, 2, epsilon)
        return [(few, list(she_payloads(few)))] if float(epsilon) >= 1 else []
    small = [made(name, domain, epsilon) for domain in SMALL]
    return [(mechanism, list(every_payload(mechanism))) for mechanism in small]


# -- privacy -----------------------------------------------------------------------------------


@every_name_of(*SMALL, *LARGE)
@every_epsilon
def test_the_exact_ratio_is_at_most_e_to_the_epsilon(name, epsilon, domain):
    mechanism = made(name, domain, epsilon)
    low, high = reference.e_to_the(Fraction(epsilon))
    assert high - low < Fraction(1, 10**40)
    assert mechanism.ratio <= low
    if name != "THE":  # its threshold cannot spend all of epsilon
        assert float(realised_epsilon(mechanism.ratio)) >= float(epsilon) * (1 - 1e-3)


@pytest.mark.slow
@every_name
@every_epsilon
def test_the_ratio_is_the_worst_over_all_inputs_and_outputs(name, epsilon):
    for mechanism, payloads in enumerable(name, epsilon):
        laws = [mechanism.likelihood(payload) for payload in payloads]
        assert all(sum(law[v] for law in laws) == 1 for v in range(mechanism.domain))
        assert min(map(min, laws)) > 0  # every output is reachable from every input
        assert max(max(law) / min(law) for law in laws) == mechanism.ratio


@every_name
def test_a_mechanism_is_refused_below_what_it_spends(name):
    mechanism = made(name, 5)
    mechanism.prove(Decimal(1))
    spent = realised_epsilon(mechanism.ratio)
    with pytest.raises(PrivacyError):
        mechanism.prove(spent - Decimal("1e-11"))


# -- the device, and populations -----------------------------------------------------------------


@pytest.mark.slow
@every_name_of(*SMALL, 9, 24, 65, 257)
def test_perturb_follows_the_wire_format(name, domain):
    mechanism, rng = made(name, domain), FastStream(domain)
    for value in list(range(domain)) * (1 + 40 // domain):
        data = rng.take(mechanism.random_bytes)
        expected = reference.perturb(name, mechanism.parameters, domain, value, data)
        assert mechanism.perturb(value, GivenBytes(data)) == expected


@every_name_of(2, 7, 8, 9, 16, 24, 32, 63, 64, 65, 256, 257, 1024)
def test_a_population_is_bit_equal_to_its_devices(name, domain):
    assert_bit_equal(made(name, domain), 25)


@every_name
@pytest.mark.parametrize("count", [0, 1, 2047, 2049, 4096, 8193])
def test_a_population_is_bit_equal_across_its_blocks(name, count):
    assert_bit_equal(made(name, 9), count)


@every_name
def test_a_value_may_be_a_numpy_integer(name):
    domain = 256 if name == "SS" else 300
    mechanism = made(name, domain)
    data = FastStream(1).take(mechanism.random_bytes)
    of_numpy = mechanism.perturb(np.int64(domain - 1), GivenBytes(data))
    assert of_numpy == mechanism.perturb(domain - 1, GivenBytes(data))


def assert_bit_equal(mechanism: Mechanism, count: int) -> None:
    values = np.random.default_rng(count).integers(mechanism.domain, size=count)
    data = FastStream(mechanism.domain).take(count * mechanism.random_bytes)
    payloads = mechanism.perturb_many(values, GivenBytes(data))
    assert payloads.dtype == np.uint8
    assert payloads.shape == (count, mechanism.payload_bytes)
    rng = GivenBytes(data)
    assert payloads.tobytes() == b"".join(mechanism.perturb(value, rng) for value in values.tolist())


@every_name_of(*SMALL, *LARGE)
def test_lengths_depend_on_nothing_but_the_domain(name, domain):
    mechanism, rng = made(name, domain), CountingSource()
    for value in {0, 1, domain // 2, domain - 1}:
        rng.taken = 0
        assert len(mechanism.perturb(value, rng)) == mechanism.payload_bytes
        assert rng.taken == mechanism.random_bytes
    rng.taken = 0
    mechanism.perturb_many(np.zeros(7, dtype=np.int64), rng)
    assert rng.taken == 7 * mechanism.random_bytes


# -- the collector -------------------------------------------------------------------------------


@every_name_of(*SMALL, 9, 64, 255, 256, 257, 1024)
def test_every_payload_of_a_device_passes_the_check(name, domain):
    for epsilon in ("0.1", "8"):
        mechanism = made(name, domain, epsilon)
        for payload in mechanism.perturb_many(np.arange(200) % domain, FastStream(3)):
            mechanism.check(payload.tobytes())


@every_name_of(2, 7, 8, 9, 64, 257)
def test_a_payload_of_another_length_is_refused(name, domain):
    mechanism = made(name, domain)
    payload = mechanism.perturb(1, FastStream(1))
    for wrong in (b"", payload[:-1], payload + b"\0", payload * 2):
        with pytest.raises(ReportError) as caught:
            mechanism.check(wrong)
        assert caught.value.reason is Reason.BAD_PAYLOAD


@every_name_of(2, 7, 8, 9, 65, 300)
def test_a_tally_is_the_sum_of_what_each_payload_adds(name, domain):
    mechanism = made(name, domain)
    payloads = mechanism.perturb_many(np.arange(300) % domain, FastStream(5))
    slow = np.array([reference.contribution(name, domain, payload.tobytes()) for payload in payloads])
    tally = mechanism.tally(payloads)
    assert tally.dtype == np.int64
    assert tally.tolist() == slow.sum(axis=0).tolist()
    assert tally.tolist() == (mechanism.tally(payloads[:111]) + mechanism.tally(payloads[111:])).tolist()
    assert mechanism.tally(payloads[:0]).tolist() == [0] * domain


@every_name_of(2, 3, 8, 9, 64, 256, 257, 300)
def test_are_valid_agrees_with_check_on_each_payload(name, domain):
    mechanism = made(name, domain)
    rng = np.random.default_rng(5)
    honest = mechanism.perturb_many(rng.integers(0, domain, 200), FastStream(1))
    wild = rng.integers(0, 256, (200, mechanism.payload_bytes), np.uint8)
    payloads = np.concatenate([honest, wild, honest | wild])

    def passes(payload: bytes) -> bool:
        try:
            mechanism.check(payload)
        except ReportError:
            return False
        return True

    assert mechanism.are_valid(payloads).tolist() == [passes(payload.tobytes()) for payload in payloads]
    assert mechanism.are_valid(honest).all()


@every_name_of(2, 7, 8, 9, 65, 300)
def test_a_contribution_is_the_tally_of_one_payload(name, domain):
    mechanism = made(name, domain)
    for payload in mechanism.perturb_many(np.arange(60) % domain, FastStream(6)):
        added = mechanism.contribution(payload.tobytes())
        assert added == mechanism.tally(payload[None]).tolist()
        assert {type(cell) for cell in added} == {int}


# -- the person at the device --------------------------------------------------------------------


def first_cells(mechanism: Mechanism, payloads: list[bytes], owner: int) -> dict[int, float]:
    """Return the exact law of what a report of `owner` adds to the cell of the value 0."""
    law: dict[int, Fraction] = {}
    for payload in payloads:
        cell = mechanism.contribution(payload)[0]
        law[cell] = law.get(cell, Fraction(0)) + mechanism.likelihood(payload)[owner]
    return {cell: float(chance) for cell, chance in law.items()}


@every_name
@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_description_states_the_exact_probabilities(name, epsilon):
    for mechanism, payloads in enumerable(name, epsilon)[:4]:
        stated = percentages(mechanism.describe_output(0))
        own, other = (first_cells(mechanism, payloads, owner) for owner in (0, 1))
        if name == "SHE":
            reach = int(re.findall(r"between -(\d+)", mechanism.describe_output(0))[0])
            inside = sum(chance for cell, chance in other.items() if abs(cell) <= reach)
            assert stated == pytest.approx([other[0], inside], abs=6e-4)
            assert inside >= 0.9
        else:  # of unary encodings a bit, of SS a value, of DE the whole answer
            assert stated == pytest.approx([own[1], other[1]], abs=6e-4)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("domain", [2, 3, 300])
def test_description_of_de_states_its_likelihood(domain, epsilon):
    mechanism = made("DE", domain, epsilon)
    kept, moved = percentages(mechanism.describe_output(1))
    law = [mechanism.likelihood(index_payload(mechanism, sent))[1] for sent in range(domain)]
    assert kept == pytest.approx(float(law[1]), abs=6e-4)
    assert moved == pytest.approx(float(law[0]), rel=0.05, abs=6e-4)
    assert sum(law) == 1
    assert ("each of the" in mechanism.describe_output(1)) == (domain > 2)


def index_payload(mechanism: Mechanism, value: int) -> bytes:
    return value.to_bytes(mechanism.payload_bytes, "little")


@every_name
def test_description_does_not_depend_on_the_true_answer(name):
    """So the text describes the randomisation, and not the answer."""
    mechanism = made(name, 9)
    assert len({mechanism.describe_output(value) for value in range(9)}) == 1


# -- the trainer ---------------------------------------------------------------------------------


def exact_moments(mechanism: Mechanism, payloads: list[bytes], cell: int, owner: int) -> tuple[float, float]:
    """Return mean and variance of what a report of `owner` adds to `cell`, over all payloads."""
    first = second = Fraction(0)
    for payload in payloads:
        added = reference.contribution(mechanism.name, mechanism.domain, payload)[cell]
        chance = mechanism.likelihood(payload)[owner]
        first, second = first + added * chance, second + added * added * chance
    return float(first), float(second - first * first)


@pytest.mark.slow
@every_name
@every_epsilon
def test_the_moments_are_those_of_the_exact_law(name, epsilon):
    for mechanism, payloads in enumerable(name, epsilon)[:3]:
        on, off = exact_moments(mechanism, payloads, 0, 0), exact_moments(mechanism, payloads, 0, 1)
        assert (mechanism.on_mean, mechanism.on_var) == pytest.approx(on, rel=1e-9)
        # DE's multiply-shift cells differ by 1 out of 2^64: far below this
        assert (mechanism.off_mean, mechanism.off_var) == pytest.approx(off, rel=1e-9, abs=1e-15)


@pytest.mark.slow
@every_name
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_estimates_are_unbiased_with_the_stated_variance(name, epsilon):
    """50,000 people, and ten z-tests in each of ten cases. The seed is fixed, so no run differs."""
    mechanism, n = made(name, 5, epsilon), 50_000
    held = np.array([0.45, 0.3, 0.15, 0.1, 0.0])
    values = np.random.default_rng(11).choice(5, size=n, p=held)
    payloads = mechanism.perturb_many(values, FastStream(7))
    unique, which = np.unique(payloads, axis=0, return_inverse=True)
    added = np.array([reference.contribution(name, 5, row.tobytes()) for row in unique])[which.ravel()]
    counts, stderr = mechanism.estimate(added.sum(axis=0), n)
    single = (added - mechanism.off_mean) / (mechanism.on_mean - mechanism.off_mean)
    expected = mechanism.variance(held)
    assert np.all(np.abs(counts - n * held) < SIGMAS * np.sqrt(n * expected))
    assert stderr == pytest.approx(np.sqrt(n * expected), rel=0.1)
    kurtosis = ((single - single.mean(axis=0)) ** 4).mean(axis=0) - expected**2
    assert np.all(np.abs(single.var(axis=0) - expected) < SIGMAS * np.sqrt(kurtosis / n))
