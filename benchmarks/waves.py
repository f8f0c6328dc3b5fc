"""Measure what series of waves show: ``python -m benchmarks.waves [WORLD...]``, or ``intake`` for their cost.

Each series has 20,000 people, 12 waves and epsilon 2; every person answers in one wave. In the world "still"
nothing changes; in "gradual" shares, classes and means change by the same amount in each wave; in "jump" they
change once. The columns are percentages of series: in how many an interval contains the truth (the mean over
all waves and figures of a statistic, and the figure that deviates most, in standard errors), all changes at
once (``together``), and in how many something is called changed or stands out. The last columns are half
widths of intervals, in percentage points, or in percent of the range of a number.

Goals: each mean over figures is from 94 to 96, and each figure's within 4 standard errors of 95;
``together`` is at least 95 less 3 standard errors; if nothing changes, "changed" and "stands out" are at
most 6, and 3 standard errors. The trend has no goal, since it supposes that changes are gradual.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks import wave_intake
from encoders.progress import show_progress
from encoders.randomness import FastStream
from encoders.survey import Plan, read_survey
from ldp_aggregator.estimation import ClassConditional, Gaussian, IntervalEstimate
from ldp_aggregator.estimation.figures import CLASS_PRIOR, CONDITIONAL, MEAN, SHARE
from ldp_aggregator.series.series import Course, estimate_series, find_standing
from ldp_aggregator.simulated_population import SyntheticPopulation, simulate_series

Floats = NDArray[np.float64]

PEOPLE, WAVES, EPSILON = 20_000, 12, 2
NOMINAL = 0.95
SURVEY = """
survey = {{id = "waves", epsilon = {epsilon}}}
{label}
{features}
waves = {{first = 2027-01-01, every = "month", count = {waves}}}
"""
LABEL = 'label = {name = "class", values = ["a", "b"]}'
QUESTIONS = {
    "4 values": ("", 'features.four.values = ["p", "q", "r", "s"]'),
    "2 values, 2 classes": (LABEL, 'features.two.values = ["p", "q"]'),
    "4 values, 2 classes": (LABEL, 'features.four.values = ["p", "q", "r", "s"]'),
    "a number": ("", "features.number.range = [0, 10]"),
    "a number, 2 classes": (LABEL, "features.number.range = [0, 10]"),
}
TABLES = {
    2: np.array([[0.3, 0.6], [0.7, 0.4]]),
    4: np.array([[0.4, 0.2], [0.3, 0.2], [0.2, 0.3], [0.1, 0.3]]),
}
MOVES = {2: np.array([[0.15], [-0.15]]), 4: np.array([[-0.12], [0.02], [0.05], [0.05]])}
"""P(value | class), and its change from the first wave to the last."""
PATHS = {
    "still": np.zeros(WAVES),
    "gradual": np.linspace(0, 1, WAVES),
    "jump": (np.arange(WAVES) >= WAVES // 2) * 1.0,
}
"""The part of the change that has happened in each wave."""


@cache
def compile_survey(question: str) -> Plan:
    label, features = QUESTIONS[question]
    text = SURVEY.format(epsilon=EPSILON, waves=WAVES, label=label, features=features)
    return read_survey(text).compile()


def make_population(plan: Plan, part: float) -> SyntheticPopulation:
    """Return the people of a wave in which this part of the change has happened."""
    k = len(plan.label.values)
    prior = np.ones(1) if k == 1 else np.array([0.4 + 0.1 * part, 0.6 - 0.1 * part])
    [feature] = plan.features
    if not hasattr(feature, "texts"):
        means = np.array([-0.2, 0.1])[:k] + 0.15 * part
        conditional: ClassConditional = Gaussian(means, np.full(k, 0.04), None)
    else:
        conditional = TABLES[feature.size][:, :k] + MOVES[feature.size] * part
    return SyntheticPopulation(prior, (conditional,))


def find_truth(course: Course, populations: list[SyntheticPopulation]) -> Floats:
    """Return the true levels, (waves, values, classes)."""
    found = []
    for each in populations:
        [conditional] = each.conditionals
        if isinstance(conditional, Gaussian):
            means = course.bounds[0] + course.span * (1 + conditional.mean) / 2
            of_all, by_class = np.array([[means @ each.prior]]), means[None]
        else:
            of_all, by_class = (conditional @ each.prior)[:, None], conditional
        known = {SHARE: of_all, CONDITIONAL: by_class, CLASS_PRIOR: each.prior[None]}
        known[MEAN] = by_class if course.classes[0] else of_all
        found.append(known[course.statistic])
    return np.stack(found)


@dataclass
class Counts:
    """What was counted for one statistic in one series, or on average."""

    hits: dict[str, Floats]
    """The share of waves whose interval contains the truth, (values, classes)."""
    events: dict[str, float]
    widths: dict[str, float]
    errors: dict[str, Floats] = field(default_factory=dict)
    """The standard errors of `hits` on average."""


def count_series(course: Course, truth: Floats) -> Counts:
    """Return which intervals of one series contain the truth."""
    times = np.arange(WAVES)
    slope = (truth[-1] - truth[0]) / (WAVES - 1)
    pairs = {
        "level": (course.levels, truth),
        "change": (course.changes, np.diff(truth, axis=0)),
        "since first": (course.since_first, truth[1:] - truth[0]),
        "slope": (course.slopes, slope),
        "trend": (course.trend, truth),
    }
    if not np.allclose(truth, truth[0] + times[:, None, None] * slope):
        del pairs["slope"]  # a line is not the truth
    hits = {name: _contains(each, true) for name, (each, true) in pairs.items()}
    both = course.changes, course.since_first
    marked = [find_standing(each) for each in both]
    events = {
        "together": float(_holds(both[0], pairs["change"][1])),
        "together since first": float(_holds(both[1], pairs["since first"][1])),
        "stands out": float(marked[0].any()),
        "either stands out": float(marked[0].any() or marked[1].any()),
        "changed": float(course.test is not None and course.test.p_value <= 0.05),
    }
    scale = 50 / course.span
    widths = {name: float((each.high - each.low).mean()) * scale for name, (each, _) in pairs.items()}
    return Counts(hits, events, widths)


def _contains(estimate: IntervalEstimate, truth: Floats) -> Floats:
    holds = (estimate.low <= truth) & (truth <= estimate.high)
    return np.asarray(holds.reshape(-1, *truth.shape[-2:]).mean(axis=0))


def _holds(estimate: IntervalEstimate, truth: Floats) -> bool:
    return bool(((estimate.simultaneous_low <= truth) & (truth <= estimate.simultaneous_high)).all())


Cell = tuple[str, str]
Key = tuple[str, str]


def run_series(job: tuple[Cell, int]) -> dict[Key, Counts]:
    """Simulate one series; return what was counted for each statistic."""
    (question, world), seed = job
    plan = compile_survey(question)
    populations = [make_population(plan, part) for part in PATHS[world]]
    rng, devices = np.random.default_rng([seed, 1]), FastStream(np.random.SeedSequence([seed, 2]))
    series = estimate_series(simulate_series(plan, populations, PEOPLE, rng, devices), "last")
    assert series
    return {
        (each.statistic, "by class" if each.classes[0] else "all"): count_series(
            each, find_truth(each, populations)
        )
        for each in series.courses
    }


def measure(cell: Cell, repeats: int, pool: ProcessPoolExecutor) -> dict[Key, Counts]:
    """Return the means over many series."""
    found: dict[Key, list[Counts]] = defaultdict(list)
    for counts in pool.map(run_series, [(cell, seed) for seed in range(repeats)], chunksize=10):
        for key, each in counts.items():
            found[key].append(each)
    return {key: average(each) for key, each in found.items()}


def average(series: list[Counts]) -> Counts:
    """Return the means over series of one statistic, with their standard errors."""
    first, least = series[0], NOMINAL * (1 - NOMINAL) / len(series)
    hits = {name: np.stack([each.hits[name] for each in series]) for name in first.hits}
    errors = {
        # of shares that are all 1, the error is that of independent waves
        name: np.sqrt(np.maximum(each.var(axis=0) / len(series), least / WAVES))
        for name, each in hits.items()
    }
    events, widths = (
        {
            name: float(np.mean([getattr(each, part)[name] for each in series]))
            for name in getattr(first, part)
        }
        for part in ("events", "widths")
    )
    return Counts({name: each.mean(axis=0) for name, each in hits.items()}, events, widths, errors)


def list_failures(name: str, world: str, counts: Counts, repeats: int) -> Iterator[str]:
    """Yield each goal that is not reached."""
    error = np.sqrt(NOMINAL * (1 - NOMINAL) / repeats)
    for kind, hits in counts.hits.items():
        if kind == "trend":
            continue
        spread = 4 * float(counts.errors[kind].mean())  # figures of one survey are nearly as one
        if not NOMINAL - 0.01 - spread <= hits.mean() <= NOMINAL + 0.01 + spread:
            yield f"{name}: {kind} {100 * hits.mean():.1f}%"
        if (np.abs(hits - NOMINAL) > 4 * counts.errors[kind]).any():
            yield f"{name}: one {kind} {100 * hits.min():.1f} to {100 * hits.max():.1f}%"
    for kind in ("together", "together since first"):
        if counts.events[kind] < NOMINAL - 3 * error:
            yield f"{name}: {kind} {100 * counts.events[kind]:.1f}%"
    if world == "still":
        limit = 0.06 + 3 * np.sqrt(0.06 * 0.94 / repeats)
        for kind in ("changed", "stands out"):
            if counts.events[kind] > limit:
                yield f"{name}: {kind} {100 * counts.events[kind]:.1f}%"


def format_row(name: str, counts: Counts) -> str:
    cells = []
    for kind in ("level", "change", "since first", "slope", "trend"):
        if kind in counts.hits:
            hits = counts.hits[kind]
            deviations = ((hits - NOMINAL) / counts.errors[kind]).ravel()
            cells.append(f"{100 * hits.mean():.1f} ({deviations[np.abs(deviations).argmax()]:+.1f})")
        else:
            cells.append("-")
    cells += [f"{100 * each:.1f}" for each in counts.events.values()]
    cells += [f"{counts.widths.get(kind, np.nan):.2f}" for kind in ("level", "change", "slope", "trend")]
    return f"| {name} | {' | '.join(cells)} |"


HEAD = (
    "question, world, statistic | level | change | since first | slope | trend | together | since first "
    "| stands out | either | changed | +- level | change | slope | trend"
)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "worlds", nargs="*", choices=[*PATHS, "intake", []], help=", ".join([*PATHS, "intake"])
    )
    parser.add_argument("--questions", nargs="*", choices=QUESTIONS, default=list(QUESTIONS))
    parser.add_argument("--repeats", type=int, default=40, help="series of each question and world")
    arguments = parser.parse_args()
    if "intake" in arguments.worlds:
        raise SystemExit(not wave_intake.main(arguments.repeats))
    cells = [(question, world) for question in arguments.questions for world in arguments.worlds or PATHS]
    failures: list[str] = []
    print(f"| {HEAD} |\n|{'---|' * (HEAD.count('|') + 1)}")
    with ProcessPoolExecutor() as pool, show_progress("simulating", len(cells), "cells") as progress:
        for question, world in cells:
            for (statistic, group), counts in measure((question, world), arguments.repeats, pool).items():
                name = f"{question}, {world}, {statistic.replace('|', 'given')} {group}"
                print(format_row(name, counts), flush=True)
                failures += list_failures(name, world, counts, arguments.repeats)
            progress.advance()
    print("\n".join(failures) or "all goals reached")


if __name__ == "__main__":
    main()
