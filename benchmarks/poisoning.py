"""Measure from which share of fake reports the support tests raise an alarm: docs/results/poisoning.md.

    python -m benchmarks.poisoning

Fake reports of Cao, Jia and Gong's maximal gain attack (2021) among honest ones, with the real mechanisms and
counters. A share is that of fakes among all reports.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from itertools import product

import numpy as np
from numpy.typing import NDArray

from encoders.mechanisms import (
    MECHANISMS,
    NUMERIC_MECHANISMS,
    FrequencyOracle,
    NumericDomain,
    design,
    design_numeric,
)
from encoders.mechanisms.support_counters import SupportCounters
from encoders.randomness import FastStream
from ldp_aggregator.estimation.poisoning.goodness_of_fit import (
    SupportCounts,
    compute_pair_deviations,
    compute_pair_p_value,
    compute_size_p_value,
)

QUESTIONS = 10
LEVEL = 1e-6 / (2 * QUESTIONS)
"""Level of one test of one question in a survey of ten: one false alarm in a million surveys."""
SHARES = (0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5)
REPEATS = 20
CAUGHT = 0.9

TARGETS = {8: 2, 64: 5}

Matrix = NDArray[np.bool_]
Attack = Callable[[SupportCounters, int, int, np.random.Generator], Matrix]


def unpadded(bits: SupportCounters, fakes: int, targets: int, rng: np.random.Generator) -> Matrix:
    """Support the targets and nothing else."""
    return np.tile(np.arange(bits.length) < targets, (fakes, 1))


def padded(bits: SupportCounters, fakes: int, targets: int, rng: np.random.Generator) -> Matrix:
    """Support the targets, and random others up to the expected number of ones of an honest report."""
    expected = round(float(bits.own[0] + (bits.length - 1) * bits.off))
    return _filled(bits, targets, np.full(fakes, expected), rng)


def padded_at_random(bits: SupportCounters, fakes: int, targets: int, rng: np.random.Generator) -> Matrix:
    """Support the targets and random others, with the number of ones drawn as in an honest report."""
    others = rng.binomial(bits.length - 1, float(bits.off), fakes)
    return _filled(bits, targets, others + (rng.random(fakes) < float(bits.own[0])), rng)


def one_target_each(bits: SupportCounters, fakes: int, targets: int, rng: np.random.Generator) -> Matrix:
    """Support one of the targets with certainty, and randomise everything else as a device does."""
    order = rng.random((fakes, bits.length))
    order[np.arange(fakes), rng.integers(0, targets, fakes)] = -1.0
    return order < float(bits.off) if bits.ones is None else _first(order, np.full(fakes, bits.ones))


ATTACKS: dict[str, Attack] = {
    "unpadded": unpadded,
    "padded to the mean": padded,
    "padded at random": padded_at_random,
    "one target each": one_target_each,
}


def _filled(
    bits: SupportCounters, targets: int, sizes: NDArray[np.int64], rng: np.random.Generator
) -> Matrix:
    order = rng.random((len(sizes), bits.length))
    order[:, :targets] -= 1.0  # the targets first, all others in random order
    return _first(order, np.maximum(sizes, targets))


def _first(order: NDArray[np.float64], sizes: NDArray[np.int64]) -> Matrix:
    return order.argsort(axis=1).argsort(axis=1) < sizes[:, None]


def lying(oracle: FrequencyOracle, fakes: int, targets: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the counters of honest devices with false answers, one of the targets (input poisoning)."""
    bits = oracle.support_counters
    assert bits is not None
    payloads = oracle.perturb_many(rng.integers(0, targets, fakes), FastStream(int(rng.integers(1 << 32))))
    return bits.count(payloads)


def made_up(oracle: FrequencyOracle, attack: str, fakes: int, targets: int, seed: int) -> NDArray[np.int64]:
    """Return the counters of fake reports."""
    bits, rng = oracle.support_counters, np.random.default_rng([seed, fakes])
    assert bits is not None
    if attack == "lying":
        return lying(oracle, fakes, targets, rng)
    rows = ATTACKS[attack](bits, fakes, targets, rng)
    return bits.count(np.packbits(rows, axis=1, bitorder="little"))


def alarms(bits: SupportCounters, cells: NDArray[np.int64]) -> tuple[bool, bool]:
    """Return whether the numbers of ones and the pairs raise an alarm."""
    support = SupportCounts.from_cells(bits, cells)
    return compute_size_p_value(support) < LEVEL, compute_pair_p_value(
        support, compute_pair_deviations(support)
    ) < LEVEL


def least_share(oracle: FrequencyOracle, honest: list[NDArray[np.int64]], n: int, attack: str) -> list[str]:
    """Return the smallest share of fakes that each test, and either test, detects in 90% of the repeats."""
    bits, targets = oracle.support_counters, TARGETS[oracle.domain]
    assert bits is not None
    found = ["-"] * 3
    for share in reversed(SHARES):
        fakes = round(n * share / (1 - share))
        seen = [
            alarms(bits, cells + made_up(oracle, attack, fakes, targets, seed))
            for seed, cells in enumerate(honest)
        ]
        caught = np.array([(*each, any(each)) for each in seen]).mean(axis=0) >= CAUGHT
        found = [f"{share:.2%}" if now else before for now, before in zip(caught, found, strict=True)]
        if not caught.any():
            break
    return found


def moved(oracle: FrequencyOracle, n: int, attack: str, share: str) -> str:
    """Return how far fakes of that share, or of the largest share, move a target, in standard errors."""
    part = float(share.rstrip("%")) / 100 if share != "-" else SHARES[-1]
    targets, slope = TARGETS[oracle.domain], oracle.on_mean - oracle.off_mean
    raised = 1 - oracle.off_mean  # by a fake that supports the target with certainty
    raised = {"lying": slope / targets, "one target each": raised / targets}.get(attack, raised)
    stderr = (oracle.variance(1 / oracle.domain) / n) ** 0.5
    return f"{'> ' * (share == '-')}{part * raised / slope / stderr:.0f}"


def honest_counts(oracle: FrequencyOracle, n: int) -> list[NDArray[np.int64]]:
    """Return the counters of honest people, whose answers have probabilities proportional to 1, 1/2, ..."""
    bits = oracle.support_counters
    assert bits is not None
    law = 1 / np.arange(1, oracle.domain + 1)
    found = []
    for seed in range(REPEATS):
        values = np.random.default_rng([seed, 7]).choice(oracle.domain, n, p=law / law.sum())
        found.append(bits.count(oracle.perturb_many(values, FastStream(seed * 1_000_003 + n))))
    return found


def honest_rows(surveys: int = 200) -> None:
    """Print how often p-values of honest reports are small; the tests promise upper bounds."""
    print("| mechanism | honest | sizes, p <= .05 | pairs, p <= .05 | least, sizes | least, pairs |")
    print("|---|---|---|---|---|---|")
    for name, people in product(("OUE", "SUE", "THE", "SS"), (20, 200, 2_000)):
        oracles = [design(name, *each) for each in product((4, 24, 64), map(Decimal, ("0.1", "1", "4", "8")))]
        found = [honest_p_values(each, people, surveys) for each in oracles if each.support_counters]
        rates = [f"{100 * each:.1f}%" for each in np.mean(np.concatenate(found) <= 0.05, axis=0)]
        least = [f"{each:.4f}" for each in np.concatenate(found).min(axis=0)]
        print("| " + " | ".join([name, f"{people:,}", *rates, *least]) + " |", flush=True)


def honest_p_values(oracle: FrequencyOracle, people: int, surveys: int) -> NDArray[np.float64]:
    """Return the p-values of both tests, (surveys, 2); answer v has a probability proportional to 1/v."""
    bits, law, found = oracle.support_counters, 1 / np.arange(1, oracle.domain + 1), []
    assert bits is not None
    rng, devices = np.random.default_rng([oracle.domain, people]), FastStream(people)
    for _ in range(surveys):
        values = rng.choice(oracle.domain, people, p=law / law.sum())
        support = SupportCounts.from_cells(bits, bits.count(oracle.perturb_many(values, devices)))
        pairs = compute_pair_p_value(support, compute_pair_deviations(support))
        found.append((compute_size_p_value(support), pairs))
    return np.array(found)


def influence_rows() -> None:
    """Print the range of a single payload's contribution to an estimate, and the effect of 1% of reports."""
    print("| mechanism | eps | least | most | 1% of 10,000 moves it by |")
    print("|---|---|---|---|---|")
    for name, epsilon in product((*MECHANISMS, *NUMERIC_MECHANISMS), ("0.5", "1", "2")):
        least, most, variance = (
            oracle_reach(name, epsilon) if name in MECHANISMS else number_reach(name, epsilon)
        )
        moved = max(most, -least) / 99 / (variance / 10_000) ** 0.5
        print(f"| {name} | {epsilon} | {least:.2f} | {most:.2f} | {moved:.1f} |")


def oracle_reach(name: str, epsilon: str) -> tuple[float, float, float]:
    """Return the range of one report's contribution to a frequency, and the variance of an honest one."""
    oracle = design(name, 8, Decimal(epsilon))
    slope = oracle.on_mean - oracle.off_mean
    least, most = oracle.contribution_range(np.array([1.0, 0.0]) / slope, np.array([1, 7]))
    shift = oracle.off_mean / slope
    return float(least) - shift, float(most) - shift, oracle.variance(1 / 8)


def number_reach(name: str, epsilon: str) -> tuple[float, float, float]:
    """Return the same as :func:`oracle_reach` for E[x 1(class)], with two classes."""
    mechanism = design_numeric(name, NumericDomain(2), Decimal(epsilon))
    unit = np.eye(mechanism.cells, dtype=np.int64)
    zero = mechanism.moments(np.zeros(mechanism.cells, dtype=np.int64), 1)[0, 0, 0]
    weights = np.array([mechanism.moments(row, 1)[0, 0, 0] - zero for row in unit])
    least, most = mechanism.contribution_range(weights)
    return float(least + zero), float(most + zero), mechanism.reference_variance


def main() -> None:
    """Print the tables."""
    influence_rows()
    print()
    honest_rows()
    print()
    for name, grid, attacks in (
        ("OUE", product(TARGETS, ("0.5", "1", "2")), tuple(ATTACKS)),
        ("SS", ((8, "0.5"), (8, "1"), (64, "2")), ("padded to the mean", "one target each")),
    ):
        print(f"{name}\n\n| d | targets | eps | honest | attack | sizes | pairs | either | moved by |")
        print("|---|---|---|---|---|---|---|---|---|")
        for (domain, epsilon), n in product(grid, (10_000, 100_000)):
            oracle = design(name, domain, Decimal(epsilon))
            honest = honest_counts(oracle, n)
            for attack in (*attacks, "lying"):
                shares = least_share(oracle, honest, n, attack)
                cells = [str(domain), str(TARGETS[domain]), epsilon, f"{n:,}", attack, *shares]
                print("| " + " | ".join([*cells, moved(oracle, n, attack, shares[-1])]) + " |", flush=True)


if __name__ == "__main__":
    main()
