"""DE at the limits of its draws: the output is monotone in both draws, so the limits suffice."""

from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
import pytest

from encoders.errors import ReportError
from encoders.mechanisms import DE, design
from encoders.probability_tables import WORD
from encoders.randomness import GivenBytes

EPSILONS = ("0.1", "1", "8")


def made(domain: int, epsilon: str) -> DE:
    mechanism = design("DE", domain, Decimal(epsilon))
    assert isinstance(mechanism, DE)
    return mechanism


def words(first: int, second: int) -> bytes:
    return first.to_bytes(8, "little") + second.to_bytes(8, "little")


def cell_borders(cells: int) -> list[int]:
    """Return where multiply-shift passes from one cell to the next: ceil(i 2^64 / cells)."""
    return [-(-i * WORD // cells) for i in range(cells + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("domain", [2, 3, 4, 7, 8, 64, 256, 257, 1024])
def test_the_law_of_perturb_is_the_likelihood(domain, epsilon):
    # Kept below T, not from T on. The other value is constant between borders: s (d-1) >> 64 never falls.
    mechanism = made(domain, epsilon)
    keep, borders = int(mechanism.parameters["keep"]), cell_borders(domain - 1)
    for value in {0, 1, domain // 2, domain - 1}:
        for first, second in ((0, 0), (keep - 1, 0), (keep - 1, WORD - 1)):
            assert reported(mechanism, value, first, second) == value
        law = {value: Fraction(keep, WORD)}
        for start, end in pairwise(borders):
            draws = ((keep, start), (keep, end - 1), (WORD - 1, start), (WORD - 1, end - 1))
            (other,) = {reported(mechanism, value, *draw) for draw in draws}
            assert other not in law
            law[other] = Fraction((WORD - keep) * (end - start), WORD * WORD)
        assert sum(law.values()) == 1
        spelled = [index.to_bytes(mechanism.payload_bytes, "little") for index in range(domain)]
        assert all(law[index] == mechanism.likelihood(spelled[index])[value] for index in range(domain))


def reported(mechanism: DE, value: int, first: int, second: int) -> int:
    return int.from_bytes(mechanism.perturb(value, GivenBytes(words(first, second))), "little")


@pytest.mark.parametrize("domain", [2, 3, 4, 7, 64, 257, 1024, 1 << 16])
def test_a_population_agrees_with_a_device_at_every_border(domain):
    # numpy has no 128-bit product: the borders are where a wrong carry between its halves would show
    mechanism, step = made(domain, "1"), max(1, domain // 500)
    keep = int(mechanism.parameters["keep"])
    seconds = {border - back for border in cell_borders(domain - 1)[::step] for back in (0, 1)}
    draws = [(keep, s) for s in seconds if 0 <= s < WORD] + [(keep - 1, 5), (0, 5), (WORD - 1, WORD - 1)]
    values = [(7 * i) % domain for i in range(len(draws))]
    data = b"".join(words(*draw) for draw in draws)
    payloads = mechanism.perturb_many(np.array(values), GivenBytes(data))
    rng = GivenBytes(data)
    assert payloads.tobytes() == b"".join(mechanism.perturb(value, rng) for value in values)


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2", "4", "8"])
@pytest.mark.parametrize("domain", [64, 1024])
def test_on_a_large_domain_every_input_and_output_is_enumerated(domain, epsilon):
    # An output's likelihoods are one number for all smaller inputs, one for itself, one for all larger.
    mechanism = made(domain, epsilon)
    own, if_smaller, if_larger = [], [], []
    for index in range(domain):
        law = mechanism.likelihood(index.to_bytes(mechanism.payload_bytes, "little"))
        smaller, larger = law[:index], law[index + 1 :]
        assert smaller == smaller[:1] * index
        assert larger == larger[:1] * (domain - 1 - index)
        own.append(law[index])
        if_smaller.append(smaller[0] if smaller else Fraction(0))
        if_larger.append(larger[0] if larger else Fraction(0))
    worst = max(own[i] / part[i] for part in (if_smaller, if_larger) for i in range(domain) if part[i])
    assert worst == mechanism.ratio
    before = list(accumulate(if_larger, initial=Fraction(0)))  # before[v]: of all outputs below v
    after = list(accumulate(reversed(if_smaller), initial=Fraction(0)))[::-1]  # after[v]: of v and above
    assert all(before[v] + own[v] + after[v + 1] == 1 for v in range(domain))


@pytest.mark.parametrize("domain", [2, 200, 255, 256, 257, 1000])
def test_an_index_outside_the_domain_is_refused(domain):
    mechanism = made(domain, "1")
    for index in range(1 << 8 * mechanism.payload_bytes):
        payload = index.to_bytes(mechanism.payload_bytes, "little")
        if index < domain:
            mechanism.check(payload)
        elif index < domain + 300 or index % 97 == 0:
            with pytest.raises(ReportError, match="bad-payload"):
                mechanism.check(payload)
