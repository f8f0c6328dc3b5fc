"""Support counters: exact numbers of ones, and exact products of groups."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from encoders.mechanisms import NUMERIC_MECHANISMS, NumericDomain, design, design_numeric
from encoders.mechanisms.support_counters import SupportCounters
from encoders.randomness import FastStream


def by_hand(bits: SupportCounters, rows: np.ndarray) -> np.ndarray:
    sizes = [min(max(int(row.sum()), bits.sizes[0]), bits.sizes[-1]) for row in rows]
    groups = np.arange(bits.length) % bits.groups
    ones = np.stack([rows[:, groups == group].sum(axis=1) for group in range(bits.groups)], axis=1)
    pairs = [int(ones[:, g] @ ones[:, h]) for g in range(bits.groups) for h in range(g, bits.groups)]
    return np.array([*(sizes.count(size) for size in bits.sizes), *ones.sum(axis=0), *pairs])


@pytest.mark.parametrize("length", [2, 3, 8, 63, 64, 65, 200, 4097])
def test_the_counters_are_those_counted_by_hand(length):
    bits = SupportCounters(length, Fraction(1, 4), (Fraction(1, 2), Fraction(1, 2)))
    rows = np.random.default_rng(length).random((30, length)) < 0.3
    rows[0], rows[1] = False, True
    counted = bits.count(np.packbits(rows, axis=1, bitorder="little"))
    assert counted.shape == (bits.cells,)
    assert (counted == by_hand(bits, rows.astype(np.int64))).all()


def test_counts_of_two_bodies_add_up_across_blocks():
    oracle = design("OUE", 9, Decimal(1))
    payloads = oracle.perturb_many(np.arange(20_000) % 9, FastStream(1))
    bits = oracle.support_counters
    assert bits is not None
    parts = bits.count(payloads[:123]) + bits.count(payloads[123:])
    assert (bits.count(payloads) == parts).all()
    assert not bits.count(payloads[:0]).any()
    assert (parts[len(bits.sizes) :][:9] == oracle.tally(payloads)).all()


@pytest.mark.parametrize("length", [1 << 16])
def test_products_of_large_groups_are_exact(length):
    bits = SupportCounters(length, Fraction(1, 4), (Fraction(1, 2), Fraction(1, 2)))
    counted = bits.count(np.full((33, length // 8), 255, dtype=np.uint8))
    assert set(counted[-bits.groups * (bits.groups + 1) // 2 :]) == {33 * (length // bits.groups) ** 2}
    assert len(bits.sizes) < 3000


def test_only_payloads_of_bits_have_support_counters():
    assert design("DE", 4, Decimal(1)).support_counters is None
    assert design("SHE", 4, Decimal(1)).support_counters is None
    assert all(
        (design(name, 4, Decimal(1)).support_counters or SupportCounters).length == 4
        for name in ("SUE", "OUE", "THE")
    )
    sets = {d: design("SS", d, Decimal(1)).support_counters for d in (4, 8)}  # of one value, of two
    assert sets[4] is None
    assert (sets[8] or SupportCounters).ones == 2
    found = {
        name: design_numeric(name, NumericDomain(9), Decimal(1)).support_counters
        for name in NUMERIC_MECHANISMS
    }
    assert {name for name, bits in found.items() if bits} == {"sign", "sign-vector"}
