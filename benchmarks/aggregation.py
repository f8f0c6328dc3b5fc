"""Benchmark aggregation: from reports in memory to estimated frequencies."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Row, Timer, compare, each, gain
from encoders.mechanisms import FrequencyOracle, design
from encoders.randomness import FastStream

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI
    from pure_ldp.frequency_oracles.direct_encoding import DEServer
    from pure_ldp.frequency_oracles.unary_encoding import UEServer

DOMAIN, EPSILON = 64, 1.0
REPORTS = 1_000_000
PEER_REPORTS = 100_000
"""The peers process a list one report at a time, so a tenth of our reports is timed, per report."""


def rows() -> Iterator[Row]:
    """Yield one row per goal; every library gets the same reports in its own input format."""
    values = np.random.default_rng(1).integers(0, DOMAIN, REPORTS)
    yield direct(values)
    yield unary(values)


def ours(mechanism: FrequencyOracle, payloads: NDArray[np.uint8]) -> Timer:
    return each(lambda: mechanism.estimate(mechanism.tally(payloads), len(payloads)), len(payloads))


def pure_ldp(new_server: Callable[[], DEServer | UEServer], reports: list[object]) -> Timer:
    def work() -> None:
        server = new_server()
        server.aggregate_all(reports)
        server.estimate_all(range(1, DOMAIN + 1))

    return each(work, len(reports))


def direct(values: NDArray[np.int64]) -> Row:
    mechanism = design("DE", DOMAIN, Decimal(1))
    payloads = mechanism.perturb_many(values, FastStream(1))
    reports = payloads[:PEER_REPORTS, 0].tolist()
    peers = {
        "multi-freq-ldpy": each(lambda: GRR_Aggregator_MI(reports, DOMAIN, EPSILON), PEER_REPORTS),
        "pure-ldp": pure_ldp(lambda: DEServer(EPSILON, DOMAIN), reports),
    }
    return compare("DE, aggregation, d=64, per report", ours(mechanism, payloads), peers, gain(60))


def unary(values: NDArray[np.int64]) -> Row:
    mechanism = design("OUE", DOMAIN, Decimal(1))
    payloads = mechanism.perturb_many(values, FastStream(1))
    vectors = np.unpackbits(payloads[:PEER_REPORTS], axis=1, bitorder="little").astype(np.float64)
    reports = [vector.copy() for vector in vectors]  # separate vectors of floats, as UE_Client returns them
    peers = {
        "multi-freq-ldpy": each(lambda: UE_Aggregator_MI(reports, EPSILON), PEER_REPORTS),
        "pure-ldp": pure_ldp(lambda: UEServer(EPSILON, DOMAIN, use_oue=True), reports),
    }
    return compare("OUE, aggregation, d=64, per report", ours(mechanism, payloads), peers, gain(20))
