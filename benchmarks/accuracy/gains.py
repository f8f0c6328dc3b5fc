"""Ours against the best of the paper's five, and against asking for the label alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.accuracy.grid import EPSILONS, LABEL, NON_PRIVATE, OURS, PAPER, ROUNDS, VALIDATED, Cell
from benchmarks.accuracy.results import Floats, Results
from benchmarks.accuracy.tables import markdown, mean_error, shown, times

SIGNIFICANT = 2.0
NOTICED = 0.005
FOUND = 3.0
"""So many standard errors apart, the larger of two classes is found by asking for the label alone."""
BELOW = 0.01


@dataclass(frozen=True)
class Gain:
    """One cell of the comparison.

    Attributes
    ----------
    data, epsilon : str
    best : str
        The one of the paper's five that was best in this cell, with hindsight.
    gains : float array
        Ours minus it, repeat by repeat.
    z : float
        How far apart the two largest classes are, in standard errors of asking for the label alone.
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
        """Compare what was measured."""
        accuracies = {way: results.get(Cell(data, way, epsilon)) for way in (*PAPER, OURS)}
        best = max(PAPER, key=lambda way: float(accuracies[way].mean()))
        majority = results.get(Cell(data, NON_PRIVATE), "majority")
        below = bool((majority - accuracies[OURS]).mean() > BELOW)
        z = float(results.get(Cell(data, LABEL, epsilon), "z").mean())  # it differs little among the splits
        return cls(data, epsilon, best, accuracies[OURS] - accuracies[best], z, below)

    @property
    def where(self) -> str:
        return f"{self.data} at {self.epsilon}"


def data_set(results: Results, data: str) -> str:
    """Return the picture of a data set and its table."""
    cells = [Gain.of(results, data, epsilon) for epsilon in EPSILONS]

    def accuracies(way: str) -> list[str]:
        return [way, *(shown(results.get(Cell(data, way, epsilon))) for epsilon in EPSILONS)]

    rows = [
        *map(accuracies, (*PAPER, OURS)),
        ["ours - best of five", *(f"{shown(each.gains, '+')} ({each.best})" for each in cells)],
        accuracies(ROUNDS),
        ["3 rounds - ours", *(shown(beyond(results, ROUNDS, data, epsilon), "+") for epsilon in EPSILONS)],
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

Non-private Naive Bayes {without:.3f}, majority class {majority:.3f}; {repeats}."""


def beyond(results: Results, way: str, data: str, epsilon: str) -> Floats:
    """Return what asking otherwise gained over ours, repeat by repeat."""
    return results.get(Cell(data, way, epsilon)) - results.get(Cell(data, OURS, epsilon))


def gained(results: Results, way: str, names: Sequence[str]) -> str:
    """Say what asking otherwise gained on average, and on each data set."""
    found = {each: [beyond(results, way, each, epsilon) for epsilon in EPSILONS] for each in names}
    overall = np.mean([cell for cells in found.values() for cell in cells], axis=0)
    each = [f"{name} {shown(np.mean(cells, axis=0), '+')}" for name, cells in found.items()]
    return f"{shown(overall, '+')} on average over ours: {listed(each)}"


def distance(cell: Gain) -> str:
    z = f"**{cell.z:.1f}**" if cell.z >= FOUND else f"{cell.z:.1f}"
    return f"{z} below" if cell.below else z


def gains(results: Results, names: Sequence[str]) -> str:
    """Sum up all cells."""
    cells = [Gain.of(results, *each) for each in product(names, EPSILONS)]
    rows = [summed(name, [cell for cell in cells if cell.data == name]) for name in names]
    lost = [
        f"{cell.where} ({shown(cell.gains, '+')} against {cell.best})"
        for cell in cells
        if cell.gains.mean() < -NOTICED
    ]
    found = [cell for cell in cells if cell.z >= FOUND]
    below = [cell.where for cell in found if cell.below]
    head = ["", "mean gain", "cells", "won", "lost", f"lost by more than {NOTICED}"]
    return f"""## Ours against the best of the five

In every cell **ours** stands against whichever of the paper's five was best there, chosen with hindsight;
all saw the same splits ({times(results.settings.repeats)}), and standard errors are those of the paired
differences. Won and lost are the cells with a difference of more than two of them.

{markdown(head, [*rows, summed("all", cells)])}

Lost by more than {NOTICED}: {listed(lost)}.

**Three rounds** (half of the users, a quarter, a quarter; the later ones leave out what was found to tell
nothing) gain {gained(results, ROUNDS, names)}.

**Validated** (a fifth of the users judge the model of the others instead) gain
{gained(results, VALIDATED, names)}.

**label only** asks every user for nothing but the label, by the best oracle for its values, and always
guesses what then seems the most frequent. z is, in closed form, how many standard errors of that estimate
the two largest classes are apart: from {FOUND:g} on (bold) the majority class could have been found, which
is so in {len(found)} of {len(cells)} cells. "below" says that ours is more than {BELOW} below the majority
class; among these cells in {len(below)}: {listed(below)}."""


def summed(title: str, cells: Sequence[Gain]) -> list[str]:
    means, errors = np.array([mean_error(cell.gains) for cell in cells]).T
    significant = (means > SIGNIFICANT * errors, means < -SIGNIFICANT * errors)
    counted = ["-" if np.isnan(errors).any() else str(int(each.sum())) for each in significant]
    overall = shown(np.mean([cell.gains for cell in cells], axis=0), "+")
    return [title, overall, str(len(cells)), *counted, str(int((means < -NOTICED).sum()))]


def listed(words: Sequence[str]) -> str:
    return "; ".join(words) or "none"
