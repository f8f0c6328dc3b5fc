"""Measure coverage if each person answers all questions: ``python -m benchmarks.coverage_all [--surveys N]``.

At four numbers of people, with the epsilon of each answer that a promise of (1, 1e-6) allows for ten
questions of four values if .73 of a batch of .6 of the people is honest. Each survey draws new people from
one distribution, and coverage means that a 95% interval contains the value of the distribution. The second
table has the half widths, in points, of ten questions with equally frequent values.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from encoders.randomness import FastStream
from encoders.survey import NumericFeature, Plan, read_survey
from ldp_aggregator.estimation import (
    Estimates,
    FeatureResult,
    IntervalEstimate,
    NumberResult,
    estimate_snapshot,
)
from ldp_aggregator.simulated_population import simulate_reports

Floats = NDArray[np.float64]
People = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The codes of rows and of labels."""

SETTINGS = {500: "1.06", 1000: "1.36", 3000: "1.95", 10_000: "2.79"}
"""Numbers of people, and the epsilon of each answer."""
WIDTHS = ((1060, 2, "1.42", 5.0), (1250, 2, "1.52", 4.5), (1000, 4, "1.36", 6.5))
"""Numbers of people and of values, the epsilon of each answer, and the goal of the mean half width."""
CHUNK = 25
SURVEY = """
[survey]
id = "coverage"
epsilon = {epsilon}
users = {people}
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
LABEL = '[label]\nname = "y"\nvalues = ["a", "b"]\n'
PRIOR = np.array([0.3, 0.7])
GIVEN = np.random.default_rng(5).dirichlet([2.0] * 4, (10, 2))
"""P(value | label) of each of ten features. Shape (10, 2, 4)."""
SHARE = 0.35
LAWS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, n: rng.normal(50, 15, n),
    "skewed": lambda rng, n: rng.exponential(15, n),
}


def discrete(count: int, values: int) -> str:
    names = ", ".join(f'"v{each}"' for each in range(values))
    return "".join(f"[features.x{index}]\nvalues = [{names}]\n" for index in range(count))


def make_plan(body: str, people: int, each: str) -> Plan:
    """Compile a survey whose answers have this epsilon each."""

    def compiled(epsilon: Decimal) -> Plan:
        text = SURVEY.format(epsilon=epsilon, people=people, batch=int(0.6 * people))
        return read_survey(text + body).compile()

    return compiled(Decimal(each) * len(compiled(Decimal(2)).questions))


def draw_values(shares: Floats, rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    """Draw n values; `shares` are (values,), or (n, values) of each person."""
    return np.asarray((rng.random(n)[:, None] > np.cumsum(shares, axis=-1)[..., :-1]).sum(axis=1))


@dataclass(frozen=True)
class World:
    """A survey, its people, and the true values of its estimates."""

    body: str
    draw: Callable[[Plan, np.random.Generator, int], People]
    figures: Callable[[Plan, Estimates], Iterator[tuple[str, IntervalEstimate, Floats]]]


def draw_labelled(plan: Plan, rng: np.random.Generator, n: int) -> People:
    labels = draw_values(PRIOR, rng, n)
    return np.stack([draw_values(each[labels], rng, n) for each in GIVEN], axis=1), labels


def list_labelled(plan: Plan, estimates: Estimates) -> Iterator[tuple[str, IntervalEstimate, Floats]]:
    yield "P(label), pooled from ten questions", estimates.raw_prior, PRIOR
    for given, each in zip(GIVEN, estimates.features, strict=True):
        assert isinstance(each, FeatureResult)
        yield "P(value | label)", each.conditionals, given.T
        yield "P(value)", each.shares, PRIOR @ given


def draw_shares(plan: Plan, rng: np.random.Generator, n: int) -> People:
    return (rng.random((n, 5)) < SHARE).astype(np.int64), np.zeros(n, dtype=np.int64)


def list_shares(plan: Plan, estimates: Estimates) -> Iterator[tuple[str, IntervalEstimate, Floats]]:
    first = estimates.features[0]
    assert isinstance(first, FeatureResult)
    yield "P(value), alone and in four tables", first.shares, np.array([1 - SHARE, SHARE])
    for table in estimates.tables:
        yield "cells of tables", table.cells, np.outer([1 - SHARE, SHARE], [1 - SHARE, SHARE])


def draw_numbers(plan: Plan, rng: np.random.Generator, n: int) -> People:
    columns = []
    for feature in plan.features:
        assert isinstance(feature, NumericFeature)
        columns.append(feature.code_array(np.clip(LAWS[feature.name](rng, n), 0, 100)))
    return np.column_stack(columns), np.zeros(n, dtype=np.int64)


def list_numbers(plan: Plan, estimates: Estimates) -> Iterator[tuple[str, IntervalEstimate, Floats]]:
    for each in estimates.features:
        assert isinstance(each, NumberResult)
        x = np.clip(LAWS[each.name](np.random.default_rng(1), 2_000_000), 0, 100)
        yield f"mean, {each.name}", each.overall.means, np.array([x.mean()])
        yield f"variance, {each.name}", each.overall.variances, np.array([x.var()])


ALONE = discrete(5, 2).replace("[features.x0]\n", "[features.x0]\nalone = true\n")
WORLDS = {
    "label": World(LABEL + discrete(10, 4), draw_labelled, list_labelled),
    "tables": World(
        ALONE + "".join(f'[tables.t{each}]\nfeatures = ["x0", "x{each}"]\n' for each in range(1, 5)),
        draw_shares,
        list_shares,
    ),
    "numbers": World(
        "".join(f"[features.{name}]\nrange = [0, 100]\n" for name in LAWS), draw_numbers, list_numbers
    ),
}
Cell = tuple[str, int, str]
"""The name of a world, the number of people, and the epsilon of each answer."""
Found = dict[str, list[Floats]]
"""Of each kind of estimate, whether the intervals contain the truth, flat."""


def work(job: tuple[Cell, int]) -> Found:
    """Run a chunk of surveys."""
    (name, people, each), start = job
    world, found = WORLDS[name], defaultdict(list)
    plan = make_plan(world.body, people, each)
    for seed in range(start, start + CHUNK):
        codes, labels = world.draw(plan, np.random.default_rng([seed, 1]), people)
        stream = FastStream(np.random.SeedSequence([seed, 2]))
        estimates = estimate_snapshot(simulate_reports(plan, codes, labels, stream))
        held: Found = defaultdict(list)
        for kind, figure, truth in world.figures(plan, estimates):
            held[kind].append(((figure.low <= truth) & (truth <= figure.high)).ravel().astype(np.float64))
        for kind, parts in held.items():
            found[kind].append(np.concatenate(parts))
    return found


def report_coverage(surveys: int) -> Iterator[str]:
    """Yield a line for each kind of estimate and number of people."""
    cells = [(name, people, each) for name in WORLDS for people, each in SETTINGS.items()]
    jobs = [(cell, start) for cell in cells for start in range(0, surveys, CHUNK)]
    parts: dict[tuple[str, int], list[Floats]] = defaultdict(list)
    with ProcessPoolExecutor() as pool:
        for ((_, people, _), _), found in zip(jobs, pool.map(work, jobs), strict=True):
            for kind, held in found.items():
                parts[kind, people] += held
    for (kind, people), held in parts.items():
        by_cell = np.mean(held, axis=0)
        errors = (0.95 - by_cell.min()) / sqrt(0.95 * 0.05 / len(held))
        yield (
            f"| {kind} | {people:,} | {SETTINGS[people]} | {by_cell.mean():.1%} | {by_cell.min():.1%} "
            f"| {errors:.1f} |"
        )


def report_widths(surveys: int) -> Iterator[str]:
    """Yield a line for each setting: the mean half width of the shares of ten questions, in points."""
    for people, values, each, goal in WIDTHS:
        plan, widths = make_plan(discrete(10, values), people, each), []
        for seed in range(surveys):
            codes = np.random.default_rng([seed, 3]).integers(values, size=(people, 10))
            snapshot = simulate_reports(plan, codes, np.zeros(people, dtype=np.int64), FastStream(seed))
            for feature in estimate_snapshot(snapshot).features:
                assert isinstance(feature, FeatureResult)
                widths.append(50 * float((feature.shares.high - feature.shares.low).mean()))
        yield f"| {people:,} | {values} | {each} | {np.mean(widths):.2f} | {goal} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--surveys", type=int, default=400, help=f"a multiple of {CHUNK}")
    surveys = parser.parse_args().surveys
    print("| estimate | people | epsilon each | coverage | worst single | standard errors below 95% |")
    print("|---" * 6 + "|", *report_coverage(surveys), sep="\n")
    print("\n| people | values | epsilon each | mean half width, points | goal |")
    print("|---" * 5 + "|", *report_widths(max(surveys // 10, 1)), sep="\n")


if __name__ == "__main__":
    main()
