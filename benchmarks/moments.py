"""Measure the errors of class means by mechanism: ``python -m benchmarks.moments [--repeats 100]``.

The data are known Gaussians: two classes (.6 and .4), n numbers of standard deviation .2 around class means
within .3 of zero, and 100,000 users with one report each, through the whole protocol. Mean-squared errors are
averaged over repeats, features and classes. Those of a mechanism's own estimates are compared with their
closed form, those of class means and mean squares with the best of Yilmaz et al.'s three approaches.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

import numpy as np
from numpy.typing import NDArray

from encoders.mechanisms import NUMERIC_MECHANISMS
from encoders.randomness import FastStream
from encoders.survey import Label, NumericFeature, Plan, Survey
from ldp_aggregator.estimation.numeric.moments import mechanism_of
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.rows.encode_table import encode_table
from ldp_aggregator.simulated_population import simulate_reports

USERS, PRIOR, SPREAD, REACH = 100_000, (0.6, 0.4), 0.2, 0.3
NUMBERS = (4, 16)
EPSILONS = ("0.1", "0.5", "1", "2", "5")
PAPER = ("laplace", "onebit", "sampled-laplace")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """One mechanism at one epsilon with n numbers."""

    numbers: int
    epsilon: str
    numeric: str
    repeats: int


def plan_of(cell: Cell) -> Plan:
    features = tuple(NumericFeature(f"x{place}", "-1", "1") for place in range(cell.numbers))
    weights = (None, *(1 for _ in features))
    label = Label("class", ("a", "b"))
    return Survey(
        id="moments",
        epsilon=Decimal(cell.epsilon),
        label=label,
        features=features,
        weights=weights,
        numeric=cell.numeric,
    ).compile()


def errors(cell: Cell) -> Floats:
    """Return the result of :func:`compare` for each repeat."""
    plan, seen = plan_of(cell), []
    means = np.linspace(-REACH, REACH, 2 * cell.numbers).reshape(2, -1)  # (classes, numbers)
    for repeat in range(cell.repeats):
        people = np.random.default_rng([repeat, cell.numbers])
        labels = people.choice(2, USERS, p=PRIOR)
        x = np.clip(means[labels] + SPREAD * people.standard_normal((USERS, cell.numbers)), -1, 1)
        codes = encode_table(plan, {f"x{place}": column for place, column in enumerate(x.T)})
        rng = FastStream(np.random.SeedSequence([repeat, cell.numbers, int(Decimal(cell.epsilon) * 10)]))
        seen.append(compare(compute_raw_estimates(simulate_reports(plan, codes, labels, rng)).numbers, means))
    return np.array(seen)


def compare(numbers: Sequence[ClassMoments], means: Floats) -> Floats:
    """Return (2, 3), of mean and square: error of E[x 1(class)], closed form, error of the class moment.

    Errors are squared, and averaged over classes and numbers.
    """
    prior, found = np.array(PRIOR), np.zeros((2, 3))
    for number, mu in zip(numbers, means.T, strict=True):
        second = mu**2 + SPREAD**2
        fourth = mu**4 + 6 * mu**2 * SPREAD**2 + 3 * SPREAD**4
        assert number.second is not None
        quantities = number.mean, number.second.over(number.present)
        truths = (mu, second), (second, fourth)
        for place in range(2):
            question, quantity = number.questions[place], quantities[place]
            first, its_square = truths[place]
            assert quantity is not None
            mechanism = mechanism_of(question.question)
            closed = mechanism.slot_variance(prior, prior * first, prior * its_square) / question.n
            found[place] += (
                ((question.raw[0] - prior * first) ** 2).mean(),
                closed.mean(),
                ((quantity.value - first) ** 2).mean(),
            )
    return found / len(numbers)


def main() -> None:
    parser = argparse.ArgumentParser(description="Mean-squared error of class means, by mechanism.")
    parser.add_argument("--repeats", type=int, default=100)
    repeats = parser.parse_args().repeats
    names = (*NUMERIC_MECHANISMS, "auto")
    grid = list(product(NUMBERS, EPSILONS))
    cells = [Cell(n, epsilon, name, repeats * 16 // n) for (n, epsilon), name in product(grid, names)]
    with ProcessPoolExecutor() as pool:
        results = dict(zip(cells, pool.map(errors, cells), strict=True))
    print(HEAD)
    for n, epsilon in grid:
        here = {
            cell.numeric: found
            for cell, found in results.items()
            if (cell.numbers, cell.epsilon) == (n, epsilon)
        }
        best = np.min([here[name][:, :, 2].mean(axis=0) for name in PAPER], axis=0)
        for name, found in here.items():
            print(f"| {n} | {epsilon} | {name} | {row(found, best)} |")


HEAD = """\
n numbers, epsilon, mechanism. MSE / closed form: of E[x 1(class)] and E[x^2 1(class)], with its standard
error. MSE: of a class's mean and mean square. / best: the same over the smallest of the paper's three.

| n | eps | mechanism | MSE / closed form, means | squares | MSE, means | / best | MSE, squares | / best |
|---|---|---|---|---|---|---|---|---|"""


def row(found: Floats, best: Floats) -> str:
    """Return the results of one mechanism; `found` has shape (repeats, 2, 3)."""
    parts = []
    for place in range(2):
        squared, closed = found[:, place, 0], found[:, place, 1].mean()
        error = squared.std(ddof=1) / len(squared) ** 0.5 / closed
        parts.append(f"{squared.mean() / closed:.3f} ± {error:.3f}")
    for place in range(2):
        error = found[:, place, 2].mean()
        parts.append(f"{error:.3g} | {error / best[place]:.2f}")
    return " | ".join(parts)


if __name__ == "__main__":
    main()
