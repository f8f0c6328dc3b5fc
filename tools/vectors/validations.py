"""Plans with a model that devices validate: rows at every edge where ports could predict another label.

Each feature of the order outweighs all before it, and each of its cells favours another label than the
neighbouring cells. So the outcome with a feature as the last of the top k shows its code. If it favours none,
or several labels, the features before it decide, or else the order of the labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from encoders.survey import Plan, Question, read_survey
from encoders.survey.features import GRID
from encoders.survey.validation_round import BINS, LOWEST
from tools.vectors import limits, values
from tools.vectors.common import case, first_draws, random_bytes, words

SURVEY = """
[survey]
id = "{name}"
family = "vectors"
epsilon = {epsilon}
[label]
name = "mood"
values = ["good", "fair", "bad"]
[features.tea]
values = ["no", "yes"]
[features.kind]
values = ["x", "y", "z"]
missing = "category"
[features.hours]
edges = [0, 4.5, 7.5, 12]
missing = "category"
[features.size]
range = [0, 2097152]
[features.dose]
range = [-1, 1]
missing = "category"
[features.first]
edges = [-1, -0.25, 0.25, 1]
weights = [0.5, 0.5]
missing = "category"
[features.second]
range = [-1, 1]
weights = [1, 0]
missing = "category"
[projection.inputs.left]
range = [-1, 1]
[projection.inputs.right]
range = [-1, 1]
missing = "category"
[mechanism]
frequency = "{frequency}"
[validation]
order = {order}
tops = {tops}
prior = [-100, -300, -300]
[validation.scores]
{scores}
"""
NAMES = ("tea", "kind", "hours", "size", "dose", "first", "second")
ORDER = ("size", "dose", "kind", "second", "hours", "first")
CELLS = {"tea": 2, "kind": 4, "hours": 4, "size": BINS, "dose": BINS + 1, "first": 4, "second": BINS + 1}
LABELS = ("good", "fair", "bad")
FREE: dict[tuple[str, int], tuple[int, int, int]] = {
    # with the prior: a tie of all, of two, and one of which doubles of thousandths make none
    ("size", 40): (-200, 0, 0),
    ("size", 41): (-1000, 0, 0),
    ("size", 42): (-200, -100, 0),
    ("size", 43): (-200, 0, -100),
    ("size", 44): (-200, 0, LOWEST),
    ("size", 45): (0, 0, 0),
    ("dose", 20): (0, 0, 0),
    ("dose", 22): (0, 0, LOWEST),
    ("kind", 1): (0, 0, 0),
    ("second", 20): (0, 0, 0),
    ("hours", 2): (-1, 0, -1),
    ("first", 1): (0, 0, 0),
}
"""Scores of cells that favour none, or several; of all others one label's is zero, and the others' alike."""
ROW: dict[str, Any] = {
    "tea": "no",
    "kind": "x",
    "hours": 5,
    "size": 1000000,
    "dose": 0.3,
    "left": 0.2,
    "right": -0.5,
}
BAD: dict[str, list[Any]] = {
    "tea": [None, "maybe", 1],
    "kind": ["w", 0],
    "hours": ["5", True],
    "size": [None, "1000000"],
    "dose": ["0.3", False],
    "left": [None, "0.2"],
    "right": ["x", True],
}
BAD_LABELS: list[Any] = [None, "right", "wrong", 1]
EDGES = (1, 2, 31, 32, 33, 62, 63)
"""Parts whose first code and the one before it are among the cases."""
CODES = (0, *(code for part in EDGES for code in (part * GRID // 32, part * GRID // 32 + 1)), 2 * GRID)
TIES = (40, 41, 42, 43, 44, 45)


def _scores(name: str) -> list[list[int]]:
    rows = []
    for cell in range(CELLS[name]):
        weight = 2000 * 4 ** ORDER.index(name) if name in ORDER else 1
        favoured = [0 if label == (cell + 1) % 3 else -min(weight, -LOWEST) for label in range(3)]
        rows.append(list(FREE.get((name, cell), favoured)))
    return rows


def plan_of(name: str, epsilon: str, frequency: str, tops: tuple[int, ...]) -> Plan:
    scores = "\n".join(f"{each} = {_scores(each)}" for each in NAMES)
    text = SURVEY.format(
        name=name, epsilon=epsilon, frequency=frequency, order=list(ORDER), tops=list(tops), scores=scores
    )
    return read_survey(text).compile()


def at(code: int) -> float:
    """Return the number from -1 to 1 of a code."""
    return (code - GRID) / GRID


def edges() -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the name of a feature, a row that is at an edge of it, and what is special of that."""
    yield "size", {}, "the row that all others differ from in one entry"
    for code in CODES:
        yield "size", {"size": code}, f"code {code}"
        yield "dose", {"dose": at(code)}, f"code {code}"
        yield "second", {"left": at(code)}, f"code {code}"
    for cell in TIES:
        yield "size", {"size": cell * GRID // 32 + 16384}, f"the scores of part {cell}"
    yield "size", {"size": -1}, "below its range"
    yield "size", {"size": 1e300}, "above its range"
    for cell in (20, 22):
        for size in (3, 44, 45):
            changed = {"dose": at(cell * GRID // 32 + 16384), "size": size * GRID // 32 + 16384}
            yield "dose", changed, f"the scores of part {cell} after those of part {size}"
    yield "dose", {"dose": None}, "missing"
    yield "dose", {"dose": -7}, "below its range"
    for kind in ("x", "y", "z", None):
        yield "kind", {"kind": kind}, f"{kind}"
    yield "second", {"right": None}, "missing, an input is"
    yield "second", {"left": at(20 * GRID // 32 + 16384)}, "the scores of part 20"
    for hours in (0, 4.499999999999999, 4.5, 7.4, 7.5, 99, None):
        yield "hours", {"hours": hours}, f"{hours}"
    for left, right in ((-1, 0.4), (-1, 0.5), (0.2, 0.2), (0.2, 0.3), (1, 1), (1, None)):
        yield "first", {"left": left, "right": right}, f"of {left} and {right}"
    yield "tea", {"tea": "yes"}, "which the model does not use"


def cases(of: Plan) -> Iterator[dict[str, Any]]:
    """Yield reports that show the outcome with a feature as the last of the top k, for every true label.

    Then the answers that no question gave so far.
    """
    covered = set()
    for name, changed, special in edges():
        place = ORDER.index(name) if name in ORDER else 0
        question = of.questions[min(place, len(of.questions) - 1)]
        for label in LABELS:
            found = shown(of, question, ROW | changed, label, f"{name}, {special}; {label}")
            covered.add((found["question"], found["value"]))
            yield found
    for question, (row, label) in product(of.questions, rows(of)):
        value = question.value(*of.encode(row, label))
        if (question.index, value) not in covered:
            covered.add((question.index, value))
            yield shown(of, question, row, label, f"{question.name}, answer {value}")


def shown(of: Plan, question: Question, row: dict[str, Any], label: str, name: str) -> dict[str, Any]:
    """Return the case with a question's noise that shows the value."""
    noise = next(limits.noises(question, question.value(*of.encode(row, label))))
    return case(of, row, label, words(first_draws(of)[question.index]) + random_bytes(name, 16) + noise, name)


def rows(of: Plan) -> list[tuple[dict[str, Any], str]]:
    """Return a row for each combination of outcomes."""
    found: dict[object, tuple[dict[str, Any], str]] = {}
    for _, changed, _ in edges():
        for label in LABELS:
            row = ROW | changed
            found.setdefault(of.encode(row, label), (row, label))
    return list(found.values())


def single() -> Plan:
    """Return the plan that asks with each top on its own, by DE."""
    return plan_of("vectors-validation", "1", "DE", (1, 2, 3, 4, 5))


def together() -> Plan:
    """Return a plan that asks for two of its outcomes in one question."""
    return plan_of("vectors-joint-validation", "2.5", "auto", (1, 2, 4))


def bad_rows() -> dict[str, Any]:
    """Return rows that are refused by the names of what the model is given, used or not."""
    return values.refused(single(), ROW, "good", BAD, BAD_LABELS)
