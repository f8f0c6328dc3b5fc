"""Measure the coverage of 95% intervals: ``python -m benchmarks.coverage [--surveys 400] [WORLD...]``.

Every cell is one kind of survey with one mechanism, number of classes, epsilon and number of people, and runs
through the whole protocol. Each survey draws new people from one distribution, and coverage means that an
interval contains the value of the distribution, not that of the people drawn. A single interval is counted
for each estimate, a simultaneous group for each table of estimates that are shown together. The tables have,
for each statistic, the coverage over all cells, and what is more than 4 standard errors below 95%.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from encoders.progress import show_progress
from encoders.randomness import FastStream
from encoders.survey import NumericFeature, Plan, read_survey
from ldp_aggregator.estimation import (
    Estimates,
    FeatureResult,
    IntervalEstimate,
    NumberResult,
    estimate_snapshot,
)
from ldp_aggregator.estimation.feature_result import join_choices
from ldp_aggregator.rows.encode_table import encode_numbers
from ldp_aggregator.simulated_population import simulate_reports

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Figure = tuple[str, IntervalEstimate, Floats]
"""The name of a statistic, its estimates, and the true values."""

EPSILONS = ("0.1", "0.5", "1", "2", "4", "8")
PEOPLE = (200, 2_000, 50_000)
CLASSES = (1, 2, 4)
LEVEL, ERRORS = 0.95, 4
"""The nominal coverage, and the standard errors by which a cell may be below it."""
PRIORS = {1: [1.0], 2: [0.3, 0.7], 4: [0.5, 0.3, 0.15, 0.05]}
RARE = np.array([*np.geomspace(30, 0.02, 22), 0, 0])
"""Relative frequencies of 24 values, some of them rare."""
PROMISED = {500: "1.06", 1_000: "1.36", 3_000: "1.95", 10_000: "2.79"}
"""The epsilon of each of ten answers, by the number of people who send them through a relay."""


def name_values(count: int) -> str:
    return "[" + ", ".join(f'"v{each}"' for each in range(count)) + "]"


@dataclass(frozen=True)
class Cell:
    """Surveys of one kind."""

    world: str
    mechanism: str
    k: int
    epsilon: str
    people: int

    @property
    def prior(self) -> Floats:
        return np.array(PRIORS[self.k])

    def make_plan(self) -> Plan:
        world = WORLDS[self.world]
        if not world.is_relayed:
            return self._compile(self.epsilon)
        features = world.body.count("[features.")
        plan = self._compile(float(self.epsilon) * features)
        if len(plan.questions) == features:
            return plan
        return self._compile(float(self.epsilon) * len(plan.questions))  # numbers can have two questions

    def _compile(self, epsilon: str | float) -> Plan:
        world = WORLDS[self.world]
        text = f'[survey]\nid = "coverage"\nepsilon = {epsilon}\n'
        if world.is_relayed:
            text += f"users = {self.people}\n" + RELAY.format(batch=int(0.6 * self.people))
        if self.k > 1:
            text += f'[label]\nname = "class"\nvalues = {name_values(self.k)}\n'
        kind = "numeric" if world.is_numeric else "frequency"
        return read_survey(f'{text}[mechanism]\n{kind} = "{self.mechanism}"\n{world.body}').compile()

    def simulate(self, plan: Plan, seed: int) -> Estimates:
        rng = np.random.default_rng([seed, 1])
        labels = draw_values(self.prior, rng, self.people)
        codes = WORLDS[self.world].draw(plan, labels, rng)
        reports = FastStream(np.random.SeedSequence([seed, 2]))
        return estimate_snapshot(simulate_reports(plan, codes, labels, reports))


def draw_values(shares: Floats, rng: np.random.Generator, n: int) -> Ints:
    """Draw n values; `shares` are (values,), or (n, values) of each person."""
    return np.asarray((rng.random(n)[:, None] > np.cumsum(shares, axis=-1)[..., :-1]).sum(axis=1))


@dataclass(frozen=True)
class World:
    """A survey and its people."""

    body: str
    draw: Callable[[Plan, Ints, np.random.Generator], Ints]
    """Takes the plan and the labels; returns the codes of the rows."""
    list_figures: Callable[[Plan, Estimates, Floats], Iterator[Figure]]
    """Takes the plan, the estimates and the prior."""
    mechanisms: Sequence[str] = ("auto",)
    classes: Sequence[int] = CLASSES
    is_numeric: bool = False
    is_relayed: bool = False

    def list_cells(self, name: str) -> Iterator[Cell]:
        if self.is_relayed:
            settings: Iterator[tuple[str, int]] = ((each, people) for people, each in PROMISED.items())
        else:
            settings = product(EPSILONS, PEOPLE)
        for (epsilon, people), mechanism, k in product(settings, self.mechanisms, self.classes):
            yield Cell(name, mechanism, k, epsilon, people)


# -- discrete features --------------------------------------------------------------------------------


Joint = Callable[[int], Floats]
"""Takes a class; returns P(values of all features | class), with one axis for each feature."""


def draw_discrete(joint: Joint, plan: Plan, labels: Ints, rng: np.random.Generator) -> Ints:
    classes = range(labels.max(initial=0) + 1)
    cells = np.zeros(len(labels), dtype=np.int64)
    for label in classes:
        mine = labels == label
        shares = joint(label).ravel()
        cells[mine] = rng.choice(len(shares), mine.sum(), p=shares)
    return np.column_stack(np.unravel_index(cells, joint(0).shape))


def list_discrete(joint: Joint, plan: Plan, estimates: Estimates, prior: Floats) -> Iterator[Figure]:
    given = np.stack([joint(label) for label in range(len(prior))], axis=-1)
    whole = given * prior
    if len(prior) > 1:
        yield "P(class)", estimates.raw_prior, prior
    for axis, each in enumerate(estimates.features):
        assert isinstance(each, FeatureResult)
        others = tuple(other for other in range(given.ndim - 1) if other != axis)
        by_class = given.sum(axis=others)
        yield "P(value)", each.shares, by_class @ prior
        if len(prior) > 1:
            yield "P(value, class)", each.frequencies, by_class * prior
            yield "P(value given class)", each.conditionals, by_class
        if each.ordered:
            count = len(each.ordered.limits)
            yield from list_ordered(each, by_class, prior, count)
    for table in estimates.tables:
        cells = (whole if len(prior) > 1 else whole[..., 0]).reshape(len(table.rows), -1)
        if table.across[-1:] != (estimates.label,):
            cells = whole.sum(axis=-1).reshape(len(table.rows), -1)
        yield "cells of tables", table.cells, cells
        with np.errstate(invalid="ignore"):
            yield "row shares", table.row_shares, cells / cells.sum(axis=1, keepdims=True)
            yield "column shares", table.column_shares, cells / cells.sum(axis=0)


def list_ordered(result: FeatureResult, by_class: Floats, prior: Floats, limits: int) -> Iterator[Figure]:
    assert result.ordered
    for name, shares, cumulative, quantiles in (
        ("", (by_class @ prior)[:, None], result.ordered.cumulative, result.ordered.quantiles),
        (" given class", by_class, result.ordered.by_class, result.ordered.class_quantiles),
    ):
        if name and len(prior) == 1:
            continue
        sums = np.cumsum(shares[: limits + 1], axis=0)
        sums /= sums[-1]
        yield f"cumulative shares{name}", cumulative, sums[:-1].reshape(cumulative.value.shape)
        edges = np.array(result.ordered.edges)
        truth = [[np.interp(p, np.append(0, column), edges) for column in sums.T] for p in (0.25, 0.5, 0.75)]
        yield f"quartiles{name}", quantiles, np.array(truth).reshape(quantiles.value.shape)


def rare_values(label: int) -> Floats:
    shares = np.roll(RARE, label) if label else RARE
    return np.asarray(shares / shares.sum())


def cross_table(label: int) -> Floats:
    """P(row, column) of 6 x 8 cells, with empty and rare ones."""
    rows, columns = np.array([30, 15, 10, 4, 1, 40]), np.array([30, 20, 20, 10, 10, 5, 5, 0])
    slopes = np.outer(np.linspace(1, -1, 6), np.linspace(1, -1, 8))
    cells = np.outer(rows, np.roll(columns, label)) * (1 + 0.9 * slopes)
    return np.asarray(cells / cells.sum())


def small_table(label: int) -> Floats:
    """P of 2 x 3 x 4 cells."""
    cells = np.random.default_rng([label, 7]).dirichlet([0.4] * 24)
    return np.asarray(cells.reshape(2, 3, 4))


def several_values(label: int) -> Floats:
    """P of 5 x 16 values of two independent features."""
    first = np.array([40, 30, 20, 9, 1]) / 100
    second = np.exp(-(((np.arange(16) - 5 - label) / 3) ** 2))
    return np.outer(first, second / second.sum())


def bins(label: int) -> Floats:
    """P of 64 bins: a skewed law."""
    shares = np.diff(np.exp(-np.arange(65) / (8 + 3 * label)))
    return np.asarray(shares / shares.sum())


def list_features(**sizes: int) -> str:
    return "".join(f"[features.{name}]\nvalues = {name_values(size)}\n" for name, size in sizes.items())


TABLE = '[tables.t]\nfeatures = ["a", "b"]\n'
TWO = list_features(a=6, b=8) + TABLE
THREE = list_features(a=2, b=3, c=4) + TABLE.replace('"b"]', '"b", "c"]')
SEVERAL = list_features(a=5, b=16)
BINS = "[features.x]\nrange = [0, 64]\nbins = 64\n"


# -- choices ------------------------------------------------------------------------------------------

TICKED = np.array([0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.0])


def draw_choices(plan: Plan, labels: Ints, rng: np.random.Generator) -> Ints:
    return np.asarray(rng.random((len(labels), len(TICKED))) < TICKED, dtype=np.int64)


def list_choices(plan: Plan, estimates: Estimates, prior: Floats) -> Iterator[Figure]:
    ((_, result),) = join_choices(plan.features, estimates.features)
    assert isinstance(result, FeatureResult)
    yield "choices", result.shares, TICKED
    if len(prior) > 1:
        yield "choices given class", result.conditionals, np.repeat(TICKED[:, None], len(prior), axis=1)


# -- numbers ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Law:
    """The law of a number between 0 and 100, with its mean and variance."""

    draw: Callable[[np.random.Generator, int], Floats]
    mean: float
    variance: float


LAWS = {
    "normal": Law(lambda rng, n: rng.normal(40, 12, n), 40, 144),
    "skewed": Law(lambda rng, n: 100 * rng.random(n) ** 3, 25, 10_000 / 7 - 625),
    "two": Law(lambda rng, n: np.where(rng.random(n) < 0.9, 75.0, 0.0), 67.5, 506.25),
}
NUMBERS = "".join(f"[features.{name}]\nrange = [0, 100]\n" for name in LAWS)


def draw_numbers(plan: Plan, labels: Ints, rng: np.random.Generator) -> Ints:
    columns = []
    for feature in plan.features:
        assert isinstance(feature, NumericFeature)
        columns.append(encode_numbers(feature, np.clip(LAWS[feature.name].draw(rng, len(labels)), 0, 100)))
    return np.column_stack(columns)


def list_numbers(plan: Plan, estimates: Estimates, prior: Floats) -> Iterator[Figure]:
    if len(prior) > 1:
        yield "P(class)", estimates.raw_prior, prior
    for each in estimates.features:
        assert isinstance(each, NumberResult)
        law = LAWS[each.name]
        for name, found in (("", each.overall), (" given class", each.by_class))[: len(prior)]:
            size = found.means.value.size
            yield f"mean{name}", found.means, np.full(size, law.mean)
            yield f"variance{name}", found.variances, np.full(size, law.variance)
            yield f"standard deviation{name}", found.deviations, np.full(size, math.sqrt(law.variance))


# -- all questions through a relay ----------------------------------------------------------------------

RELAY = """
[relay]
url = "https://relay.example/coverage"
batch = {batch}
honest = 0.73
epsilon = 1
delta = 1e-6
ask = "all"
opens = 2026-11-01T00:00:00Z
closes = 2026-12-31T00:00:00Z
"""
TEN = np.random.default_rng(5).dirichlet([2.0] * 4, (10, 4))
"""P(value | class) of each of ten features. Shape (10, 4, 4)."""


def draw_ten(plan: Plan, labels: Ints, rng: np.random.Generator) -> Ints:
    return np.stack([draw_values(each[labels], rng, len(labels)) for each in TEN], axis=1)


def list_ten(plan: Plan, estimates: Estimates, prior: Floats) -> Iterator[Figure]:
    if len(prior) > 1:
        yield "P(class)", estimates.raw_prior, prior
    for given, each in zip(TEN[:, : len(prior)], estimates.features, strict=True):
        assert isinstance(each, FeatureResult)
        yield "P(value)", each.shares, prior @ given
        if len(prior) > 1:
            yield "P(value given class)", each.conditionals, given.T


PURE = ("DE", "SS", "OUE", "SUE")
CHOICES = "[features.c]\nchoices = " + name_values(len(TICKED)) + "\n"
TEN_FEATURES = list_features(**{f"x{index}": 4 for index in range(10)})


def discrete(
    body: str, joint: Joint, mechanisms: Sequence[str] = ("auto",), classes: Sequence[int] = CLASSES
) -> World:
    return World(body, partial(draw_discrete, joint), partial(list_discrete, joint), mechanisms, classes)


WORLDS = {
    "24 values": discrete(list_features(a=24), rare_values, PURE, (1,)),
    "24 values by class": discrete(list_features(a=24), rare_values, classes=(2, 4)),
    "6 x 8": discrete(TWO, cross_table, ("DE", "SS", "OUE"), (1,)),
    "2 x 3 x 4": discrete(THREE, small_table, ("DE", "OUE"), (1,)),
    "5 and 16 values": discrete(SEVERAL, several_values),
    "64 bins": discrete(BINS, bins),
    "choices": World(CHOICES, draw_choices, list_choices),
    "numbers": World(NUMBERS, draw_numbers, list_numbers, is_numeric=True),
    "ten of a relay": World(TEN_FEATURES, draw_ten, list_ten, ("auto",), (1, 2), is_relayed=True),
    "numbers of a relay": World(NUMBERS, draw_numbers, list_numbers, ("auto",), (1, 2), True, True),
}


# -- counting -----------------------------------------------------------------------------------------


@dataclass
class Counted:
    """How often the intervals of one statistic of a cell contain the truth."""

    single: list[Bools]
    """For each survey, whether each interval does."""
    groups: list[Bools]
    """For each survey, whether all intervals of each group do."""
    widths: list[float]
    """For each survey, the mean half width."""

    @property
    def coverages(self) -> tuple[Floats, Floats]:
        """The coverage of each interval, and of each group."""
        return np.mean(self.single, axis=0), np.mean(self.groups, axis=0)


def work(job: tuple[Cell, int]) -> dict[str, Counted]:
    """Run all surveys of a cell."""
    cell, surveys = job
    plan = cell.make_plan()
    counted: dict[str, Counted] = {}
    for seed in range(surveys):
        estimates = cell.simulate(plan, seed)
        seen: dict[str, list[Figure]] = defaultdict(list)
        for figure in WORLDS[cell.world].list_figures(plan, estimates, cell.prior):
            seen[figure[0]].append(figure)
        for name, figures in seen.items():
            single = [contain(each.low, each.high, truth).ravel() for _, each, truth in figures]
            groups = [
                contain(each.simultaneous_low, each.simultaneous_high, truth).all()
                for _, each, truth in figures
            ]
            width = float(np.mean([np.mean(each.high - each.low) / 2 for _, each, _ in figures]))
            mine = counted.setdefault(name, Counted([], [], []))
            mine.single.append(np.concatenate(single))
            mine.groups.append(np.array(groups))
            mine.widths.append(width)
    return counted


def contain(low: Floats, high: Floats, truth: Floats) -> Bools:
    """Return which intervals contain the truth; a ratio of two shares of 0 has none."""
    return np.asarray((low <= truth + 1e-9) & (truth - 1e-9 <= high) | np.isnan(truth))


def summarise(found: dict[Cell, dict[str, Counted]], surveys: int) -> Iterator[str]:
    """Yield a line for each statistic, and one for each statistic of a cell that is too low."""
    least = LEVEL - ERRORS * math.sqrt(LEVEL * (1 - LEVEL) / surveys)
    yield "| statistic | intervals | mean | least | too low | groups | mean | least | too low |"
    yield "|---" * 9 + "|"
    failures = []
    for name in dict.fromkeys(name for each in found.values() for name in each):
        parts = {cell: each[name].coverages for cell, each in found.items() if name in each}
        columns = []
        for kind in zip(*parts.values(), strict=True):
            mean, rates = np.mean([each.mean() for each in kind]), np.concatenate(kind)
            columns.append(f"{len(rates):,} | {mean:.1%} | {rates.min():.1%} | {(rates < least).sum()}")
        yield f"| {name} | {' | '.join(columns)} |"
        failures += [
            f"{name}: {cell}: single {single.min():.1%}, group {groups.min():.1%}"
            for cell, (single, groups) in parts.items()
            if min(single.min(), groups.min()) < least
        ]
    yield f"\n{len(failures)} of {sum(map(len, found.values()))} are below {least:.1%}:"
    yield from failures


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("worlds", nargs="*", choices=[*WORLDS, []], help=", ".join(WORLDS))
    parser.add_argument("--surveys", type=int, default=400)
    arguments = parser.parse_args()
    cells = [cell for name in arguments.worlds or WORLDS for cell in WORLDS[name].list_cells(name)]
    for cell in cells:
        cell.make_plan()  # a mistake in a survey ends the run now, not after an hour
    jobs, found = [(cell, arguments.surveys) for cell in cells], {}
    with ProcessPoolExecutor() as pool, show_progress("simulating", len(jobs), "cells") as progress:
        for cell, each in zip(cells, pool.map(work, jobs), strict=True):
            found[cell] = each
            progress.advance()
    print(*summarise(found, arguments.surveys), sep="\n")


if __name__ == "__main__":
    main()
