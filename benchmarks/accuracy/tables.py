"""Format the tables of populations, of estimators and of calibration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product

from benchmarks.accuracy.grid import (
    EPSILONS,
    NON_PRIVATE,
    OURS,
    POPULATION_EPSILONS,
    POPULATION_WAYS,
    POPULATIONS,
    Cell,
)
from benchmarks.accuracy.plain import FLOOR
from benchmarks.accuracy.results import Floats, Results
from benchmarks.accuracy.ways import BINS

CALIBRATED = ("0.25", "0.5", "1")
ESTIMATED = {
    "DE, paper": ("DE", "accuracy"),
    "DE, MI": ("DE", "MI accuracy"),
    "DE, IBU": ("DE", "IBU accuracy"),
    "SUE, paper": ("SUE", "accuracy"),
    "SUE, MI": ("SUE", "MI accuracy"),
    "OUE, paper": ("OUE", "accuracy"),
    "OUE, MI": ("OUE", "MI accuracy"),
    "ours": (OURS, "accuracy"),
}
"""Rows of the table of estimators: a method, and the name of its result."""
BELIEVED = {
    "ours": (OURS, "error"),
    "plug-in": (OURS, "plug-in error"),
    "DE, paper": ("DE", "error"),
    "OUE, paper": ("OUE", "error"),
}
"""Rows of the table of calibration."""


def mean_error(values: Floats) -> tuple[float, float]:
    """Return the mean of the repeats and its standard error, which is NaN for a single repeat."""
    spread = float(values.std(ddof=1)) if len(values) > 1 else math.nan
    return float(values.mean()), spread / len(values) ** 0.5


def shown(values: Floats, sign: str = "") -> str:
    mean, error = mean_error(values)
    return f"{mean:{sign}.3f} ± {'-' if math.isnan(error) else format(error, '.3f')}"


def times(repeats: int) -> str:
    return f"{repeats} repeat{'s' * (repeats != 1)}"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    first, *others = (f"| {' | '.join(row)} |" for row in (head, *rows))
    return "\n".join([first, f"|{'---|' * len(head)}", *others])


def scaling(results: Results, names: Sequence[str]) -> str:
    """Return the comparison of population sizes, as Markdown."""
    rows = []
    for data, epsilon, users in product(names, POPULATION_EPSILONS, POPULATIONS):
        accuracies = (results.get(Cell(data, way, epsilon, users)) for way in POPULATION_WAYS)
        without = results.get(Cell(data, NON_PRIVATE, users=users))
        rows.append([data, epsilon, f"{users:,}", *map(shown, accuracies), shown(without)])
    most = (Cell("", OURS, users=users).repeats(results.settings.repeats) for users in POPULATIONS)
    repeats = ", ".join(map(str, most))
    return f"""## More people

Users drawn with replacement from the training rows, the same for all; {repeats} repeats.

{markdown(["", "eps", "users", *POPULATION_WAYS, NON_PRIVATE], rows)}"""


def peers(results: Results, names: Sequence[str]) -> str:
    """Return the comparison of estimators on the same reports, as Markdown."""
    rows = []
    for data, (title, (way, name)) in product(names, ESTIMATED.items()):
        found = (shown(results.get(Cell(data, way, epsilon), name)) for epsilon in EPSILONS)
        rows.append([data, title, *found])
    return f"""## multi-freq-ldpy's estimators

Plain Naive Bayes of the same reports of the paper's protocol, with frequencies estimated by
[multi-freq-ldpy](https://pypi.org/project/multi-freq-ldpy/): by matrix inversion (MI, clipped and normalised)
and, for DE, by iterative Bayesian update (IBU). Zeros are replaced by {FLOOR:g};
{times(results.settings.repeats)}.

{markdown(["", "", *(f"eps {epsilon}" for epsilon in EPSILONS)], rows)}"""


def calibration(results: Results, names: Sequence[str]) -> str:
    """Return the calibration errors of predicted probabilities, as Markdown."""
    rows = []
    for data in names:
        for title, (way, name) in BELIEVED.items():
            found = (shown(results.get(Cell(data, way, epsilon), name)) for epsilon in CALIBRATED)
            rows.append([data, title, *found])
        without = shown(results.get(Cell(data, NON_PRIVATE), "error"))
        rows.append([data, NON_PRIVATE, *[without] * len(CALIBRATED)])
    return f"""## Calibration of predicted probabilities

Expected calibration error of the predicted class's probability, in {BINS} bins: its difference from the
share of correct predictions. **plug-in** is plain Naive Bayes of the raw tables of the same reports as ours,
clipped to 0 and normalised; {times(results.settings.repeats)}.

{markdown(["", "", *(f"eps {epsilon}" for epsilon in CALIBRATED)], rows)}"""
