"""The message of a silo: exact privacy by enumeration, the clamp, the checks and the greatest influence.

Tests of the noise use a seeded stream, so that they never fail by chance.
"""

import itertools
import math
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from encoders.errors import PrivacyError, Reason, ReportError, SurveyError
from encoders.mechanisms.counted_table import (
    CLAMP_SCALES,
    FALSE_ALARM,
    MAX_CELL,
    SOFT_UNIT,
    STEPS,
    CountTable,
    bound_sum,
    soft_parts,
)
from encoders.randomness import FastStream, SystemEntropy
from tests.support.silo_laws import clamped_law, worst_log_ratio

SHAPES = ((2, 1), (2, 1))
"""Two features of two values each."""
LABELS = 2
EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(3))


def table(
    epsilon: Fraction, rows: int = 3, rows_per_person: int = 1, factor: Fraction | int = 1
) -> CountTable:
    """Return a mechanism whose scale is `factor` times what epsilon needs."""
    scale = len(SHAPES) * rows_per_person / epsilon * factor
    return CountTable(SHAPES, LABELS, rows, rows_per_person, scale)


# -- privacy -----------------------------------------------------------------------------------


def all_rows() -> list[tuple[int, ...]]:
    """Return what each possible row adds to the cells."""
    rows = []
    for first, second, label in itertools.product(range(2), range(2), range(LABELS)):
        cells = [0] * 8
        cells[first * LABELS + label] += 1
        cells[4 + second * LABELS + label] += 1
        rows.append(tuple(cells))
    return rows


def worst_of_neighbours(mechanism: CountTable, rows_per_person: int = 1) -> float:
    """Return the worst log ratio of neighbours: all rows of one person, added to any other row or to none."""
    worst = 0.0
    for base in [(0,) * 8, *all_rows()]:
        for person in itertools.combinations_with_replacement(all_rows(), rows_per_person):
            more = [sum(cells) for cells in zip(base, *person, strict=True)]
            worst = max(worst, worst_log_ratio(mechanism, base, more))
            worst = max(worst, worst_log_ratio(mechanism, more, base))
    return worst


def test_the_closed_form_of_a_cell_is_a_probability_distribution():
    law = clamped_law(2, Fraction(3, 2), (-40, 45))
    assert math.fsum(map(math.exp, law)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("rows_per_person", [1, 2])
def test_a_message_spends_epsilon_and_at_least_nine_tenths_of_it(epsilon, rows_per_person):
    mechanism = table(epsilon, rows_per_person=rows_per_person)
    spent = worst_of_neighbours(mechanism, rows_per_person)
    assert spent <= float(epsilon) * (1 + 1e-9)
    assert spent >= 0.9 * float(epsilon)


MUTANTS: dict[str, Callable[[Fraction], CountTable]] = {
    "epsilon is not divided by the number of features": lambda epsilon: table(epsilon, 3, 2, Fraction(1, 2)),
    "the rows of one person are ignored": lambda epsilon: CountTable(SHAPES, LABELS, 3, 2, 2 / epsilon),
    "the scale is slightly too small": lambda epsilon: table(epsilon, 3, 2, Fraction(999, 1000)),
}


@pytest.mark.parametrize("mutant", MUTANTS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_enumeration_and_proof_find_noise_that_is_too_small(mutant, epsilon):
    mechanism = MUTANTS[mutant](epsilon)
    assert worst_of_neighbours(mechanism, 2) > float(epsilon)
    with pytest.raises(PrivacyError) as refusal:
        mechanism.prove(Decimal(epsilon.numerator) / epsilon.denominator)
    assert refusal.value.field == "questions.0.scale"


def test_the_proof_is_exact():
    scale = Fraction(2 * 10**30, 10**30)
    CountTable(SHAPES, LABELS, 3, 1, scale).prove(Decimal(1))
    with pytest.raises(PrivacyError):
        CountTable(SHAPES, LABELS, 3, 1, scale - Fraction(1, 10**30)).prove(Decimal(1))


@pytest.mark.parametrize("can_be_missing", [False, True])
def test_a_number_moves_the_cells_of_its_label_by_one_unit_like_a_category(can_be_missing):
    # the scale of a soft cell is that of a count times the unit, so the exact loss of a row is
    # the sum of its parts over the scale
    scale = Fraction(5)
    mechanism = CountTable([(3 + can_be_missing, SOFT_UNIT), (2, 1)], 2, 10, 1, scale)
    soft, plain = mechanism.tables
    for step in range(STEPS + 1 + can_be_missing):
        parts = soft_parts(step, can_be_missing)
        assert sum(Fraction(part) / soft.scale for part in parts) == 1 / scale == 1 / plain.scale


# -- the message -------------------------------------------------------------------------------


def test_a_message_is_the_noisy_cells_as_little_endian_64_bit_integers():
    mechanism = CountTable(SHAPES, LABELS, 1000, 1, Fraction(1, 1000))  # the noise is surely 0
    counts = [1, 2, 3, 4, 4, 3, 2, 1]
    payload = mechanism.perturb(counts, SystemEntropy())
    assert payload == struct.pack("<8q", *counts)
    assert len(payload) == mechanism.payload_bytes == 64
    assert mechanism.contribution(payload) == counts
    assert mechanism.tally(np.frombuffer(payload * 2, np.uint8).reshape(2, -1)).tolist() == [
        2 * count for count in counts
    ]


def test_counts_of_another_length_are_refused():
    with pytest.raises(ValueError, match="8 counts"):
        table(Fraction(1)).perturb([0] * 7, SystemEntropy())


@pytest.mark.slow
def test_noise_has_the_mean_and_the_variance_of_its_scale_in_every_table():
    # 4,000 messages of 14 cells; the kurtosis of the noise is 6
    scale = Fraction(4)
    mechanism = CountTable([(3, SOFT_UNIT), (4, 1)], 2, 10_000, 1, scale)
    counts, rng = [100 * SOFT_UNIT] * 6 + [100] * 8, FastStream(11)
    messages = [mechanism.perturb(counts, rng) for _ in range(4000)]
    drawn = np.array([mechanism.contribution(message) for message in messages], dtype=float)
    for each in mechanism.tables:
        noise = drawn[:, each.start : each.end] - counts[each.start]
        a = math.exp(-1 / float(each.scale))
        variance = 2 * a / (1 - a) ** 2
        assert (np.abs(noise.mean(axis=0)) < 4.5 * math.sqrt(variance / 4000)).all()
        assert (np.abs(noise.var(axis=0) / variance - 1) < 4.5 * math.sqrt(5 / 4000)).all()


def test_a_cell_beyond_the_clamp_is_sent_clamped(monkeypatch):
    mechanism = CountTable(SHAPES, LABELS, 50, 1, Fraction(2))
    reach = CLAMP_SCALES * 2
    for noise, expected in ((-(10**6), -reach), (10**6, 50 + reach)):
        monkeypatch.setattr("encoders.mechanisms.counted_table.draw_laplace", lambda *_, noise=noise: noise)
        assert mechanism.contribution(mechanism.perturb([7] * 8, SystemEntropy())) == [expected] * 8


def test_honest_noise_exceeds_the_clamp_with_a_probability_below_1e_20():
    assert 2 * math.exp(-CLAMP_SCALES) < 1e-20


def test_a_thousand_messages_always_add_up_within_64_bits():
    assert MAX_CELL * 1000 < 1 << 63
    most = CountTable([(3, SOFT_UNIT)], 2, 10**9, 1, Fraction(1))
    assert most.safe_messages >= 8000
    assert most.largest_cell * most.safe_messages < 1 << 63
    with pytest.raises(SurveyError) as refusal:
        CountTable([(3, SOFT_UNIT)], 2, 10**9, 1, Fraction(10**9))
    assert refusal.value.field == "rows"


def test_a_flood_of_false_messages_does_not_wrap_around():
    mechanism = CountTable([(2, SOFT_UNIT)], 2, 10**9, 1, Fraction(10**5))
    count = mechanism.safe_messages + 2
    messages = np.full((count, 4), mechanism.largest_cell, dtype="<i8").view(np.uint8)
    with pytest.raises(ReportError) as refusal:
        mechanism.tally(messages)
    assert refusal.value.reason == Reason.BAD_PAYLOAD
    allowed = mechanism.tally(messages[: mechanism.safe_messages])
    assert allowed.tolist() == [mechanism.largest_cell * mechanism.safe_messages] * 4


# -- the checks of intake ----------------------------------------------------------------------

CHECKED = CountTable([(2, 1), (3, SOFT_UNIT), (5, 1)], 2, 1000, 1, Fraction(3))


def divide(total: int, count: int) -> list[int]:
    """Divide a total into parts that differ by at most one."""
    share, rest = divmod(total, count)
    return [share + (place < rest) for place in range(count)]


def packed(totals: Sequence[float]) -> bytes:
    """Return a message whose tables have these totals, in rows, divided equally among their cells."""
    cells: list[int] = []
    for each, total in zip(CHECKED.tables, totals, strict=True):
        cells += divide(round(total * each.unit), each.end - each.start)
    return struct.pack(f"<{CHECKED.cells}q", *cells)


def error_of(place: int) -> float:
    """Return the largest explained error of a total, in rows."""
    return CHECKED.tables[place].total_error / SOFT_UNIT


REFUSED = {
    "two totals differ": [500, 500, 500 + error_of(0) + error_of(2) + 1],
    "the total of a number differs": [500, 500 + error_of(0) + error_of(1) + 1, 500],
    "all totals exceed the rows": [1001 + error_of(0), 1001 + error_of(1), 1001 + error_of(2)],
    "one total exceeds the rows": [900, 900, 1001 + error_of(2)],
    "all totals are negative": [-1 - error_of(0), -1 - error_of(1), -1 - error_of(2)],
    "one total is negative": [0, -1 - error_of(1), 0],
}
ACCEPTED = {
    "equal totals": [500, 500, 500],
    "no rows": [0, 0, 0],
    "all rows": [1000, 1000, 1000],
    "totals that noise explains": [500 - error_of(0), 500, 500 + error_of(2)],
    "slightly below zero": [-error_of(0), 0, -error_of(2)],
    "slightly above the rows": [1000 + error_of(0), 1000, 1000 + error_of(2)],
}


def validity(payload: bytes) -> bool:
    """Return whether a payload passes, by `are_valid` and by `check`, which agree."""
    valid, also = CHECKED.are_valid(np.frombuffer(payload * 2, np.uint8).reshape(2, -1)).tolist()
    assert valid == also
    if valid:
        CHECKED.check(payload)
        return True
    with pytest.raises(ReportError) as refusal:
        CHECKED.check(payload)
    assert refusal.value.reason == Reason.BAD_PAYLOAD
    assert not any(character.isdigit() for character in refusal.value.why)
    return False


@pytest.mark.parametrize("case", REFUSED)
def test_totals_beyond_what_noise_explains_are_refused(case):
    assert not validity(packed(REFUSED[case]))


@pytest.mark.parametrize("case", ACCEPTED)
def test_totals_that_noise_explains_are_accepted(case):
    assert validity(packed(ACCEPTED[case]))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_cell_that_noise_does_not_explain_is_refused_although_the_totals_agree(place):
    each = CHECKED.tables[place]
    low, high = each.accepted
    for first, rows, accepted in [
        (low, 500, True),
        (low - 1, 500, False),
        (high, 1000, True),
        (high + 1, 1000, False),
    ]:
        cells = [0] * CHECKED.cells  # all rows have the first label
        for other in CHECKED.tables:
            cells[other.start : other.end : LABELS] = divide(rows * other.unit, other.values)
        rest = divide(rows * each.unit - first, each.values - 1)
        cells[each.start : each.end : LABELS] = [first, *rest]
        assert validity(struct.pack(f"<{CHECKED.cells}q", *cells)) is accepted


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("label", [0, 1])
def test_tables_that_contradict_each_other_about_a_label_are_refused(place, label):
    # a table moves rows from one label to the other, and its total stays the same
    each = CHECKED.tables[place]
    others = [other.class_error for other in CHECKED.tables if other is not each]
    for excess, accepted in [(0, True), (1, False)]:
        moved = (each.class_error + min(others)) * each.unit // SOFT_UNIT + excess
        cells = list(struct.unpack(f"<{CHECKED.cells}q", packed([500, 500, 500])))
        for cell, more in enumerate(divide(moved, each.values)):
            cells[each.start + cell * LABELS + label] -= more
            cells[each.start + cell * LABELS + 1 - label] += more
        assert validity(struct.pack(f"<{CHECKED.cells}q", *cells)) is accepted


@pytest.mark.parametrize("rows", [0, 1000])
@pytest.mark.parametrize("label", [0, 1])
def test_the_rows_of_a_label_are_between_none_and_all(rows, label):
    for excess, accepted in [(0, True), (1, False)]:
        cells = [0] * CHECKED.cells
        for each in CHECKED.tables:
            error = (each.class_error + excess) * each.unit // SOFT_UNIT + excess
            total = rows * each.unit + (error if rows else -error)
            for place, (mine, other) in enumerate(
                zip(divide(total, each.values), divide(rows * each.unit - total, each.values), strict=True)
            ):
                cells[each.start + place * LABELS + label] = mine
                cells[each.start + place * LABELS + 1 - label] = other
        assert validity(struct.pack(f"<{CHECKED.cells}q", *cells)) is accepted


def test_what_a_collector_accepts_is_far_within_the_clamp_and_contains_honest_noise():
    cells = CHECKED.cells
    for each in CHECKED.tables:
        reach = -each.accepted[0]
        assert each.accepted == (-reach, 1000 * each.unit + reach)
        assert each.clamp[0] < 2 * each.accepted[0]
        assert 2 * math.exp(-reach / float(each.scale)) * cells <= FALSE_ALARM


def test_extreme_cells_do_not_wrap_around_the_totals():
    for value in ((1 << 63) - 1, -(1 << 63)):
        assert not validity(struct.pack(f"<{CHECKED.cells}q", *[value] * CHECKED.cells))


def test_another_length_is_refused():
    with pytest.raises(ReportError) as refusal:
        CHECKED.check(packed([500, 500, 500])[:-1])
    assert refusal.value.reason == Reason.BAD_PAYLOAD


@pytest.mark.slow
def test_honest_messages_pass():
    # the hardest: fewer rows than noise, and as many rows as the survey allows
    rng = FastStream(12)
    for rows in itertools.product((0, 1, 1000), (0, 1, 1000)):
        if sum(rows) > 1000:
            continue
        cells = [0] * CHECKED.cells
        for each in CHECKED.tables:
            cells[each.start : each.start + LABELS] = [count * each.unit for count in rows]
        for _ in range(1000):
            CHECKED.check(CHECKED.perturb(cells, rng))


@pytest.mark.parametrize("count", [1, 2, 12, 400])
@pytest.mark.parametrize("scale", [0.05, 1.0, 30.0])
def test_the_bound_of_a_sum_holds_exactly_and_is_not_loose(count, scale):
    # the law of the sum by convolution of the exact law of one noise
    width = int(60 * scale) + 1
    a = math.exp(-1 / scale)
    one = (1 - a) / (1 + a) * a ** np.abs(np.arange(-width, width + 1))
    size = 1 << max(10, (2 * width * min(count, 40)).bit_length() + 1)
    law = np.fft.irfft(np.fft.rfft(one, size) ** count, size)
    offset = count * width
    values = (np.arange(size) - offset % size + size // 2) % size - size // 2
    for probability in (1e-3, FALSE_ALARM):
        bound = bound_sum(count, scale, probability)
        exceeded = law[np.abs(values) > bound].sum()
        assert exceeded <= probability + 1e-13
        assert bound <= 2 + 1.6 * max(
            scale * math.log(2 / probability), scale * math.sqrt(2 * 2 * count * math.log(2 / probability))
        )


# -- the influence of a dishonest silo ---------------------------------------------------------


def solve_range(mechanism: CountTable, weights: np.ndarray) -> tuple[float, float]:
    """Return the least and the greatest weighted sum by linear programming; the last variable is the rows."""
    cells = mechanism.cells
    bounds = [each.accepted for each in mechanism.tables for _ in range(each.start, each.end)]
    limits, right = [], []
    for each in mechanism.tables:
        for sign in (1, -1):
            line = np.zeros(cells + 1)
            line[each.start : each.end] = sign / each.unit
            line[-1] = -sign
            limits.append(line)
            right.append(each.total_error / SOFT_UNIT)
    ends = [
        linprog(sign * np.append(weights, 0), limits, right, bounds=[*bounds, (0, mechanism.rows)]).fun * sign
        for sign in (1, -1)
    ]
    return ends[0], ends[1]


@pytest.mark.slow
def test_contribution_range_is_that_of_linear_programming():
    rng = np.random.default_rng(5)
    units = np.concatenate([np.full(each.end - each.start, 1 / each.unit) for each in CHECKED.tables])
    weights = rng.normal(size=(20, CHECKED.cells)) * units
    weights[5:10] = np.abs(weights[5:10])
    weights[10:15] = (rng.random((5, CHECKED.cells)) < 0.2) * units
    weights[15] = 0
    least, most = CHECKED.contribution_range(weights)
    for row, (low, high) in enumerate(zip(least, most, strict=True)):
        expected = solve_range(CHECKED, weights[row])
        assert (low, high) == pytest.approx(expected, rel=1e-6, abs=1e-3)
    one_low, one_high = CHECKED.contribution_range(weights[3])
    assert (float(one_low), float(one_high)) == pytest.approx((least[3], most[3]))
