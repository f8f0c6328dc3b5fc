"""Format the tables of populations, of estimators and of calibration."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
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
from ldp_aggregator.classifiers.prediction_quality import CALIBRATION_BINS

PROSE_WIDTH = 110
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
    "ours": (OURS, ""),
    "plug-in": (OURS, "plug-in "),
    "DE, paper": ("DE", ""),
    "OUE, paper": ("OUE", ""),
}
"""Rows of the tables of predicted probabilities: a method, and how the names of its results begin."""


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


def paragraph(text: str) -> str:
    """Return a text in lines of at most PROSE_WIDTH characters."""
    return textwrap.fill(" ".join(text.split()), PROSE_WIDTH, break_long_words=False, break_on_hyphens=False)


def scaling(results: Results, names: Sequence[str]) -> str:
    """Return the comparison of population sizes, as Markdown."""
    rows = []
    for data, epsilon, users in product(names, POPULATION_EPSILONS, POPULATIONS):
        accuracies = (results.get(Cell(data, way, epsilon, users)) for way in POPULATION_WAYS)
        without = results.get(Cell(data, NON_PRIVATE, users=users))
        rows.append([data, epsilon, f"{users:,}", *map(shown, accuracies), shown(without)])
    most = (Cell("", OURS, users=users).repeats(results.settings.repeats) for users in POPULATIONS)
    repeats = ", ".join(map(str, most))
    drawn = f"""The users are drawn with replacement from the training rows, and are the same for all methods.
    There are {repeats} repeats for the increasing numbers of users."""
    return f"""## More people

{paragraph(drawn)}

{markdown(["", "eps", "users", *POPULATION_WAYS, NON_PRIVATE], rows)}"""


def peers(results: Results, names: Sequence[str]) -> str:
    """Return the comparison of estimators on the same reports, as Markdown."""
    rows = []
    for data, (title, (way, name)) in product(names, ESTIMATED.items()):
        found = (shown(results.get(Cell(data, way, epsilon), name)) for epsilon in EPSILONS)
        rows.append([data, title, *found])
    estimators = f"""The rows MI and IBU show plain Naive Bayes with frequencies that
    [multi-freq-ldpy](https://pypi.org/project/multi-freq-ldpy/) estimates from the same reports of the
    paper's protocol. **MI** is matrix inversion, clipped and normalised. **IBU** is the iterative Bayesian
    update, for DE only. Zeros are replaced by {FLOOR:g}. **paper** is the paper's estimator.
    {times(results.settings.repeats).capitalize()}."""
    return f"""## multi-freq-ldpy's estimators

{paragraph(estimators)}

{markdown(["", "", *(f"eps {epsilon}" for epsilon in EPSILONS)], rows)}"""


def calibration(results: Results, names: Sequence[str]) -> str:
    """Return the calibration errors and the log losses of predicted probabilities, as Markdown."""
    error = f"""The first table shows the expected calibration error in {CALIBRATION_BINS} bins: the mean
    absolute difference between the probability of the predicted class and the share of correct predictions.
    **plug-in** is plain Naive Bayes with the [raw estimates](../glossary.md#raw-estimate) from the same
    reports as ours, clipped to 0 and normalised.
    {times(results.settings.repeats).capitalize()}."""
    loss = """The second table shows the log loss, the mean of -log P(true label). If a model gives two
    classes equal probabilities, its log loss is 0.693."""
    head = ["", "", *(f"eps {epsilon}" for epsilon in CALIBRATED)]
    return f"""## Calibration of predicted probabilities

{paragraph(error)}

{markdown(head, believed(results, names, "error"))}

{paragraph(loss)}

{markdown(head, believed(results, names, "loss"))}"""


def believed(results: Results, names: Sequence[str], measure: str) -> Iterator[list[str]]:
    """Yield the rows of a table of predicted probabilities, by one of their measures."""
    for data in names:
        for title, (way, begin) in BELIEVED.items():
            found = (shown(results.get(Cell(data, way, epsilon), begin + measure)) for epsilon in CALIBRATED)
            yield [data, title, *found]
        without = shown(results.get(Cell(data, NON_PRIVATE), measure))
        yield [data, NON_PRIVATE, *[without] * len(CALIBRATED)]
