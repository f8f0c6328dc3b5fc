"""Benchmark randomising: one report on a device, and a simulated population."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Row, Timer, compare, each, gain, price
from encoders.mechanisms import design
from encoders.randomness import FastStream, PooledEntropy, RandomSource, SystemEntropy

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client
    from pure_ldp.frequency_oracles.direct_encoding import DEClient
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

DOMAIN, EPSILON = 64, 1.0
REPORTS = 2_000
POPULATION = 1_000_000
PEER_POPULATION = 100_000
"""The peer has no function for populations, only a loop over users: a tenth of them is timed, per user."""


def rows() -> Iterator[Row]:
    """Yield one row per goal."""
    values = np.random.default_rng(1).integers(0, DOMAIN, POPULATION)
    yield one_direct_report(
        "GRR, one report, d=64, entropy read ahead", PooledEntropy(), values[:REPORTS].tolist()
    )
    yield one_direct_report(
        "GRR, one report, d=64, device's default", SystemEntropy(), values[:REPORTS].tolist()
    )
    yield one_unary_report(values[:REPORTS].tolist())
    yield unary_population(values)


def one_by_one(perturb: Callable[[int], object], values: list[int]) -> Timer:
    """Return a timer that randomises one value after the other, as devices do."""

    def work() -> None:
        for value in values:
            perturb(value)

    return each(work, len(values))


def ours(name: str, entropy: RandomSource) -> Callable[[int], bytes]:
    mechanism = design(name, DOMAIN, Decimal(1))
    return lambda value: mechanism.perturb(value, entropy)


def one_direct_report(what: str, entropy: RandomSource, values: list[int]) -> Row:
    from_one = [value + 1 for value in values]  # pure-ldp counts its values from 1
    peers = {
        "multi-freq-ldpy": one_by_one(lambda value: GRR_Client(value, DOMAIN, EPSILON), values),
        "pure-ldp": one_by_one(DEClient(EPSILON, DOMAIN).privatise, from_one),
    }
    return compare(what, one_by_one(ours("DE", entropy), values), peers, price(1.2))


def one_unary_report(values: list[int]) -> Row:
    from_one = [value + 1 for value in values]
    peers = {"pure-ldp": one_by_one(UEClient(EPSILON, DOMAIN, use_oue=True).privatise, from_one)}
    return compare(
        "OUE, one report, d=64", one_by_one(ours("OUE", SystemEntropy()), values), peers, gain(3.5)
    )


def unary_population(values: NDArray[np.int64]) -> Row:
    oue, some = design("OUE", DOMAIN, Decimal(1)), values[:PEER_POPULATION]
    mine = each(lambda: oue.perturb_many(values, FastStream(1)), POPULATION)
    peer = each(lambda: [UE_Client(value, DOMAIN, EPSILON, True) for value in some], PEER_POPULATION)
    return compare(
        "OUE, 1e6 users, d=64, per user", mine, {"multi-freq-ldpy (1e5 users)": peer}, gain(20), repeats=9
    )
