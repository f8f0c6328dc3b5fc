"""SUE, OUE and THE: every draw of a bit, its independence of the others, and large domains by structure."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from encoders.errors import ReportError
from encoders.mechanisms import Mechanism, design
from encoders.randomness import FastStream, GivenBytes
from tests.support.reference import sliced

NAMES = ("SUE", "OUE", "THE", "THE(0.25)")
EPSILONS = ("0.1", "0.5", "1", "2", "4", "8")
every_table = pytest.mark.parametrize(("name", "epsilon"), list(itertools.product(NAMES, EPSILONS)))


def made(name: str, domain: int, epsilon: str) -> tuple[Mechanism, int, int, int]:
    mechanism = design(name, domain, Decimal(epsilon))
    bits, p, q = (int(str(mechanism.parameters[key])) for key in ("bits", "p", "q"))
    return mechanism, bits, p, q


def bits_of(payload: bytes, domain: int) -> list[int]:
    vector = int.from_bytes(payload, "little")
    return [vector >> i & 1 for i in range(domain)]


@pytest.mark.slow
@every_table
def test_exactly_p_and_q_of_all_draws_give_a_one(name, epsilon):
    # All 2^k draws (k = 13 ... 22), eight positions at a time, each of them the owner's in one pass.
    mechanism, bits, p, q = made(name, 8, epsilon)
    whole, width = 1 << bits, 8
    draws = np.arange(whole, dtype=np.uint32).reshape(-1, width)
    planes = [np.packbits(draws >> j & 1, axis=1, bitorder="little") for j in range(bits)]
    data = np.concatenate(planes, axis=1).tobytes()
    for owner in range(width):
        payloads = mechanism.perturb_many(np.full(len(draws), owner), GivenBytes(data))
        ones = np.unpackbits(payloads, axis=1, bitorder="little")
        thresholds = np.where(np.arange(width) == owner, p, q)
        assert np.array_equal(ones, draws < thresholds)


@every_table
def test_bit_changes_from_one_to_zero_at_the_thresholds(name, epsilon):
    mechanism, bits, p, q = made(name, 9, epsilon)
    top = (1 << bits) - 1
    neighbours = [1 << j for j in range(bits)] + [top ^ (1 << j) for j in range(bits)]
    borders = sorted({0, 1, q - 1, q, min(q + 1, top), p - 1, p, min(p + 1, top), top, *neighbours})
    for owner, start in itertools.product((0, 4, 8), range(len(borders))):
        draws = [borders[(start + i) % len(borders)] for i in range(9)]
        payload = mechanism.perturb(owner, GivenBytes(sliced(draws, bits)))
        expected = [int(draw < (p if i == owner else q)) for i, draw in enumerate(draws)]
        assert bits_of(payload, 9) == expected


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("domain", [2, 8, 9, 20])
def test_a_bit_depends_on_its_own_draw_and_nothing_else(name, domain):
    mechanism, bits, _, _ = made(name, domain, "1")
    data = FastStream(1).take(mechanism.random_bytes)
    width, before = mechanism.payload_bytes, bits_of(mechanism.perturb(1, GivenBytes(data)), domain)
    for j, position in itertools.product(range(bits), range(8 * width)):
        changed = bytearray(data)
        changed[j * width + position // 8] ^= 1 << position % 8
        after = bits_of(mechanism.perturb(1, GivenBytes(bytes(changed))), domain)
        assert all(after[i] == before[i] for i in range(domain) if i != position)


@pytest.mark.slow
@every_table
@pytest.mark.parametrize("domain", [64, 1024])
def test_on_a_large_domain_four_patterns_decide_the_ratio(name, epsilon, domain):
    # P[y|v]/P[y|w] is a function of the bits at v and w alone: both backgrounds give the same four ratios.
    mechanism, bits, p, q = made(name, domain, epsilon)
    whole, (v, w) = 1 << bits, (5, domain - 1)
    rising, falling = Fraction(p, q), Fraction(whole - p, whole - q)
    expected = {(0, 0): 1, (1, 1): 1, (1, 0): rising / falling, (0, 1): falling / rising}
    for (at_v, at_w), others in itertools.product(expected, (0, (1 << domain) // 3)):
        vector = others & ~(1 << v | 1 << w) | at_v << v | at_w << w
        law = mechanism.likelihood(vector.to_bytes(mechanism.payload_bytes, "little"))
        assert law[v] / law[w] == expected[at_v, at_w]
        assert set(law) == {law[v], law[w]} or at_v == at_w
    assert max(expected.values()) == mechanism.ratio


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("domain", [64, 256])
def test_on_a_large_domain_the_likelihoods_sum_to_one(name, domain):
    # Payloads with equal bit at v and equally many ones elsewhere are equally likely: d classes times two.
    mechanism, bits, _, _ = made(name, domain, "1")
    whole, total = 1 << bits * domain, 0
    for own, ones in itertools.product((0, 1), range(domain)):
        vector = own | ((1 << ones) - 1) << 1
        chance = mechanism.likelihood(vector.to_bytes(mechanism.payload_bytes, "little"))[0]
        total += math.comb(domain - 1, ones) * chance.numerator * (whole // chance.denominator)
    assert total == whole


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("domain", [2, 3, 7, 9, 15, 63, 65, 1023])
def test_a_set_padding_bit_is_refused(name, domain):
    mechanism, *_ = made(name, domain, "1")
    good = mechanism.perturb(0, FastStream(1))
    mechanism.check(b"\xff" * (domain // 8) + bytes([(1 << domain % 8) - 1]))
    for bit in range(domain % 8, 8):
        with pytest.raises(ReportError, match="bad-payload"):
            mechanism.check(good[:-1] + bytes([good[-1] | 1 << bit]))


@pytest.mark.parametrize(("epsilon", "best"), [("0.5", ".56"), ("1", ".62"), ("2", ".71"), ("4", ".82")])
def test_default_threshold_has_the_least_variance(epsilon, best):
    mechanism, *_ = made("THE", 4, epsilon)
    assert abs(Decimal(str(mechanism.parameters["theta"])) - Decimal(best)) <= Decimal("0.01")


def test_exponent_that_the_paper_misprints_is_correct():
    # Yilmaz et al. 2019, section 2.2.1, prints 1 - e^(eps (1-theta)/2)/2: -0.06 at eps = 2, theta = .25,
    # where the truth is .764
    mechanism, *_ = made("THE(0.25)", 4, "2")
    assert mechanism.on_mean == pytest.approx(0.764, abs=5e-4)
