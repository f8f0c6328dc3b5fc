"""The tables of docs/results/central.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from benchmarks.accuracy.grid import Cell
from benchmarks.accuracy.results import Floats, Results
from benchmarks.central.cells import EPSILONS, MAJORITY, TIMED_EPSILON, TIMED_ROWS, TIMED_SETS, models_of
from benchmarks.central.data_sets import TWO_CLASSES
from benchmarks.central.ours import AUTO, AUTO_REPLACE, LEARNERS, OURS
from benchmarks.central.peers import BOOSTING, FIVE

BEST = "best of five"
BEST_LEARNER = "best single learner"
ALLOWED_LOSS = 0.005
"""A model is behind the other library in a cell if its mean is lower by more than this."""
LOSS_BY_CHOICE = 0.012
"""`auto` is behind the best single learner, which is known in hindsight only, if it loses more than this."""
LOSS_TO_TREE = 0.02
"""`auto` is behind the tree if it loses more than this."""
_TEST_PER_TRAINING = 1 / 4
Models = tuple[str, ...]
_HEAD = ["", *(f"eps {epsilon}" for epsilon in EPSILONS)]


def data_set(results: Results, name: str) -> str:
    """Return the accuracy of each model on one data set."""
    lines = [_average(results, [name], model) for model in models_of(name)]
    for model, peers in ((AUTO, LEARNERS), (AUTO, FIVE), (AUTO_REPLACE, FIVE)):
        differences = (_compare_with_best(results, name, model, epsilon, peers) for epsilon in EPSILONS)
        lines.append([f"{model} - {_name_of(peers)}", *differences])
    if name in TWO_CLASSES:
        differences = (_compare(results, name, AUTO, BOOSTING, epsilon) for epsilon in EPSILONS)
        lines.append([f"{AUTO} - {BOOSTING}", *differences])
    majority = results.get(Cell(name, MAJORITY))
    compared = f"The majority class has an accuracy of {majority.mean():.3f}; {len(majority)} splits."
    return f"{_format(lines)}\n\n{compared}"


def means(results: Results, names: Sequence[str]) -> str:
    """Return the means over all data sets, and where ours is behind."""
    lines = [_average(results, names, model) for model in (*OURS, *FIVE)]
    lines += [_average_best(results, names, LEARNERS), _average_best(results, names, FIVE)]
    for model, peers, loss in (
        (AUTO, LEARNERS, LOSS_BY_CHOICE),
        (AUTO, ("tree",), LOSS_TO_TREE),
        (AUTO, FIVE, ALLOWED_LOSS),
        (AUTO_REPLACE, FIVE, ALLOWED_LOSS),
    ):
        behind = (_find_lost(results, names, model, epsilon, peers, loss) for epsilon in EPSILONS)
        title = f"{model} is more than {_show(loss)} behind {_name_of(peers)} on"
        lines.append([title, *(", ".join(each) or "none" for each in behind)])
    return _format(lines)


def two_classes(results: Results, _names: Sequence[str]) -> str:
    """Return the means over the data sets with two classes."""
    lines = [_average(results, TWO_CLASSES, model) for model in (*OURS, BOOSTING)]
    return _format([*lines, *(_average_best(results, TWO_CLASSES, models) for models in (LEARNERS, FIVE))])


def times(results: Results, _names: Sequence[str]) -> str:
    """Return the processor seconds of each model."""
    lines = []
    for model in dict.fromkeys(model for name in TIMED_SETS for model in models_of(name)):
        if model not in (AUTO, AUTO_REPLACE):
            lines.append([model, *(_show_seconds(results, name, model) for name in TIMED_SETS)])
    return _format(lines, ["", *TIMED_SETS])


SUMMARIES: dict[str, Callable[[Results, Sequence[str]], str]] = {
    "means": means,
    "two-classes": two_classes,
    "times": times,
}


def standard_error(differences: Floats) -> float:
    """Return the standard error of a mean over splits.

    Their training rows overlap, so it is larger than for independent rows (Nadeau and Bengio 2003).
    """
    return float(np.sqrt((1 / len(differences) + _TEST_PER_TRAINING) * differences.var(ddof=1)))


def _mean(results: Results, name: str, model: str, epsilon: str) -> float:
    return float(results.get(Cell(name, model, epsilon)).mean())


def _find_best(results: Results, name: str, epsilon: str, models: Models) -> tuple[float, str]:
    return max((_mean(results, name, model, epsilon), model) for model in models)


def _name_of(models: Models) -> str:
    """Return what the tables call the best of these models."""
    return {FIVE: BEST, LEARNERS: BEST_LEARNER}.get(models, models[0])


def _find_lost(
    results: Results, names: Sequence[str], model: str, epsilon: str, peers: Models, loss: float
) -> list[str]:
    def is_lost(name: str) -> bool:
        best, _ = _find_best(results, name, epsilon, peers)
        return _mean(results, name, model, epsilon) < best - loss

    return [name for name in names if is_lost(name)]


def _compare_with_best(results: Results, name: str, model: str, epsilon: str, peers: Models) -> str:
    _, best = _find_best(results, name, epsilon, peers)
    return f"{_compare(results, name, model, best, epsilon)} ({best})"


def _compare(results: Results, name: str, model: str, peer: str, epsilon: str) -> str:
    ours, theirs = (results.get(Cell(name, each, epsilon)) for each in (model, peer))
    return f"{(ours - theirs).mean():+.3f} ± {standard_error(ours - theirs):.3f}"


def _average(results: Results, names: Sequence[str], model: str) -> list[str]:
    cells = ([_mean(results, name, model, epsilon) for name in names] for epsilon in EPSILONS)
    return [model, *(_show(float(np.mean(each))) for each in cells)]


def _average_best(results: Results, names: Sequence[str], models: Models) -> list[str]:
    cells = ([_find_best(results, name, epsilon, models)[0] for name in names] for epsilon in EPSILONS)
    return [_name_of(models), *(_show(float(np.mean(each))) for each in cells)]


def _show(accuracy: float) -> str:
    return f"{accuracy:.3f}"


def _show_seconds(results: Results, name: str, model: str) -> str:
    if model not in models_of(name):
        return ""
    return f"{float(results.get(Cell(name, model, TIMED_EPSILON, TIMED_ROWS), 'seconds')[0]):.2f}"


def _format(lines: Iterable[list[str]], head: list[str] = _HEAD) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *lines))
