"""Measure false alarms and power of `distinguishable`: ``python -m benchmarks.differences [MECHANISM...]``.

Every mechanism runs through the whole protocol at four values of epsilon. Each survey draws new people. In
two populations the classes are equal, once with equally frequent classes and once with a rare one. There,
every feature that is called distinguishable is a false alarm. In the third population the classes differ.
Each entry is the percentage of surveys in which the test calls a feature distinguishable and, after a slash,
the percentage of an older rule: simultaneous intervals that do not overlap. The first table has the false
alarms, the second the power.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.mechanisms import MECHANISMS, NUMERIC_MECHANISMS
from encoders.progress import show_progress
from encoders.randomness import FastStream
from encoders.survey import NumericFeature, Plan, read_survey
from ldp_aggregator.estimation import FeatureResult, IntervalEstimate, NumberResult, estimate_snapshot
from ldp_aggregator.rows.encode_table import encode_numbers
from ldp_aggregator.simulated_population import simulate_reports

Floats = NDArray[np.float64]

SETTINGS = (("0.5", 20_000), ("1", 10_000), ("4", 4_000), ("8", 1_000))
"""Epsilons, and numbers of people who report."""
CHUNK = 50
"""Surveys of one job."""
SHARES = np.array([0.6, 0.33, 0.07])
TWO = np.array([[0.3, 0.5, 0.8], [0.7, 0.5, 0.2]])
FIVE = np.array([[0.5, 0.1, 0.2], [0.25, 0.3, 0.2], [0.15, 0.3, 0.1], [0.04, 0.1, 0.4], [0.06, 0.2, 0.1]])
"""P(value | label); the last of the five is a missing one."""
SURVEY = """
[survey]
id = "differences"
epsilon = {epsilon}
[label]
name = "class"
values = ["a", "b", "rare"]
[mechanism]
{what} = "{mechanism}"
[features.two]
values = ["x", "y"]
"""
CATEGORY = """
[features.five]
values = ["p", "q", "r", "s"]
missing = "category"
"""
NUMBERS = """
[features.age]
range = [18, 90]
[features.income]
range = [0, 200]
missing = "category"
"""
EVEN = np.full(3, 1 / 3)
POPULATIONS = {
    "equal classes, uniform prior": (True, EVEN),
    "equal classes, one rare": (True, SHARES),
    "different classes, one rare": (False, SHARES),
}
"""Whether the classes are equal, and P(class)."""
TABLES = {"two": TWO, "five": FIVE}
"""P(value | class) of different classes; equal classes have its mean over the classes."""
ANY = "any"
NEVER_DIFFERENT = {("age", "variances")}
"""What is equal in different classes too."""


@dataclass(frozen=True)
class Law:
    """A number of each class: least + span u^power, with u uniform on [0, 1], and its share of missing."""

    least: tuple[float, float, float]
    span: tuple[float, float, float]
    power: int
    missing: tuple[float, float, float]

    def draw(self, labels: np.ndarray, rng: np.random.Generator) -> Floats:
        """Return a number for each person; NaN if it is missing."""
        u = rng.random(len(labels)) ** self.power
        x = np.array(self.least)[labels] + np.array(self.span)[labels] * u
        return np.where(rng.random(len(labels)) < np.array(self.missing)[labels], np.nan, x)


LAWS = {
    "age": Law((20, 40, 30), (40, 40, 40), 1, (0.0, 0.0, 0.0)),
    "income": Law((0, 90, 0), (200, 20, 200), 3, (0.1, 0.3, 0.1)),
}


@dataclass(frozen=True)
class Cell:
    """One mechanism at one epsilon, in one population."""

    mechanism: str
    epsilon: str
    users: int
    population: str

    def plan(self) -> Plan:
        """Return the plan: two discrete features, or two numbers."""
        numeric = self.mechanism in NUMERIC_MECHANISMS
        what = "numeric" if numeric else "frequency"
        head = SURVEY.format(epsilon=self.epsilon, what=what, mechanism=self.mechanism)
        if numeric:
            head = head[: head.index("[features.two]")]
        return read_survey(head + (NUMBERS if numeric else CATEGORY)).compile()

    def survey(self, plan: Plan, seed: int) -> Iterator[FeatureResult | NumberResult]:
        """Draw people, let each send one report, and yield the results of the features."""
        equal, prior = POPULATIONS[self.population]
        rng, columns = np.random.default_rng([seed, 1]), []
        labels = rng.choice(3, self.users, p=prior)
        for feature in plan.features:
            if isinstance(feature, NumericFeature):
                like = np.zeros_like(labels) if equal else labels
                columns.append(encode_numbers(feature, LAWS[feature.name].draw(like, rng)))
            else:
                table = TABLES[feature.name]
                if equal:
                    table = np.repeat((table @ SHARES)[:, None], 3, axis=1)
                reached = np.cumsum(table, axis=0)[:-1, labels]
                columns.append((rng.random(self.users) >= reached).sum(axis=0))
        reports = FastStream(np.random.SeedSequence([seed, 2]))
        yield from estimate_snapshot(
            simulate_reports(plan, np.column_stack(columns), labels, reports)
        ).features


def overlap_rule(estimate: IntervalEstimate) -> bool:
    """Return whether the simultaneous intervals of any two classes do not overlap: the old rule."""
    return bool((estimate.simultaneous_low.max(axis=-1) > estimate.simultaneous_high.min(axis=-1)).any())


Entry = tuple[str, str]
"""The feature, and what differs: any of its values or statistics, or one statistic of a number."""


def rules(feature: FeatureResult | NumberResult) -> Iterator[tuple[Entry, tuple[bool, bool]]]:
    """Yield what is called distinguishable by the test and by the old rule."""
    if isinstance(feature, FeatureResult):
        yield (feature.name, ANY), (feature.distinguishable, overlap_rule(feature.conditionals))
        return
    by_class = feature.by_class
    estimates = {"means": by_class.means, "variances": by_class.variances, "missing": by_class.missing}
    old = {what: overlap_rule(each) for what, each in estimates.items() if each}
    yield (feature.name, ANY), (feature.distinguishable, any(old.values()))
    for what, flag in feature.distinguishable_entries.items():
        yield (feature.name, what), (flag, old[what])


def work(job: tuple[Cell, int]) -> dict[Entry, Floats]:
    """Run a chunk of surveys; return how often each rule calls each entry distinguishable."""
    cell, start = job
    plan, counts = cell.plan(), defaultdict[Entry, Floats](lambda: np.zeros(2))
    for seed in range(start, start + CHUNK):
        for feature in cell.survey(plan, seed):
            for entry, flags in rules(feature):
                counts[entry] += flags
    return dict(counts)


def run(cells: list[Cell], surveys: int) -> dict[Cell, dict[Entry, Floats]]:
    """Run all surveys of all cells; return shares of surveys."""
    jobs = [(cell, start) for cell in cells for start in range(0, surveys, CHUNK)]
    shares: dict[Cell, dict[Entry, Floats]] = defaultdict(lambda: defaultdict(lambda: np.zeros(2)))
    with (
        ProcessPoolExecutor() as pool,
        show_progress("simulating", len(jobs), "parts") as progress,
    ):
        for (cell, _), counts in zip(jobs, pool.map(work, jobs), strict=True):
            for entry, flags in counts.items():
                shares[cell][entry] = shares[cell][entry] + flags / surveys
            progress.advance()
    return shares


def percent(rates: Floats) -> str:
    """Return the rates of the test and of the old rule."""
    return " / ".join(f"{100 * each:.1f}" for each in rates)


def false_alarms(found: dict[Cell, dict[Entry, Floats]]) -> Iterator[str]:
    """Yield a line for each feature: the means over epsilons, and the largest rate of the test."""
    cells = [cell for cell in found if POPULATIONS[cell.population][0]]
    for entry in (each for each in found[cells[0]] if each[1] == ANY):
        means = [
            percent(np.mean([found[cell][entry] for cell in cells if cell.population == each], axis=0))
            for each in dict.fromkeys(cell.population for cell in cells)
        ]
        worst = max(cells, key=lambda cell: float(found[cell][entry][0]))
        most = f"{100 * found[worst][entry][0]:.1f} ({worst.population.split(', ')[1]}, {worst.epsilon})"
        yield f"| {cells[0].mechanism} | {entry[0]} | {' | '.join(means)} | {most} |"


def power(found: dict[Cell, dict[Entry, Floats]]) -> Iterator[str]:
    """Yield a line for each feature, or for each statistic of a number: the rates at each epsilon."""
    cells = [cell for cell in found if not POPULATIONS[cell.population][0]]
    for entry in found[cells[0]]:
        name, what = entry
        if (what == ANY) == (name in TABLES) and entry not in NEVER_DIFFERENT:
            rates = " | ".join(percent(found[cell][entry]) for cell in cells)
            yield f"| {cells[0].mechanism} | {name if what == ANY else f'{name}, {what}'} | {rates} |"


PAGES = {
    false_alarms: "mechanism | feature | uniform prior | one class rare | most",
    power: "mechanism | feature | " + " | ".join(epsilon for epsilon, _ in SETTINGS),
}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = (*MECHANISMS, *NUMERIC_MECHANISMS)
    parser.add_argument("mechanisms", nargs="*", choices=[*names, []], help=", ".join(names))
    parser.add_argument("--surveys", type=int, default=1000, help=f"a multiple of {CHUNK}")
    chosen = parser.parse_args()
    found = [
        run([Cell(name, *setting, each) for each in POPULATIONS for setting in SETTINGS], chosen.surveys)
        for name in chosen.mechanisms or names
    ]
    for lines, titles in PAGES.items():
        print(f"\n| {titles} |\n|{'---|' * (titles.count('|') + 1)}")
        for each in found:
            print("\n".join(lines(each)))


if __name__ == "__main__":
    main()
