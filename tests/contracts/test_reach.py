"""The range of what one payload can add to sums of counters: never exceeded, and attained."""

import itertools
from decimal import Decimal

import numpy as np
import pytest

from encoders.mechanisms import (
    MECHANISMS,
    NUMERIC_MECHANISMS,
    Mechanism,
    NumericDomain,
    design,
    design_numeric,
)

ORACLES = [design(name, domain, Decimal(1)) for name in MECHANISMS for domain in (2, 5) if name != "SHE"]
NUMBERS = [
    design_numeric(name, NumericDomain(2, (missing,), low), Decimal(2))
    for name in NUMERIC_MECHANISMS
    for missing in (False, True)
    for low in (-1, 0)
]
LAPLACE = NumericDomain(2, (True, False), -1)


def payloads(mechanism: Mechanism) -> list[bytes]:
    """Return every payload that passes the check; of vectors of numbers, those with every slot at an end."""
    if mechanism.name == "SHE" or "laplace" in mechanism.name:
        numbers, slots = np.arange(-(1 << 15), 1 << 15).astype("<i2"), mechanism.payload_bytes // 2
        inside = numbers[mechanism.are_valid(np.repeat(numbers, slots).view(np.uint8).reshape(-1, 2 * slots))]
        ends = [end.tobytes() for end in (inside[0], inside[-1])]
        return [b"".join(each) for each in itertools.product(ends, repeat=slots)]
    size = mechanism.payload_bytes
    every = np.arange(256**size, dtype="<u4").view(np.uint8).reshape(-1, 4)[:, :size].copy()
    return [payload.tobytes() for payload in every[mechanism.are_valid(every)]]


@pytest.mark.parametrize(
    "mechanism",
    [*ORACLES, design("SHE", 3, Decimal(1)), *NUMBERS, design_numeric("laplace", LAPLACE, Decimal(1))],
    ids=repr,
)
def test_contribution_range_is_the_least_and_the_most_of_all_payloads(mechanism):
    weights = np.random.default_rng(3).normal(size=(6, mechanism.cells))
    weights[0] = 0
    weights[0, 0] = 1
    added = np.array([mechanism.contribution(each) for each in payloads(mechanism)]) @ weights.T
    least, most = mechanism.contribution_range(weights)
    assert np.allclose(least, added.min(axis=0))
    assert np.allclose(most, added.max(axis=0))


@pytest.mark.parametrize("name", MECHANISMS)
def test_one_weight_can_represent_several_counters(name):
    oracle = design(name, 7, Decimal(1))
    weights, times = np.array([[0.5, -2.0, 9.0], [-1.0, 3.0, 9.0]]), np.array([3, 4, 0])
    few, all_of_them = (
        oracle.contribution_range(weights, times),
        oracle.contribution_range(np.repeat(weights, times, axis=1)),
    )
    assert np.allclose(few, all_of_them)
