"""A black-box audit of the messages of silos: a lower bound on epsilon, and mutants that it must find.

Every source is seeded, so no test fails by chance.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from encoders.exact import draw_laplace
from encoders.mechanisms.count_table import CountTable
from encoders.randomness import FastStream, RandomSource
from ldp_audit.blackbox import epsilon_lower_bound

pytestmark = pytest.mark.slow

EPSILON = Fraction(1)
TRIALS = 6000
ALPHA = 1e-6
NOBODY, SOMEBODY = (0,) * 8, (1, 0, 0, 0, 1, 0, 0, 0)
"""Counts of two features and two labels, without rows, and with one row in the first cell of each table."""

Perturb = Callable[[CountTable, Sequence[int], RandomSource], bytes]
Cells = np.ndarray


def mechanism(factor: Fraction | int = 1) -> CountTable:
    return CountTable([(2, 1), (2, 1)], 2, 100, 1, 2 / EPSILON * factor)


def honest(table: CountTable, counts: Sequence[int], rng: RandomSource) -> bytes:
    return table.perturb(counts, rng)


def one_class_without_noise(table: CountTable, counts: Sequence[int], rng: RandomSource) -> bytes:
    noisy = table.contribution(table.perturb(counts, rng))
    return struct.pack("<8q", *(count if cell % 2 == 0 else noisy[cell] for cell, count in enumerate(counts)))


def exact_class_counts(table: CountTable, counts: Sequence[int], rng: RandomSource) -> bytes:
    """Shift the last cell of each class so that its count in each table is exact."""
    noisy = np.array(table.contribution(table.perturb(counts, rng))).reshape(2, 2, 2)
    noisy[:, 1] += np.array(counts).reshape(2, 2, 2).sum(axis=1) - noisy.sum(axis=1)
    return noisy.astype("<i8").tobytes()


def local_sensitivity(table: CountTable, counts: Sequence[int], rng: RandomSource) -> bytes:
    """Scale the noise by the largest count, as paper 003 does; an empty table has none."""
    scale = table.scale * max(counts)
    return struct.pack("<8q", *(count + (draw_laplace(scale, rng) if scale else 0) for count in counts))


def noise_redrawn_on_retry(table: CountTable, counts: Sequence[int], rng: RandomSource) -> bytes:
    return table.perturb(counts, rng) + table.perturb(counts, rng)


def undivided(_table: CountTable, counts: Sequence[int], rng: RandomSource) -> bytes:
    return mechanism(Fraction(1, 2)).perturb(counts, rng)


MUTANTS: dict[str, Perturb] = {
    "one class without noise": one_class_without_noise,
    "exact class counts": exact_class_counts,
    "local sensitivity": local_sensitivity,
    "noise redrawn on retry": noise_redrawn_on_retry,
    "epsilon not divided by the number of features": undivided,
}
EVENTS: list[Callable[[Cells], np.ndarray]] = [
    lambda cells: (cells[:, :, [0, 4]] >= 1).all(axis=(1, 2)),
    lambda cells: (cells[:, :, [0, 4]] <= 0).all(axis=(1, 2)),
    lambda cells: (cells[:, 0, [0, 2]].sum(axis=1) >= 1) & (cells[:, 0, [4, 6]].sum(axis=1) >= 1),
    lambda cells: (cells == 0).all(axis=(1, 2)),
]
"""Events of the cells of all messages of a trial, shape (trials, messages, cells)."""


def lower_bound(perturb: Perturb) -> float:
    """Return what the messages reveal at least; the event is chosen on the first half of the trials."""
    rng = FastStream(21)
    nobody, somebody = (
        np.frombuffer(b"".join(perturb(mechanism(), counts, rng) for _ in range(TRIALS)), "<i8").reshape(
            TRIALS, -1, 8
        )
        for counts in (NOBODY, SOMEBODY)
    )
    half = TRIALS // 2
    bounds = []
    for event in EVENTS:
        for one, other in ((nobody, somebody), (somebody, nobody)):
            chosen, measured = (
                epsilon_lower_bound(int(event(one[part]).sum()), int(event(other[part]).sum()), half, ALPHA)
                for part in (slice(half), slice(half, None))
            )
            bounds.append((chosen, measured))
    return max(bounds)[1]


def test_honest_messages_reveal_at_most_epsilon_and_the_audit_can_see_most_of_it() -> None:
    bound = lower_bound(honest)
    assert 0.5 * float(EPSILON) < bound <= float(EPSILON)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_audit_finds_each_mutant(mutant: str) -> None:
    assert lower_bound(MUTANTS[mutant]) > float(EPSILON)
