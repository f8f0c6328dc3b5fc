"""How far off class means are, by mechanism: ``python -m benchmarks.moments [--repeats 100]``.

Known Gaussians: two classes (.6 and .4), n numbers of standard deviation .2 around class means within
.3 of zero, 100,000 users with one report each, through the whole protocol. Of each mechanism the
mean-squared error of the class means and of the class mean squares, over all repeats, features and
classes, beside what the closed form says; and beside the best of 001's three approaches.
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
from encoders.survey.columns import encode_table
from ldp_aggregator.estimation.hearing import hear
from ldp_aggregator.population import collect

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
    return Survey("moments", Decimal(cell.epsilon), label, features, weights, numeric=cell.numeric).compile()


def errors(cell: Cell) -> Floats:
    """Return squared errors and closed forms, shape (repeats, 2 (found, predicted), 2 (mean, square))."""
    plan, seen = plan_of(cell), []
    means = np.linspace(-REACH, REACH, 2 * cell.numbers).reshape(2, -1)  # (classes, numbers)
    for repeat in range(cell.repeats):
        numpy_rng = np.random.default_rng([repeat, cell.numbers])
        labels = numpy_rng.choice(2, USERS, p=PRIOR)
        x = np.clip(means[labels] + SPREAD * numpy_rng.standard_normal((USERS, cell.numbers)), -1, 1)
        codes = encode_table(plan, {f"x{place}": column for place, column in enumerate(x.T)})
        rng = FastStream(np.random.SeedSequence([repeat, cell.numbers, int(Decimal(cell.epsilon) * 10)]))
        seen.append(compare(hear(collect(plan, codes, labels, rng)).numbers, means))
    return np.array(seen)


def compare(numbers: Sequence, means: Floats) -> Floats:  # type: ignore[type-arg]
    found, predicted = np.zeros(2), np.zeros(2)
    for number, mean in zip(numbers, means.T, strict=True):
        truths = (mean, mean**2 + SPREAD**2)
        for place, (quantity, truth) in enumerate(
            zip((number.mean, number.second.over(number.present)), truths, strict=True)
        ):
            found[place] += ((quantity.value - truth) ** 2).mean() / len(numbers)
            predicted[place] += quantity.variance(number.noise).mean() / len(numbers)
    return np.array([found, predicted])


def main() -> None:
    parser = argparse.ArgumentParser(description="Mean-squared error of class means, by mechanism.")
    parser.add_argument("--repeats", type=int, default=100)
    repeats = parser.parse_args().repeats
    names = (*NUMERIC_MECHANISMS, "auto")
    cells = [
        Cell(n, epsilon, name, repeats * 16 // n) for n, epsilon, name in product(NUMBERS, EPSILONS, names)
    ]
    with ProcessPoolExecutor() as pool:
        results = dict(zip(cells, pool.map(errors, cells), strict=True))
    head = "| n | epsilon | mechanism | means | / closed form | squares | / closed form | sum / best of 001 |"
    print(head)
    print("|---|---|---|---|---|---|---|---|")
    for n, epsilon in product(NUMBERS, EPSILONS):
        here = {
            cell.numeric: found
            for cell, found in results.items()
            if (cell.numbers, cell.epsilon) == (n, epsilon)
        }
        best = min(here[name][:, 0].mean(axis=0).sum() for name in PAPER)
        for name, found in here.items():
            print(f"| {n} | {epsilon} | {name} | {row(found, best)} |")


def row(found: Floats, best: float) -> str:
    parts = []
    for place in range(2):
        squared, predicted = found[:, 0, place], found[:, 1, place].mean()
        error = squared.std(ddof=1) / len(squared) ** 0.5 / predicted
        parts.append(f"{squared.mean():.3g} | {squared.mean() / predicted:.3f} ± {error:.3f}")
    return f"{' | '.join(parts)} | {found[:, 0].mean(axis=0).sum() / best:.2f}"


if __name__ == "__main__":
    main()
