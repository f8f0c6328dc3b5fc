"""Measure the coverage of 95% intervals: ``python -m benchmarks.coverage [--surveys 1000] [MECHANISM...]``.

Every mechanism runs through the whole protocol at three values of epsilon. Each survey draws new people from
one distribution (three classes, the last one rare; every second feature may be missing), and coverage means
that an interval contains the value of the distribution, not that of the people drawn. The first table has,
for each kind of estimate, the coverage of single intervals, that of the informative ones (which are not the
whole possible range), and that of the worst single estimate. The second table has the coverage of
simultaneous intervals, and how much wider they are. The third has how often a uniform prior is called
non-uniform. How often equal classes are called distinguishable is measured by ``benchmarks.differences``.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.mechanisms import MECHANISMS, NUMERIC_MECHANISMS
from encoders.progress import show_progress
from encoders.randomness import FastStream
from encoders.survey import NumericFeature, Plan, read_survey
from ldp_aggregator.estimation import Estimates, IntervalEstimate, NumberResult, estimate_snapshot
from ldp_aggregator.estimation.estimators import Gaussian
from ldp_aggregator.estimation.intervals import detect_non_uniform_classes
from ldp_aggregator.estimation.relevance import compute_relevance
from ldp_aggregator.simulated_population import simulate_reports

Floats = NDArray[np.float64]
Kind = tuple[str, str]
"""What is estimated, and of which feature."""

SETTINGS = (("0.5", 20_000), ("1", 10_000), ("4", 4_000))
"""Epsilons, and numbers of people who report."""
CHUNK = 50
"""Surveys of one job."""
SHARES = np.array([0.6, 0.33, 0.07])
TWO = np.array([[0.3, 0.5, 0.8], [0.7, 0.5, 0.2]])
FIVE = np.array([[0.5, 0.1, 0.2], [0.25, 0.3, 0.2], [0.15, 0.3, 0.1], [0.04, 0.1, 0.4], [0.06, 0.2, 0.1]])
VALUES = {"two": TWO, "five": FIVE}
"""P(value | label); the last of the five is a missing one."""
JOINT, GIVEN, MISSING = "P(value, label)", r"P(value \| label)", r"P(missing \| label)"
RELEVANCE = "relevance"

SURVEY = """
[survey]
id = "coverage"
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


@dataclass(frozen=True)
class Law:
    """A number: least (of each class) + span u^power, with u uniform on [0, 1], and its share of missing."""

    least: tuple[float, float, float]
    span: float
    power: int
    missing: float

    def draw(self, labels: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        x = np.array(self.least)[labels] + self.span * rng.random(len(labels)) ** self.power
        return np.where(rng.random(len(labels)) < self.missing, np.nan, x)

    def truths(self) -> Iterator[tuple[str, Floats]]:
        mean, square = 1 / (1 + self.power), 1 / (1 + 2 * self.power)
        yield "mean", np.array(self.least) + self.span * mean
        yield "variance", np.full(3, self.span**2 * (square - mean**2))
        if self.missing:
            yield MISSING, np.full(3, self.missing)


LAWS = {"age": Law((20, 40, 30), 40, 1, 0.0), "income": Law((0, 50, 20), 150, 3, 0.15)}


@dataclass(frozen=True)
class Cell:
    """One mechanism at one epsilon; `alike` if the classes are equal and equally frequent."""

    mechanism: str
    epsilon: str
    users: int
    alike: bool

    @property
    def prior(self) -> Floats:
        return np.full(3, 1 / 3) if self.alike else SHARES

    def plan(self) -> Plan:
        numeric = self.mechanism in NUMERIC_MECHANISMS
        what = "numeric" if numeric else "frequency"
        head = SURVEY.format(epsilon=self.epsilon, what=what, mechanism=self.mechanism)
        return read_survey(head + (NUMBERS if numeric else CATEGORY)).compile()

    def shares(self, name: str) -> Floats:
        """Return P(value | label)."""
        return np.repeat(VALUES[name][:, :1], 3, axis=1) if self.alike else VALUES[name]

    def truths(self) -> dict[Kind, Floats]:
        found = {("prior", "class"): self.prior}
        for feature in self.plan().features:
            if isinstance(feature, NumericFeature):
                found |= {(what, feature.name): truth for what, truth in LAWS[feature.name].truths()}
                mean, variance = found["mean", feature.name], found["variance", feature.name]
                like = Gaussian(mean * (not self.alike), variance, None)
                found[RELEVANCE, feature.name] = np.array(compute_relevance(like, self.prior))
            else:
                given = self.shares(feature.name)
                found |= {(JOINT, feature.name): given * self.prior, (GIVEN, feature.name): given}
                found[RELEVANCE, feature.name] = np.array(compute_relevance(given, self.prior))
        return found

    def survey(self, plan: Plan, seed: int) -> Estimates:
        """Draw people, let each send one report, and estimate."""
        rng, columns = np.random.default_rng([seed, 1]), []
        labels = rng.choice(3, self.users, p=self.prior)
        for feature in plan.features:
            if isinstance(feature, NumericFeature):
                like = np.zeros_like(labels) if self.alike else labels
                columns.append(feature.code_array(LAWS[feature.name].draw(like, rng)))
            else:
                reached = np.cumsum(self.shares(feature.name), axis=0)[:-1, labels]
                columns.append((rng.random(self.users) >= reached).sum(axis=0))
        reports = FastStream(np.random.SeedSequence([seed, 2]))
        return estimate_snapshot(simulate_reports(plan, np.column_stack(columns), labels, reports))


@dataclass(frozen=True)
class Seen:
    """Whether the intervals of one estimate contain the truth in many surveys, arrays (surveys, cells)."""

    held: NDArray[np.bool_]
    informative: NDArray[np.bool_]
    simultaneous: NDArray[np.bool_]
    wider: Floats

    @classmethod
    def of(cls, figure: IntervalEstimate, truth: Floats, bounds: tuple[float, float]) -> Seen:
        held = (figure.low <= truth) & (truth <= figure.high)
        informative = (figure.low > bounds[0]) | (figure.high < bounds[1])
        simultaneous = (figure.simultaneous_low <= truth) & (truth <= figure.simultaneous_high)
        wider = (figure.simultaneous_high - figure.simultaneous_low) / np.maximum(
            figure.high - figure.low, 1e-12
        )
        return cls(
            held.reshape(1, -1),
            informative.reshape(1, -1),
            simultaneous.reshape(1, -1),
            wider.reshape(1, -1),
        )

    @classmethod
    def joined(cls, parts: Sequence[Seen], axis: int) -> Seen:
        def join(name: str) -> NDArray[Any]:
            return np.concatenate([getattr(part, name) for part in parts], axis)

        return cls(join("held"), join("informative"), join("simultaneous"), join("wider"))


Found = tuple[dict[Kind, Seen], float]
"""The coverage of each estimate; how often the prior was called non-uniform."""


def figures(plan: Plan, estimates: Estimates) -> Iterator[tuple[Kind, IntervalEstimate, tuple[float, float]]]:
    """Yield every estimate and its possible range."""
    yield ("prior", "class"), estimates.raw_prior, (0, 1)
    for feature, each in zip(plan.features, estimates.features, strict=True):
        of = len(plan.label.values) - 1
        most = 1 if isinstance(feature, NumericFeature) else min(feature.size - 1, of)
        yield (RELEVANCE, each.name), each.relevance.estimate, (0, most / of)
        if isinstance(each, NumberResult):
            assert isinstance(feature, NumericFeature)
            yield ("mean", each.name), each.by_class.means, feature.bounds
            yield ("variance", each.name), each.by_class.variances, (0, feature.width**2)
            if each.by_class.missing:
                yield (MISSING, each.name), each.by_class.missing, (0, 1)
        else:
            yield (JOINT, each.name), each.frequencies, (0, 1)
            yield (GIVEN, each.name), each.conditionals, (0, 1)


def work(job: tuple[Cell, int]) -> Found:
    """Run a chunk of surveys."""
    cell, start = job
    plan, truths = cell.plan(), cell.truths()
    seen: dict[Kind, list[Seen]] = defaultdict(list)
    alarms = 0
    for seed in range(start, start + CHUNK):
        estimates = cell.survey(plan, seed)
        alarms += bool(detect_non_uniform_classes(estimates.raw_prior).any())
        for kind, figure, bounds in figures(plan, estimates):
            seen[kind].append(Seen.of(figure, truths[kind], bounds))
    joined = {kind: Seen.joined(parts, 0) for kind, parts in seen.items()}
    return joined, alarms / CHUNK


def run(cells: list[Cell], surveys: int) -> dict[Cell, Found]:
    """Run all surveys of all cells."""
    jobs = [(cell, start) for cell in cells for start in range(0, surveys, CHUNK)]
    parts: dict[Cell, list[Found]] = defaultdict(list)
    with (
        ProcessPoolExecutor() as pool,
        show_progress("simulating", len(jobs), "parts") as progress,
    ):
        for (cell, _), found in zip(jobs, pool.map(work, jobs), strict=True):
            parts[cell].append(found)
            progress.advance()
    return {cell: merged(found) for cell, found in parts.items()}


def merged(parts: list[Found]) -> Found:
    seen = {kind: Seen.joined([each[kind] for each, _ in parts], 0) for kind in parts[0][0]}
    return seen, float(np.mean([alarms for _, alarms in parts]))


def coverage(mechanism: str, found: dict[Cell, Found]) -> Iterator[str]:
    """Yield a line per kind of estimate, pooled over epsilons and features."""
    for what in dict.fromkeys(what for seen, _ in found.values() for what, _ in seen):
        parts = {
            (cell.epsilon, name): part
            for cell, (seen, _) in found.items()
            for (kind, name), part in seen.items()
            if kind == what
        }
        pooled = Seen.joined(list(parts.values()), 1)
        informative = pooled.held[pooled.informative].mean()
        where, worst = min(
            ((f"{name}, {epsilon}", part.held.mean(axis=0).min()) for (epsilon, name), part in parts.items()),
            key=lambda each: each[1],
        )
        yield (
            f"| {mechanism} | {what} | {pooled.held.mean():.1%} | {informative:.1%} "
            f"| {1 - pooled.informative.mean():.0%} | {worst:.1%} ({where}) |"
        )


def simultaneous(mechanism: str, found: dict[Cell, Found]) -> Iterator[str]:
    """Yield a line per kind of table; all intervals of a number are simultaneous."""
    tables: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for seen, _ in found.values():
        groups: dict[Kind, list[Seen]] = defaultdict(list)
        for (what, name), part in seen.items():
            if what == RELEVANCE:
                continue
            groups["number" if name in LAWS else what, name].append(part)
        for (what, _), parts in groups.items():
            joined = Seen.joined(parts, 1)
            wider = np.median(joined.wider[joined.informative])
            tables[what].append((float(joined.simultaneous.all(axis=1).mean()), float(wider)))
    for what, figures_of in tables.items():
        held, wider = np.array(figures_of).T
        yield f"| {mechanism} | {what} | {held.mean():.1%} | {held.min():.1%} | {wider.max():.2f} |"


def flags(mechanism: str, found: dict[Cell, Found]) -> Iterator[str]:
    """Yield one line: the false alarms, pooled over epsilons."""
    yield f"| {mechanism} | {np.mean([alarms for _, alarms in found.values()]):.1%} |"


TABLES = (
    (
        coverage,
        False,
        "mechanism | estimate | coverage | if informative | uninformative | worst single (feature, epsilon)",
    ),
    (simultaneous, False, "mechanism | table | simultaneous coverage | worst | times as wide, at most"),
    (flags, True, "mechanism | uniform prior called non-uniform"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = (*MECHANISMS, *NUMERIC_MECHANISMS)
    parser.add_argument("mechanisms", nargs="*", choices=[*names, []], help=", ".join(names))
    parser.add_argument("--surveys", type=int, default=1000, help=f"a multiple of {CHUNK}")
    chosen = parser.parse_args()
    mechanisms = chosen.mechanisms or names
    cells = [
        Cell(name, *setting, alike) for name in mechanisms for setting in SETTINGS for alike in (False, True)
    ]
    found = run(cells, chosen.surveys)
    for table, alike, head in TABLES:
        print(f"\n| {head} |\n{'|---' * (head.count('|') + 1)}|")
        for name in mechanisms:
            mine = {c: each for c, each in found.items() if c.mechanism == name and c.alike == alike}
            print("\n".join(table(name, mine)))


if __name__ == "__main__":
    main()
