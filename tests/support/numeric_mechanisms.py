"""Numeric mechanisms, their values and payloads: what the tests of all of them share."""

from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from encoders.mechanisms import NUMERIC_MECHANISMS, NumericDomain, NumericMechanism, design_numeric
from encoders.mechanisms.numeric_base import GRID
from encoders.randomness import GivenBytes, RandomSource
from tests.support.mechanism_checks import every_payload

NAMES = sorted(NUMERIC_MECHANISMS)
EPSILONS = ("0.1", "0.5", "1", "2", "4", "8")
LABELS = (1, 2, 3, 10)
MISSING = 2 * GRID + 1
SEVERAL = ((False, True), (True, False, False))
every_name = pytest.mark.parametrize("name", NAMES)
every_epsilon = pytest.mark.parametrize("epsilon", EPSILONS)
every_moment = pytest.mark.parametrize("low", [-1, 0], ids=["numbers", "squares"])


@cache
def made(name: str, form: NumericDomain, epsilon: str = "1") -> NumericMechanism:
    return design_numeric(name, form, Decimal(epsilon))


def forms(name: str, low: int, labels: tuple[int, ...] = LABELS) -> list[NumericDomain]:
    """Return what a mechanism may be asked: missing or not, and several numbers where it takes them."""
    missing = [(False,), (True,), *(SEVERAL if NUMERIC_MECHANISMS[name].multivariate else ())]
    return [NumericDomain(k, each, low) for k in labels for each in missing]


def codes_of(absent: bool, low: int, count: int, seed: int) -> list[int]:
    """Return the ends, the middle, what is next to a grid point, a missing number, and any others."""
    least = GRID * (1 + low)
    known = [least, least + 1, GRID, GRID + 1, GRID + (1 << 14), 2 * GRID - 1, 2 * GRID]
    drawn = np.random.default_rng(seed).integers(least, 2 * GRID + 1, size=count).tolist()
    return [*known, *drawn, *([MISSING] if absent else [])]


def values_of(form: NumericDomain, count: int, seed: int) -> list[tuple[int, ...]]:
    """Return values to ask for, one code per number and the class in each."""
    rng, columns = np.random.default_rng(seed), []
    for number, absent in enumerate(form.missing):
        codes = codes_of(absent, form.low, count, seed + number)
        columns.append(rng.permutation(codes).tolist())
    most = max(map(len, columns))
    return [
        tuple(column[i % len(column)] * form.labels + i % form.labels for column in columns)
        for i in range(most * form.labels)
    ]


def perturbed(mechanism: NumericMechanism, values: tuple[int, ...], data: bytes) -> bytes:
    return mechanism.perturb(values if mechanism.multivariate else values[0], GivenBytes(data))


def perturb_all(mechanism: NumericMechanism, values: list[tuple[int, ...]], rng: RandomSource) -> np.ndarray:
    """Return the payloads of a population with these values."""
    given = values if mechanism.multivariate else [each[0] for each in values]
    return mechanism.perturb_many(np.array(given, dtype=np.int64), rng)


def is_laplace(name: str) -> bool:
    return name in ("laplace", "sampled-laplace")


# -- privacy ------------------------------------------------------------------------------------


def enumerated(mechanism: NumericMechanism) -> tuple[list[bytes], list[list[Fraction]]]:
    payloads = list(every_payload(mechanism))
    return payloads, [mechanism.likelihood(payload) for payload in payloads]


# -- the person at the device -------------------------------------------------------------------


def number(share: float, low: int) -> int:
    """Return the value, with the class 1 of 2, of the number so far from the lowest to the highest."""
    least = GRID * (1 + low)
    return 2 * (least + round(share * (2 * GRID - least))) + 1
