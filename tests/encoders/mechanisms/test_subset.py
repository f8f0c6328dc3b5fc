"""SS at the limits of its draws: all sets if there are few, otherwise the worst ones."""

from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import combinations, pairwise
from math import comb

import numpy as np
import pytest

from encoders.errors import PrivacyError, ReportError, SurveyError
from encoders.mechanisms import SS, design, load
from encoders.mechanisms.subset import MAX_COMBINATIONS, MAX_SUBSET_DOMAIN
from encoders.probability_tables import WORD
from encoders.randomness import GivenBytes
from encoders.table_design import keep_threshold

EPSILONS = ("0.1", "1", "4")
SIZES = [(d, size) for d in range(2, 8) for size in range(1, d)]
LARGE = [
    (d, size)
    for d in (9, 16, 17, 33, 35, 63, 64, 65, 128, 255, 256)
    for size in (1, 2, 4, 8, 17, d - 4, d - 2, d - 1)
    if size < d and max(comb(d - 1, size), comb(d - 1, size - 1)) <= 1 << 32
]


def sized(domain: int, size: int, epsilon: str = "1") -> SS:
    keep = keep_threshold(domain, Decimal(epsilon), size)
    mechanism = load("SS", domain, {"keep": str(keep), "size": str(size)})
    assert isinstance(mechanism, SS)
    return mechanism


def payload(mechanism: SS, values: object) -> bytes:
    chosen = sum(1 << value % mechanism.domain for value in values)
    return chosen.to_bytes(mechanism.payload_bytes, "little")


def words(first: int, second: int) -> bytes:
    return first.to_bytes(8, "little") + second.to_bytes(8, "little")


def perturb(mechanism: SS, value: int, first: int, second: int) -> bytes:
    return mechanism.perturb(value, GivenBytes(words(first, second)))


def borders(cells: int) -> list[int]:
    """Return where multiply-shift passes from one cell to the next: ceil(i 2^64 / cells)."""
    return [-(-i * WORD // cells) for i in range(cells + 1)]


def keep_of(mechanism: SS) -> int:
    return int(mechanism.parameters["keep"])


@pytest.mark.parametrize(("domain", "size"), SIZES)
def test_the_law_of_perturb_is_the_likelihood(domain, size):
    mechanism = sized(domain, size)
    keep = keep_of(mechanism)
    sets = [payload(mechanism, chosen) for chosen in combinations(range(domain), size)]
    for value in range(domain):
        law = dict.fromkeys(sets, Fraction(0))
        for first, last, own in ((0, keep - 1, 1), (keep, WORD - 1, 0)):
            for start, end in pairwise(borders(comb(domain - 1, size - own))):
                draws = [(r, s) for r in (first, last) for s in (start, end - 1)]
                (sent,) = {mechanism.perturb(value, GivenBytes(words(*draw))) for draw in draws}
                assert law[sent] == 0
                assert int.from_bytes(sent, "little") >> value & 1 == own
                law[sent] = Fraction((last + 1 - first) * (end - start), WORD * WORD)
        assert sum(law.values()) == 1
        assert all(law[each] == mechanism.likelihood(each)[value] for each in sets)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_ratio_is_the_worst_over_all_inputs_and_outputs(epsilon):
    for domain, size in [*SIZES, *((d, size) for d in (8, 9, 10) for size in (2, 3, 4, 7))]:
        mechanism = sized(domain, size, epsilon)
        laws = [mechanism.likelihood(payload(mechanism, each)) for each in combinations(range(domain), size)]
        assert max(max(law) / min(law) for law in laws) == mechanism.ratio


@pytest.mark.slow
@pytest.mark.parametrize(("domain", "size"), LARGE)
def test_values_in_a_row_reach_the_ratio_and_no_set_exceeds_it(domain, size):
    mechanism = sized(domain, size)
    for first in range(0, domain, 1 + domain // 65 * 15):
        law = mechanism.likelihood(payload(mechanism, range(first, first + size)))
        assert law[first] / law[(first + size) % domain] == mechanism.ratio
    rng = np.random.default_rng(1)
    for _ in range(20):
        law = mechanism.likelihood(payload(mechanism, rng.permutation(domain)[:size].tolist()))
        assert max(law) / min(law) <= mechanism.ratio


@pytest.mark.parametrize(
    ("domains", "pairs"),
    [
        ((2, 64, 65, 128, 255, 256), 57),
        pytest.param(range(2, MAX_SUBSET_DOMAIN + 1), 3173, marks=pytest.mark.slow),
    ],
)
def test_the_extreme_draws_of_a_device_attain_the_ratio_for_every_size(domains, pairs):
    """The run of `size` values from v on has the most draws for v, and the fewest for the value after it."""
    tried = 0
    for domain, size in ((d, size) for d in domains for size in range(1, d)):
        within, without = comb(domain - 1, size - 1), comb(domain - 1, size)
        if max(within, without) > MAX_COMBINATIONS:
            continue
        mechanism, first = sized(domain, size), 7 * size % domain
        run, after = payload(mechanism, range(first, first + size)), (first + size) % domain
        keep, most, least = keep_of(mechanism), -(-WORD // within), WORD // without
        sent = partial(perturb, mechanism)
        assert sent(first, 0, 0) == sent(first, keep - 1, most - 1) == run
        assert sent(after, keep, WORD - least) == sent(after, WORD - 1, WORD - 1) == run
        assert run not in (sent(first, keep, 0), sent(after, keep - 1, WORD - 1))
        assert within == 1 or sent(first, 0, most) != run
        assert without == 1 or sent(after, keep, WORD - least - 1) != run
        assert mechanism.ratio == Fraction(keep * most, (WORD - keep) * least)
        tried += 1
    assert tried == pairs


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("domain", "size"), [*SIZES, *LARGE])
def test_the_threshold_is_the_largest_that_epsilon_allows(domain, size, epsilon):
    mechanism = sized(domain, size, epsilon)
    mechanism.prove(Decimal(epsilon))
    more = load("SS", domain, {"keep": str(keep_of(mechanism) + 1), "size": str(size)})
    with pytest.raises(PrivacyError):
        more.prove(Decimal(epsilon))


@pytest.mark.slow
@pytest.mark.parametrize(("domain", "size"), LARGE)
def test_a_population_agrees_with_a_device_at_borders_of_cells(domain, size):
    # numpy has no 128-bit product: the borders are where a wrong carry between its halves would show
    mechanism, draws = sized(domain, size), []
    for first, own in ((0, 1), (keep_of(mechanism) - 1, 1), (keep_of(mechanism), 0), (WORD - 1, 0)):
        count = comb(domain - 1, size - own)
        starts = {-(-i * WORD // count) for i in (0, 1, count // 3, count - 1, count)}
        draws += [(first, s - back) for s in starts for back in (0, 1) if 0 <= s - back < WORD]
    values = [(5 * i) % domain for i in range(len(draws))]
    data = b"".join(words(*draw) for draw in draws)
    rng = GivenBytes(data)
    payloads = mechanism.perturb_many(np.array(values), GivenBytes(data))
    assert payloads.tobytes() == b"".join(mechanism.perturb(value, rng) for value in values)
    assert mechanism.are_valid(payloads).all()


def test_a_set_of_one_value_is_direct_encoding():
    for domain in (2, 5, 64, 256):
        mechanism, direct = sized(domain, 1), design("DE", domain, Decimal(1))
        assert mechanism.parameters["keep"] == direct.parameters["keep"]
        assert mechanism.ratio == direct.ratio
        assert mechanism.pair_covariances == direct.pair_covariances


@pytest.mark.parametrize(("domain", "size"), [each for each in SIZES if each[0] > 3])
def test_two_cells_covary_as_the_exact_law_says(domain, size):
    mechanism = sized(domain, size)
    expected = {pair: Fraction(0) for pair in ((0, 1), (1, 2))}
    for chosen in combinations(range(domain), size):
        chance = mechanism.likelihood(payload(mechanism, chosen))[0]
        for pair in expected:
            expected[pair] += chance * ({*pair} <= {*chosen})
    on, off, unit = mechanism.on_mean, mechanism.off_mean, (mechanism.on_mean - mechanism.off_mean) ** 2
    shared, slope = mechanism.pair_covariances
    assert shared == pytest.approx((float(expected[1, 2]) - off * off) / unit, rel=1e-9, abs=1e-12)
    assert shared + slope == pytest.approx((float(expected[0, 1]) - on * off) / unit, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("domain", "size"), [(5, 2), (8, 4), (9, 3), (16, 4)])
def test_sets_of_other_sizes_and_values_beyond_the_last_are_refused(domain, size):
    mechanism, passed = sized(domain, size), 0
    for number in range(1 << 8 * mechanism.payload_bytes):
        sent = number.to_bytes(mechanism.payload_bytes, "little")
        if number < 1 << domain and number.bit_count() == size:
            mechanism.check(sent)
            passed += 1
        elif number < 1 << 10 or number % 97 == 0:
            with pytest.raises(ReportError, match="bad-payload"):
                mechanism.check(sent)
    assert passed == comb(domain, size)


@pytest.mark.parametrize(
    ("domain", "size", "problem"),
    [
        (257, 2, "at most 256 values, not 257"),
        (256, 5, "too many"),
        (256, 128, "too many"),
        (256, 251, "too many"),
        (64, 9, "too many"),
        (64, 55, "too many"),
        (36, 18, "too many"),
        (8, 0, "must be from"),
        (8, 8, "must be from"),
        (8, 7, "not informative"),
    ],
)
def test_tables_that_ask_for_too_much_or_for_nothing_are_refused(domain, size, problem):
    with pytest.raises(SurveyError, match=problem):
        load("SS", domain, {"keep": str(WORD // 2), "size": str(size)})
    if domain > 256:
        with pytest.raises(SurveyError, match=problem):
            design("SS", domain, Decimal(1))
