"""The bound on the privacy of shuffled reports, against exact probabilities of all that a batch can show."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest

from encoders.errors import SurveyError
from encoders.shuffling import MAX_REPORTS, shuffled_delta
from encoders.survey.relay_promise import shuffled_epsilon

Law = Sequence[Fraction]
"""The probabilities of the reports of one row."""

TABLE = {
    (200, 1e-6): (0.353, 1.017, 2.983, 4.000, 5.000),
    (1_000, 1e-6): (0.149, 0.397, 0.823, 1.853, 4.999),
    (10_000, 1e-6): (0.043, 0.114, 0.226, 0.411, 0.742),
    (100_000, 1e-7): (0.015, 0.039, 0.076, 0.135, 0.234),
}
"""Epsilon after shuffling for local epsilons of 1 to 5, computed by another program with big fractions."""


def exact_bound(ratio: Fraction, reports: int, growth: Fraction) -> Fraction:
    """Return D of the module's docstring, with exact numbers and the best event of each sum."""
    a, b = ratio.as_integer_ratio()
    g, h = growth.as_integer_ratio()
    total, share = Fraction(0), 2 / (ratio + 1)
    for c in range(reports):
        weight = math.comb(reports - 1, c) * share**c * (1 - share) ** (reports - 1 - c)
        coins = [0, *(math.comb(c, i) for i in range(c + 1)), 0]
        pairs = itertools.pairwise(coins)
        # (u - growth v) of the docstring, times a common denominator
        best = sum(max(0, h * (a * i + b * j) - g * (b * i + a * j)) for i, j in pairs)
        total += weight * Fraction(best, 2**c * (a + b) * h)
    return total


def exact_delta(first: Law, second: Law, others: Sequence[Law], growth: Fraction) -> Fraction:
    """Return the delta of a person who has one of two rows; a batch shows how often each report occurs."""
    one, other = (batch_law([law, *others]) for law in (first, second))
    return sum((max(Fraction(0), one[seen] - growth * other[seen]) for seen in one), Fraction(0))


def batch_law(laws: Sequence[Law]) -> Mapping[tuple[int, ...], Fraction]:
    found: Counter[tuple[int, ...]] = Counter()
    for reports in itertools.product(*(range(len(law)) for law in laws)):
        chance = math.prod(
            (law[report] for law, report in zip(laws, reports, strict=True)), start=Fraction(1)
        )
        found[tuple(sorted(reports))] += chance
    return found


def largest_ratio(laws: Sequence[Law]) -> Fraction:
    return max(max(column) / min(column) for column in zip(*laws, strict=True))


def random_mechanism(rng: random.Random, rows: int, reports: int) -> list[Law]:
    weights = [[rng.choice([1, 2, 3, 10, rng.randint(1, 60)]) for _ in range(reports)] for _ in range(rows)]
    return [[Fraction(each, sum(row)) for each in row] for row in weights]


def randomised_response(ratio: int, values: int) -> list[Law]:
    whole = ratio + values - 1
    return [[Fraction(ratio if i == j else 1, whole) for j in range(values)] for i in range(values)]


def assert_falls(deltas: Sequence[float]) -> None:
    assert all(later <= earlier * (1 + 2e-6) + 1e-16 for earlier, later in itertools.pairwise(deltas))


@pytest.mark.slow
@pytest.mark.parametrize(("reports", "delta"), TABLE)
def test_the_table_of_epsilons_after_shuffling(reports: int, delta: float):
    found = [shuffled_epsilon(math.exp(local), reports, delta) for local in range(1, 6)]
    assert found == pytest.approx(TABLE[reports, delta], abs=6e-4)


@pytest.mark.parametrize("reports", [1, 2, 3, 7, 20, 60, 120])
@pytest.mark.parametrize("ratio", [Fraction(11, 10), Fraction(3), Fraction(20), Fraction(150)])
def test_floats_never_fall_below_the_exact_bound_and_stay_near_it(ratio: Fraction, reports: int):
    for part in (0.0, 0.1, 0.4, 0.7, 0.99):
        epsilon = part * math.log(ratio)
        exact = exact_bound(ratio, reports, Fraction(math.exp(epsilon)))
        assert exact <= shuffled_delta(float(ratio), reports, epsilon) <= float(exact) * 1.0001 + 3e-14


@pytest.mark.slow
def test_no_mechanism_with_any_others_exceeds_the_bound():
    rng, largest = random.Random(5), 0.0
    for _ in range(250):
        others = rng.choice([1, 1, 2, 3])
        kind = rng.random()
        if kind < 0.3:
            laws = randomised_response(rng.choice([2, 3, 9, 40]), rng.choice([2, 3, 4]))
        else:
            laws = random_mechanism(rng, rng.choice([2, 3, 4]), rng.choice([2, 3, 4]))
        ratio = largest_ratio(laws)
        growth = 1 + (ratio - 1) * Fraction(rng.randint(0, 90), 100)
        bound = shuffled_delta(float(ratio), others + 1, math.log(growth))
        for first, second in itertools.permutations(laws, 2):
            delta = exact_delta(first, second, [rng.choice(laws) for _ in range(others)], growth)
            assert float(delta) <= bound
            largest = max(largest, float(delta) / bound)
    assert largest > 0.9  # the bound is nearly reached, so a smaller one would fail here


def test_the_common_part_of_two_rows_does_not_hide_them_among_others():
    """A tempting form of the bound is false: it takes the others to send what both rows have in common."""
    first, second, other = (
        [Fraction(each, 100) for each in law] for law in ([20, 5, 56, 19], [5, 20, 56, 19], [5, 5, 14, 76])
    )
    delta = exact_delta(first, second, [other], Fraction(3))
    assert float(delta) == pytest.approx(0.0215, abs=5e-5)
    ratio = largest_ratio([first, second, other])
    assert float(delta) <= shuffled_delta(float(ratio), 2, math.log(3))


@pytest.mark.slow
def test_the_bound_falls_with_more_reports_a_larger_epsilon_and_a_smaller_local_one():
    sizes = [1, 2, 3, 5, 10, 50, 200, 1_000, 1_001, 30_000, MAX_REPORTS, MAX_REPORTS + 1]
    for ratio, epsilon in itertools.product((1.5, 12.0, 90.0), (0.0, 0.05, 0.3)):
        deltas = [shuffled_delta(ratio, reports, epsilon) for reports in sizes]
        assert_falls(deltas)
    for reports in (1, 30, 3_000):
        deltas = [shuffled_delta(20.0, reports, step / 50) for step in range(200)]
        assert_falls(deltas)
        deltas = [shuffled_delta(1.1 + step / 5, reports, 0.2) for step in range(200)]
        assert_falls(deltas[::-1])


def test_one_report_alone_is_not_hidden():
    assert shuffled_delta(3.0, 1, math.log(2)) == pytest.approx(3 / 4 - 2 / 4, rel=1e-5)
    assert shuffled_epsilon(3.0, 0, 1e-6) == math.log(3)
    assert shuffled_epsilon(3.0, 1, 1e-6) == pytest.approx(math.log(3), abs=1e-4)


def test_the_local_epsilon_always_holds():
    assert shuffled_delta(3.0, 5, math.log(3) + 1e-9) == 0
    assert all(0 <= shuffled_delta(3.0, 5, math.log(3) - step) < 1e-6 for step in (0, 1e-16, 1e-15, 1e-12))
    assert shuffled_epsilon(math.exp(32), 10**6, 1e-6) <= 32


def test_a_batch_without_reports():
    with pytest.raises(SurveyError, match=r"^reports: must be at least 1"):
        shuffled_delta(3.0, 0, 0.5)
