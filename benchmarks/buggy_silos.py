"""Silos, each with one bug that reveals more than epsilon."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

from encoders.exact_samplers import draw_laplace
from encoders.mechanisms.counted_table import CountedTable, CountTable
from encoders.randomness import FastStream, RandomSource
from encoders.survey.silo_plan import SiloPlan
from ldp_audit.silo_audit import PublicSilo, SiloDevice

Perturb = Callable[[CountTable, Sequence[int], RandomSource], bytes]


@dataclass(frozen=True)
class BuggySilo:
    """A silo with a bug.

    Attributes
    ----------
    name : str
        What is wrong.
    make : callable
        Returns the silo; its argument is the source of noise, by default the operating system's.
    """

    name: str
    make: Callable[..., SiloDevice]


class _OtherNoise(PublicSilo):
    """A silo whose mechanism perturbs counts in another way."""

    def __init__(self, perturb: Perturb, source: RandomSource | None = None) -> None:
        super().__init__(source)
        self._perturb = perturb

    def messages(self, plan: SiloPlan, rows: Path, person: str | None, count: int) -> Iterator[bytes]:
        made = super().messages(plan, rows, person, count)
        for _ in range(count):
            with patch.object(CountTable, "perturb", self._perturb):
                message = next(made)
            yield message

    def attempts(self, plan: SiloPlan, rows: Path, person: str | None) -> list[bytes]:
        with patch.object(CountTable, "perturb", self._perturb):
            return super().attempts(plan, rows, person)


class _ForgetfulSilo(PublicSilo):
    """A silo that forgets its message after a failed attempt."""

    def attempts(self, plan: SiloPlan, rows: Path, person: str | None) -> list[bytes]:
        return [super(_ForgetfulSilo, self).attempts(plan, rows, person)[0] for _ in range(2)]


_perturb = CountTable.perturb


def _add_noise(
    mechanism: CountTable,
    counts: Sequence[int],
    rng: RandomSource,
    scale_of: Callable[[CountedTable, int], Fraction],
) -> bytes:
    """Add noise whose scale depends on the table and the class; a scale of 0 means none."""
    noisy = []
    for table in mechanism.tables:
        for cell in range(table.start, table.end):
            scale = scale_of(table, (cell - table.start) % table.labels)
            noise = draw_laplace(scale, rng) if scale else 0
            noisy.append(min(max(counts[cell] + noise, table.clamp[0]), table.clamp[1]))
    return struct.pack(f"<{len(noisy)}q", *noisy)


def _undivided(mechanism: CountTable, counts: Sequence[int], rng: RandomSource) -> bytes:
    return _add_noise(mechanism, counts, rng, lambda table, _: table.scale / len(mechanism.tables))


def _local_sensitivity(mechanism: CountTable, counts: Sequence[int], rng: RandomSource) -> bytes:
    """Scale the noise of a class by its largest count, as if rows could change nothing else."""

    def scale_of(table: CountedTable, label: int) -> Fraction:
        own = max(counts[table.start + label : table.end : table.labels])
        return table.scale * Fraction(own, table.unit)

    return _add_noise(mechanism, counts, rng, scale_of)


def _bare_class(mechanism: CountTable, counts: Sequence[int], rng: RandomSource) -> bytes:
    return _add_noise(mechanism, counts, rng, lambda table, label: table.scale if label else Fraction(0))


def _bare_numbers(mechanism: CountTable, counts: Sequence[int], rng: RandomSource) -> bytes:
    """Add noise of a count to the cells of a number, which are counts times the unit."""
    return _add_noise(mechanism, counts, rng, lambda table, _: table.scale / table.unit)


def _exact_classes(mechanism: CountTable, counts: Sequence[int], rng: RandomSource) -> bytes:
    """Correct one cell of each class, so that the counts of each table add up to the exact class count."""
    noisy = mechanism.contribution(_perturb(mechanism, counts, rng))
    for table in mechanism.tables:
        for first in range(table.start, table.start + table.labels):
            column = slice(first, table.end, table.labels)
            noisy[first] += sum(counts[column]) - sum(noisy[column])
    return struct.pack(f"<{len(noisy)}q", *noisy)


def _seeded(mechanism: CountTable, counts: Sequence[int], _rng: RandomSource) -> bytes:
    return _perturb(mechanism, counts, FastStream(1))


def _with(name: str, perturb: Perturb) -> BuggySilo:
    return BuggySilo(name, lambda source=None: _OtherNoise(perturb, source))


MUTANTS = (
    _with("epsilon is not divided by the number of features", _undivided),
    _with("the noise of a class follows its own largest count", _local_sensitivity),
    _with("one class has no noise", _bare_class),
    _with("the class counts are exact", _exact_classes),
    BuggySilo("a retry draws new noise", _ForgetfulSilo),
    _with("numbers have the noise of counts", _bare_numbers),
    _with("a seeded generator draws the noise", _seeded),
)
