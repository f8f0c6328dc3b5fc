"""Measure the coverage of relevance intervals: ``python -m benchmarks.relevance [--surveys 1000]``.

Small and large surveys with a rare and with a uniform prior run through the whole protocol at epsilon 1. Each
survey draws new people. One feature is independent of the label, the others depend on it. Coverage means that
an informative interval contains the relevance of the distribution. An interval is informative if it is less
than the whole range. Each entry is the share of informative intervals that hold, in percent, and in brackets
the share of intervals that are informative.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import click
import numpy as np

from benchmarks.differences import FIVE, TWO, Floats
from encoders.randomness import FastStream
from encoders.survey import NumericFeature, read_survey
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.estimation.estimators import Gaussian
from ldp_aggregator.estimation.relevance import compute_relevance
from ldp_aggregator.rows.encode_table import encode_numbers
from ldp_aggregator.simulated_population import simulate_reports

MECHANISMS = ("SS", "DE", "OUE")
USERS = (500, 1_000, 3_000, 15_000, 60_000)
PRIORS = {"12, 80 and 8%": np.array([0.12, 0.8, 0.08]), "uniform": np.full(3, 1 / 3)}
CHUNK = 50
"""Surveys of one job."""
EIGHT = np.full((8, 3), 0.04)
EIGHT[[0, 1, 2], [0, 1, 2]] = 0.8
TABLES = {"two": TWO, "five": FIVE, "eight": EIGHT / EIGHT.sum(axis=0), "independent": np.full((8, 3), 1 / 8)}
"""P(value | class)."""
LEAST, SPAN = np.array([0.0, 15.0, 8.0]), 30.0
"""The number is uniform from the least value of a class on."""

SURVEY = """
[survey]
id = "relevance"
epsilon = 1
[label]
name = "class"
values = ["a", "b", "c"]
[mechanism]
frequency = "{mechanism}"
[features.two]
values = ["p", "q"]
[features.five]
values = ["p", "q", "r", "s", "t"]
[features.eight]
values = ["p", "q", "r", "s", "t", "u", "v", "w"]
[features.independent]
values = ["p", "q", "r", "s", "t", "u", "v", "w"]
[features.number]
range = [0, 60]
"""


@dataclass(frozen=True)
class Cell:
    """One mechanism, prior and number of people."""

    mechanism: str
    prior: str
    users: int


Counts = dict[str, Floats]
"""By feature: the numbers of informative intervals, and of those that hold."""


def true_relevance(name: str, prior: Floats) -> float:
    """Return the relevance of a feature in the distribution."""
    if name == "number":
        return compute_relevance(Gaussian(LEAST + SPAN / 2, np.full(3, SPAN**2 / 12), None), prior)
    return compute_relevance(TABLES[name], prior)


def work(job: tuple[Cell, int]) -> Counts:
    """Run a chunk of surveys of one cell."""
    cell, start = job
    plan, prior = read_survey(SURVEY.format(mechanism=cell.mechanism)).compile(), PRIORS[cell.prior]
    counts = {feature.name: np.zeros(2) for feature in plan.features}
    for seed in range(start, start + CHUNK):
        rng, columns = np.random.default_rng([seed, 1]), []
        labels = rng.choice(3, cell.users, p=prior)
        for feature in plan.features:
            if isinstance(feature, NumericFeature):
                columns.append(encode_numbers(feature, LEAST[labels] + SPAN * rng.random(cell.users)))
            else:
                reached = np.cumsum(TABLES[feature.name], axis=0)[:-1, labels]
                columns.append((rng.random(cell.users) >= reached).sum(axis=0))
        reports = FastStream(np.random.SeedSequence([seed, 2]))
        estimates = estimate_snapshot(simulate_reports(plan, np.column_stack(columns), labels, reports))
        for each in estimates.features:
            truth, found = true_relevance(each.name, prior), each.relevance.estimate
            if found.low > 0 or found.high < each.relevance.maximum:  # not the whole range
                held = bool(found.low <= truth + 1e-12 and truth <= found.high)
                counts[each.name] += np.array([1, held])
    return counts


def run(cells: list[Cell], surveys: int) -> dict[Cell, Counts]:
    """Run all surveys of all cells."""
    jobs = [(cell, start) for cell in cells for start in range(0, surveys, CHUNK)]
    total: dict[Cell, Counts] = defaultdict(lambda: defaultdict(lambda: np.zeros(2)))
    with (
        ProcessPoolExecutor() as pool,
        click.progressbar(length=len(jobs), label="surveys", file=sys.stderr) as bar,
    ):
        for (cell, _), counts in zip(jobs, pool.map(work, jobs), strict=True):
            for name, each in counts.items():
                total[cell][name] = total[cell][name] + each
            bar.update(1)
    return total


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--surveys", type=int, default=1000, help=f"a multiple of {CHUNK}")
    surveys = parser.parse_args().surveys
    names = [*TABLES, "number"]
    print(f"| classes | people | {' | '.join(names)} |\n{'|---' * (len(names) + 2)}|")
    pooled = np.zeros(2)
    for prior in PRIORS:
        for users in USERS:
            found = run([Cell(each, prior, users) for each in MECHANISMS], surveys)
            cells = []
            for name in names:
                known, held = np.sum([counts[name] for counts in found.values()], axis=0)
                pooled += known, held
                share = f"({known / surveys / len(MECHANISMS):.0%})"
                cells.append(f"{100 * held / known:.1f} {share}" if known else "-")
            print(f"| {prior} | {users:,} | {' | '.join(cells)} |", flush=True)
    print(f"\nall: {pooled[1] / pooled[0]:.1%} of {pooled[0]:,.0f} informative intervals hold")


if __name__ == "__main__":
    main()
