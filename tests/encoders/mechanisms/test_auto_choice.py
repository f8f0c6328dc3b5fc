"""The probabilities are those of the literature, and "auto" chooses the best."""

import math
from decimal import Decimal
from functools import cache

import pytest

from encoders.mechanisms import MECHANISMS, Mechanism, design

NAMES = sorted(MECHANISMS)
EPSILONS = ("0.1", "0.5", "1", "2", "4", "8")
every_epsilon = pytest.mark.parametrize("epsilon", EPSILONS)


@cache
def made(name: str, domain: int, epsilon: str) -> Mechanism:
    return design(name, domain, Decimal(epsilon))


def closed_form(name: str, d: int, eps: float) -> tuple[float, float]:
    """Return the textbook p and q (Wang et al. 2017)."""
    if name == "DE":
        return math.exp(eps) / (math.exp(eps) + d - 1), 1 / (math.exp(eps) + d - 1)
    if name == "SUE":
        p = math.exp(eps / 2) / (math.exp(eps / 2) + 1)
        return p, 1 - p
    if name == "OUE":
        return 1 / 2, 1 / (math.exp(eps) + 1)
    theta = float(name[4:-1])
    return 1 - math.exp(-eps * (1 - theta) / 2) / 2, math.exp(-eps * theta / 2) / 2


@pytest.mark.parametrize("name", ["DE", "SUE", "OUE", "THE(0.25)", "THE(0)", "THE(1)", "THE(0.671)"])
@every_epsilon
@pytest.mark.parametrize("domain", [2, 3, 64, 1024])
def test_the_tables_are_the_textbook_probabilities(name, epsilon, domain):
    mechanism = made(name, domain, epsilon)
    p, q = closed_form(name, domain, float(epsilon))
    assert (mechanism.on_mean, mechanism.off_mean) == pytest.approx((p, q), abs=1e-4)
    variance = q * (1 - q) / (p - q) ** 2  # of a frequency near zero
    assert mechanism.variance(0.0) == pytest.approx(variance, rel=2e-3)
    at_half = (p + q) / 2 * (1 - (p + q) / 2) / (p - q) ** 2
    assert mechanism.variance(0.5) == pytest.approx(at_half, rel=2e-3)


def rivals_of(domain: int, epsilon: str) -> dict[str, float]:
    """Return the variance of every oracle that can be designed."""
    left_out = {"SHE": float(epsilon) < 0.1, "SS": domain > 256}
    there = [name for name in NAMES if not left_out.get(name)]
    return {name: made(name, domain, epsilon).variance(1 / domain) for name in there}


@pytest.mark.parametrize("epsilon", ["0.05", *EPSILONS, "16"])
def test_auto_is_worse_than_no_simpler_oracle_and_by_a_hundredth_at_most_than_any(epsilon):
    order = {"DE": 0, "SUE": 1, "OUE": 1, "THE": 2, "SHE": 2, "SS": 2}
    for domain in (*range(2, 20), 24, 32, 40, 63, 64, 65, 100, 256, 257, 1024):
        oracle = made("auto", domain, epsilon)
        best = oracle.variance(1 / domain)
        for name, variance in rivals_of(domain, epsilon).items():
            simpler = order[name] < order[oracle.name]
            alike = order[name] == order[oracle.name]
            assert best < 0.99 * variance if simpler else best <= variance * (1 if alike else 1 / 0.99)


@pytest.mark.parametrize(
    ("domain", "epsilon", "simpler"),
    [(4, "1", "DE"), (8, "1.5", "DE"), (12, "2", "DE"), (30, "3", "DE"), (64, "1.5", "OUE")],
)
def test_auto_takes_the_simpler_of_near_equals(domain, epsilon, simpler):
    variances = rivals_of(domain, epsilon)
    assert min(variances.values()) == variances["SS"] >= 0.99 * variances[simpler]
    assert made("auto", domain, epsilon).name == simpler


def variance_of_sets(domain: int, size: int, epsilon: float) -> tuple[float, float, float]:
    """Return the variance of a frequency of 1/d from sets of this size, p and q (Ye and Barg 2018)."""
    e = math.exp(epsilon)
    p = size * e / (size * e + domain - size)
    q = (size - p) / (domain - 1)
    at = q + (p - q) / domain
    return at * (1 - at) / (p - q) ** 2, p, q


@pytest.mark.parametrize("domain", [2, 3, 5, 8, 16, 32])
@every_epsilon
def test_subset_selection_has_the_textbook_probabilities_and_the_best_size(epsilon, domain):
    mechanism = made("SS", domain, epsilon)
    size = int(mechanism.parameters["size"])
    variance, p, q = variance_of_sets(domain, size, float(epsilon))
    assert (mechanism.on_mean, mechanism.off_mean) == pytest.approx((p, q), abs=1e-8)
    assert mechanism.variance(1 / domain) == pytest.approx(variance, rel=1e-6)
    best = min(variance_of_sets(domain, other, float(epsilon))[0] for other in range(1, domain))
    assert variance <= best * (1 + 1e-6)
    assert abs(size - domain / (math.exp(float(epsilon)) + 1)) < 1


@pytest.mark.parametrize("epsilon", ["3.5", "3.75", "4"])
@pytest.mark.parametrize("domain", [65, 91, 128, 134, 226, 256])
def test_auto_is_close_to_the_best_size_of_a_set(epsilon, domain):
    best = min(variance_of_sets(domain, size, float(epsilon))[0] for size in range(1, domain))
    assert best * (1 - 1e-6) <= made("auto", domain, epsilon).variance(1 / domain) <= 1.08 * best


@every_epsilon
def test_auto_is_subset_selection_between_direct_and_unary_encoding(epsilon):
    names = [made("auto", domain, epsilon).name for domain in (*range(2, 36), 200, 20_000)]
    changes = [name for name, before in zip(names, [None, *names[:-1]], strict=True) if name != before]
    assert changes in (["DE", "SS", "OUE"], ["DE", "SS", "SUE"], ["DE", "OUE"], ["DE"])
    assert ("SS" in names) == (float(epsilon) <= 4)
