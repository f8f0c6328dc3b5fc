"""Compare ours with the best of the paper's five mechanisms, and with asking for the label alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.accuracy.grid import (
    EPSILONS,
    LABEL,
    NON_PRIVATE,
    OURS,
    PAPER,
    REAL_SHE,
    VALIDATED,
    Cell,
)
from benchmarks.accuracy.results import Floats, Results
from benchmarks.accuracy.tables import markdown, mean_error, paragraph, shown, times

SIGNIFICANT = 2.0
NOTICED = 0.005
FOUND = 3.0
"""From this difference in standard errors, asking for the label alone finds the larger of two classes."""
BELOW = 0.01


@dataclass(frozen=True)
class Gain:
    """One cell of the comparison.

    Attributes
    ----------
    data, epsilon : str
    best : str
        The best of the paper's five in this cell, in hindsight.
    gains : float array, shape (repeats,)
        Accuracy of ours minus that of the best.
    z : float
        Difference of the two largest classes, in standard errors of asking for the label alone.
    below : bool
        Whether ours is noticeably below the majority class.
    """

    data: str
    epsilon: str
    best: str
    gains: Floats
    z: float
    below: bool

    @classmethod
    def of(cls, results: Results, data: str, epsilon: str) -> Gain:
        """Compare the results of one cell."""
        accuracies = {way: results.get(Cell(data, way, epsilon)) for way in (*PAPER, OURS)}
        best = max(PAPER, key=lambda way: float(accuracies[way].mean()))
        majority = results.get(Cell(data, NON_PRIVATE), "majority")
        below = bool((majority - accuracies[OURS]).mean() > BELOW)
        z = float(results.get(Cell(data, LABEL, epsilon), "z").mean())  # differs little between splits
        return cls(data, epsilon, best, accuracies[OURS] - accuracies[best], z, below)

    @property
    def where(self) -> str:
        return f"{self.data} at {self.epsilon}"


def data_set(results: Results, data: str) -> str:
    """Return the plot and the table of a data set, as Markdown."""
    cells = [Gain.of(results, data, epsilon) for epsilon in EPSILONS]

    def accuracies(way: str) -> list[str]:
        return [way, *(shown(results.get(Cell(data, way, epsilon))) for epsilon in EPSILONS)]

    rows = [
        *map(accuracies, (*PAPER, REAL_SHE, OURS)),
        ["ours - best of five", *(f"{shown(each.gains, '+')} ({each.best})" for each in cells)],
        accuracies(VALIDATED),
        [
            "validated - ours",
            *(shown(beyond(results, VALIDATED, data, epsilon), "+") for epsilon in EPSILONS),
        ],
        accuracies(LABEL),
        ["z of the majority", *map(distance, cells)],
    ]
    whole = Cell(data, NON_PRIVATE)
    without, majority = (results.get(whole, name).mean() for name in ("accuracy", "majority"))
    repeats = times(results.settings.repeats)
    return f"""![Accuracy against epsilon on {data}](figures/{data}.png)

{markdown(["mechanism", *(f"eps {epsilon}" for epsilon in EPSILONS)], rows)}

Non-private Naive Bayes has an accuracy of {without:.3f}, the majority class {majority:.3f}; {repeats}."""


def beyond(results: Results, way: str, data: str, epsilon: str) -> Floats:
    """Return the gain of another method over ours (repeats,)."""
    return results.get(Cell(data, way, epsilon)) - results.get(Cell(data, OURS, epsilon))


def gained(results: Results, way: str, names: Sequence[str]) -> str:
    """Return a text with the gain of another method over ours, on average and on each data set."""
    found = {each: [beyond(results, way, each, epsilon) for epsilon in EPSILONS] for each in names}
    overall = np.mean([cell for cells in found.values() for cell in cells], axis=0)
    each = [f"{name} {shown(np.mean(cells, axis=0), '+')}" for name, cells in found.items()]
    return f"{shown(overall, '+')}: {listed(each)}"


def distance(cell: Gain) -> str:
    z = f"**{cell.z:.1f}**" if cell.z >= FOUND else f"{cell.z:.1f}"
    return f"{z} below" if cell.below else z


def gains(results: Results, names: Sequence[str]) -> str:
    """Return the summary of all cells, as Markdown."""
    cells = [Gain.of(results, *each) for each in product(names, EPSILONS)]
    rows = [summed(name, [cell for cell in cells if cell.data == name]) for name in names]
    lost = [
        f"{cell.where} ({shown(cell.gains, '+')} against {cell.best})"
        for cell in cells
        if cell.gains.mean() < -NOTICED
    ]
    found = [cell for cell in cells if cell.z >= FOUND]
    below = [cell.where for cell in found if cell.below]
    named = f" ({listed(below)})" if below else ""
    head = ["", "mean gain", "cells", "won", "lost", f"lost by more than {NOTICED}"]
    compared = f"""In each cell **ours** is compared with the best of the paper's five mechanisms, which is
    chosen in hindsight for that cell. All methods use the same splits ({times(results.settings.repeats)}),
    and the standard errors refer to the paired differences. A cell is won or lost if the difference is larger
    than two standard errors."""
    validated = f"""The mean difference **ours, validated - ours** is {gained(results, VALIDATED, names)}."""
    majority = f"""**label only** finds the majority class if z is {FOUND:g} or more (bold), which is the case
    in {len(found)} of {len(cells)} cells. "below" marks a cell where ours is more than {BELOW} below the
    majority class; {len(below)} of these {len(found)} cells are marked{named}."""
    return f"""## Ours against the best of the five

{paragraph(compared)}

{markdown(head, [*rows, summed("all", cells)])}

{paragraph(f"Lost by more than {NOTICED}: {listed(lost)}.")}

{paragraph(validated)}

{paragraph(majority)}"""


def summed(title: str, cells: Sequence[Gain]) -> list[str]:
    means, errors = np.array([mean_error(cell.gains) for cell in cells]).T
    significant = (means > SIGNIFICANT * errors, means < -SIGNIFICANT * errors)
    counted = ["-" if np.isnan(errors).any() else str(int(each.sum())) for each in significant]
    overall = shown(np.mean([cell.gains for cell in cells], axis=0), "+")
    return [title, overall, str(len(cells)), *counted, str(int((means < -NOTICED).sum()))]


def listed(words: Sequence[str]) -> str:
    return "; ".join(words) or "none"
