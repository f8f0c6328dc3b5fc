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
from encoders.survey.features import NO_LABEL
from ldp_aggregator.estimation.number_result import NumberStatistics
from ldp_aggregator.estimation.numeric.moments import Population
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
        third, fourth = mu**3 + 3 * mu * SPREAD**2, mu**4 + 6 * mu**2 * SPREAD**2 + 3 * SPREAD**4
        people = Population(prior, 0 * prior, *(prior * each for each in (mu, second, third, fourth)))
        assert number.second is not None
        quantities = number.mean, number.second.over(number.present)
        for place, (quantity, truth) in enumerate(zip(quantities, (mu, second), strict=True)):
            assert quantity is not None
            question = next(each for each in number.questions if place + 1 in each.powers)
            row = question.powers.index(place + 1)
            found[place] += (
                ((question.raw[row] - prior * truth) ** 2).mean(),
                question.at_population(people).covariance[row, row].mean(),
                ((quantity.value - truth) ** 2).mean(),
            )
    return found / len(numbers)


def half_width(numeric: str, users: int = 5000) -> float:
    """Return half the width of the interval of a mean at epsilon 2, without a label.

    The numbers are normal, with a standard deviation of a sixth of their range.
    """
    feature = NumericFeature("x", "-1", "1")
    survey = Survey(
        id="width",
        epsilon=Decimal(2),
        label=NO_LABEL,
        features=(feature,),
        weights=(0, 1),
        numeric=numeric,
    )
    plan = survey.compile()
    x = np.clip(np.random.default_rng(1).standard_normal(users) / 3, -1, 1)
    codes, labels = encode_table(plan, {"x": x}), np.zeros(users, dtype=np.int64)
    [number] = compute_raw_estimates(simulate_reports(plan, codes, labels, FastStream(1))).numbers
    means = NumberStatistics.from_moments(feature, number).means
    return float(means.high[0] - means.low[0]) / 2


def main() -> None:
    parser = argparse.ArgumentParser(description="Mean-squared error of class means, by mechanism.")
    parser.add_argument("--repeats", type=int, default=100)
    repeats = parser.parse_args().repeats
    names = (*NUMERIC_MECHANISMS, "auto")
    grid = list(product(NUMBERS, EPSILONS))
    cells = [Cell(n, epsilon, name, repeats * 16 // n) for (n, epsilon), name in product(grid, names)]
    with ProcessPoolExecutor() as pool:
        results = dict(zip(cells, pool.map(errors, cells), strict=True))
    for name in ("piecewise", "auto"):
        print(f"half width of a mean, {name}: {half_width(name):.4f} of half the range")
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
