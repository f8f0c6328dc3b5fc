"""Every mechanism for numbers: unbiased moments with the stated covariance."""

import itertools
import math
from decimal import Decimal

import numpy as np
import pytest

from encoders.mechanisms import NumericDomain, NumericMechanism
from encoders.mechanisms.direct import DE
from encoders.mechanisms.numeric_base import GRID
from encoders.mechanisms.sign import Sign
from encoders.mechanisms.unary import OUE, SUE
from encoders.probability_tables import WORD
from encoders.randomness import FastStream
from tests.support import reference
from tests.support.numeric_mechanisms import MISSING, NAMES, every_moment, every_name, made

SIGMAS = 5.5
"""Two-sided false alarms of one z-test: 4e-8. The seeds are fixed, so a pass stays a pass."""
ROUNDING = 1e-12
"""Rounding of doubles. With a single class, the share of the class has no noise, only rounding."""


ORACLES = {"DE": DE, "SUE": SUE, "OUE": OUE}


def estimates(mechanism: NumericMechanism, payloads: np.ndarray) -> np.ndarray:
    """Return what each report on its own estimates, shape (m, numbers, 3, k)."""
    unique, which = np.unique(payloads, axis=0, return_inverse=True)
    form = mechanism.domain
    added = np.array(
        [
            reference.contribution_of_numbers(
                mechanism.name, mechanism.parameters, form.labels, form.missing, row.tobytes()
            )
            for row in unique
        ]
    )
    # moments are affine in the totals: their value at zero, and how each counter moves them
    start = mechanism.moments(np.zeros(mechanism.cells, dtype=np.int64), 1)
    moves = np.array([mechanism.moments(row, 1) - start for row in np.eye(mechanism.cells, dtype=np.int64)])
    return start + np.tensordot(added, moves, axes=1)[which.ravel()]


def population(form: NumericDomain, m: int, seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Draw values of classes of unequal size and spread; return the true moments of each number.

    The truth: P(present, class), E[x 1(class)], E[x^2 1(class)] and P(missing, class).
    """
    rng, k = np.random.default_rng(seed), form.labels
    chance = np.arange(1, k + 1) / (k * (k + 1) / 2)
    label = rng.choice(k, size=m, p=chance)
    columns, truths = [], []
    for number, absent in enumerate(form.missing):
        start = GRID * (1 + form.low) + (np.arange(k) + number) % 3 * (GRID // 4)
        end = 2 * GRID - np.arange(k) % 2 * (GRID // 4)
        gone = (np.arange(k) + 1) / (4 * k) * absent
        x = [(np.arange(a, b + 1, dtype=np.float64) - GRID) / GRID for a, b in zip(start, end, strict=True)]
        first, second = (np.array([(each**power).mean() for each in x]) for power in (1, 2))
        share = chance * (1 - gone)
        truths.append(np.array([share, share * first, share * second, chance * gone]))
        codes = rng.integers(start[label], end[label] + 1)
        columns.append(np.where(rng.random(m) < gone[label], MISSING, codes) * k + label)
    return np.stack(columns, axis=1), truths


CASES = [
    *(
        (name, NumericDomain(3, (True,), low), epsilon)
        for name in NAMES
        for low, epsilon in ((-1, "1"), (0, "4"))
    ),
    *(
        (name, NumericDomain(2, (False,), low), epsilon)
        for name in NAMES
        for low, epsilon in ((-1, "4"), (0, "1"))
    ),
    *((name, NumericDomain(1, (True,), low), "2") for name in NAMES for low in (-1, 0)),
    *((name, NumericDomain(1, (False,), low), "2") for name in NAMES for low in (-1, 0)),
    ("laplace", NumericDomain(2, (False, True, False)), "4"),
    ("piecewise", NumericDomain(2, (True,)), "8"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "form", "epsilon"), CASES)
def test_moments_are_unbiased_with_the_stated_covariance(name, form, epsilon):
    """12,000 people, each an estimate: a z-test for every mean, variance and covariance of the three."""
    mechanism, m = made(name, form, epsilon), 12_000
    values, truths = population(form, m, 17)
    payloads = mechanism.perturb_many(values if mechanism.multivariate else values[:, 0], FastStream(23))
    each = estimates(mechanism, payloads)
    assert mechanism.moments(mechanism.tally(payloads), m) == pytest.approx(each.mean(axis=0), nan_ok=True)
    for number, (share, first, second, missing) in enumerate(truths):
        found, expected = each[:, number], np.array([first, missing, share + missing])
        stated = mechanism.covariance(share, first, second, missing)
        assert stated.shape == (3, 3, form.labels)
        estimated = 3 if mechanism.estimates_prior else 2
        assert np.isnan(found[:, estimated:]).all()
        assert np.isnan(stated[estimated:]).all()
        assert np.isnan(stated[:, estimated:]).all()
        known = form.missing[number]
        for a in range(estimated):
            sigma = np.sqrt(stated[a, a] / m)
            if a == 1 and not known:
                assert not found[:, 1].any()
                continue
            assert np.all(np.abs(found[:, a].mean(axis=0) - expected[a]) <= SIGMAS * sigma + ROUNDING)
        centred = found[:, :estimated] - found[:, :estimated].mean(axis=0)
        for a, b in itertools.product(range(estimated), repeat=2):
            if not known and 1 in (a, b):
                continue
            products = centred[:, a] * centred[:, b]
            sigma = products.std(axis=0) / math.sqrt(m)
            assert np.all(np.abs(products.mean(axis=0) - stated[a, b]) <= SIGMAS * sigma + ROUNDING), (a, b)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "form", "epsilon"), CASES)
def test_estimates_of_different_classes_have_the_stated_covariance(name, form, epsilon):
    """12,000 people, each an estimate: a z-test for every pair of moments of two classes."""
    mechanism, m = made(name, form, epsilon), 12_000
    values, truths = population(form, m, 29)
    payloads = mechanism.perturb_many(values if mechanism.multivariate else values[:, 0], FastStream(31))
    each = estimates(mechanism, payloads)
    estimated = 3 if mechanism.estimates_prior else 2
    for number, (share, first, _, missing) in enumerate(truths):
        centred = each[:, number, :estimated] - each[:, number, :estimated].mean(axis=0)
        factor = np.array([first, missing, share + missing]) + mechanism.class_offsets[:, None]
        for a, b in itertools.product(range(estimated), repeat=2):
            if not form.missing[number] and 1 in (a, b):
                continue
            for c, d in itertools.permutations(range(form.labels), 2):
                products = centred[:, a, c] * centred[:, b, d]
                off = products.mean() + factor[a, c] * factor[b, d]
                assert abs(off) < SIGMAS * products.std() / math.sqrt(m), (a, b, c, d)


@every_moment
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("oracle", ["DE", "SUE", "OUE"])
def test_class_offsets_of_sign_agree_with_its_oracle_exactly(oracle, missing, low):
    form, k = NumericDomain(3, (missing,), low), 3
    answers = (2 + missing) * k
    parameters = ORACLES[oracle].design(answers, Decimal("1.5")).parameters
    mechanism = Sign(form, {"oracle": oracle, **parameters})
    cells = np.random.default_rng(3).dirichlet(np.ones(answers)).reshape(2 + missing, k)
    # -, + and missing in E[x 1(class)], P(missing, class) and P(class)
    mix = np.array([[low, 1, 0], [0, 0, 1], [1, 1, 1]])[:, : 2 + missing]
    between = mechanism.oracle.covariance(cells[:, None, :, None], cells[None, :, None, :])
    exact = np.einsum("ai,ijcd,bj->acbd", mix, between, mix)
    factor = mix @ cells + mechanism.class_offsets[:, None]
    stated = -np.einsum("ac,bd->acbd", factor, factor)
    for c, d in itertools.permutations(range(k), 2):
        np.testing.assert_allclose(stated[:, c, :, d], exact[:, c, :, d], rtol=1e-9, atol=1e-12)


@every_moment
@pytest.mark.parametrize("missing", [False, True])
def test_class_offsets_of_piecewise_make_the_shares_add_up_without_noise(missing, low):
    # Every report is on exactly one line, so the estimates of P(class) add up to a constant.
    mechanism = made("piecewise", NumericDomain(3, (missing,), low), "2")
    _, (truth,) = population(mechanism.domain, 1, 1)
    share, _, _, gone = truth
    variance = mechanism.covariance(*truth)[2, 2].sum()
    factor = share + gone + mechanism.class_offsets[2]
    assert variance == pytest.approx(factor.sum() ** 2 - (factor**2).sum(), rel=1e-9)


@pytest.mark.slow
@every_name
@every_moment
def test_the_variance_of_a_slot_is_the_first_of_the_covariances(name, low):
    for form in (NumericDomain(3, (True,), low), NumericDomain(2, (False,), low)):
        mechanism = made(name, form, "2")
        _, (truth,) = population(form, 1, 1)
        share, first, second, _ = truth
        stated = mechanism.covariance(*truth)
        assert mechanism.slot_variance(share, first, second) == pytest.approx(stated[0, 0], rel=1e-12)
        assert stated[[1, 2, 2], [0, 0, 1]] == pytest.approx(stated[[0, 0, 1], [1, 2, 2]], nan_ok=True)
        one = mechanism.slot_variance(float(share[0]), float(first[0]), float(second[0]))
        assert one == pytest.approx(stated[0, 0, 0], rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1", "8", "12", "16"])
def test_clamping_biases_the_mean_of_a_slot_by_little(epsilon):
    # Only the ends are debiased exactly. What the middle is off by grows as the noise's tail is cut off.
    mechanism = made("sampled-laplace", NumericDomain(2), epsilon)
    steps = int(mechanism.parameters["steps"])
    laws = reference.slot_laws(mechanism.parameters, -steps)
    means = {x: sum(y * int(chance * WORD) for y, chance in law.items()) for x, law in laws.items()}
    off = max(abs(mean / means[steps] - x / steps) for x, mean in means.items())
    assert off < {"1": 1e-8, "8": 1e-7, "12": 1e-5, "16": 2e-4}[epsilon]
