"""Hostile and tampered plans with numbers are refused, and quickly."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from encoders import canonical
from encoders.probability_tables import WORD
from encoders.survey import Plan
from tests.support.json_walk import Path, leaves_of, objects_of
from tests.support.mistakes import refuse
from tests.support.numeric_plans import PLANS, Document
from tests.support.tampering import accepted_changes, accepted_with_more, accepted_without, document, starred


def question_of(changed: Document, moment: int | None, feature: Any = None) -> Document:
    return next(
        entry
        for entry in changed["questions"]
        if entry.get("moment") == moment and (feature is None or entry["feature"] == feature)
    )


def feature_of(changed: Document, name: str) -> Document:
    found: Document = next(entry for entry in changed["features"] if entry["name"] == name)
    return found


def drop(changed: Document, moment: int, feature: Any = None) -> None:
    changed["questions"].remove(question_of(changed, moment, feature))


def swap(changed: Document, one: int, other: int) -> None:
    entries = changed["questions"]
    entries[one], entries[other] = entries[other], entries[one]


def tables_of(changed: Document, moment: int = 1) -> Document:
    found: Document = changed["tables"][question_of(changed, moment)["tables"]]
    return found


def change_entries(entry: Document, **changes: Any) -> None:
    entry.update(changes)


HOSTILE: dict[str, tuple[str, Callable[[Document], object]]] = {
    "a mean without a square, all at once": ("laplace", lambda d: drop(d, 2)),
    "a mean of one and a square of another": (
        "sign",
        lambda d: (drop(d, 2, 1), drop(d, 1, 3)),
    ),
    "numbers before the others": ("laplace", lambda d: swap(d, 0, 3)),
    "features out of order": (
        "laplace",
        lambda d: [change_entries(q, feature=[3, 1]) for q in d["questions"] if "moment" in q],
    ),
    "a feature of the list beyond the last": (
        "laplace",
        lambda d: change_entries(question_of(d, 1), feature=[1, 4]),
    ),
    "a negative feature": ("laplace", lambda d: change_entries(question_of(d, 1), feature=[-1, 3])),
    "a true feature": ("laplace", lambda d: change_entries(question_of(d, 1), feature=[True, 3])),
    "a list in the list": ("laplace", lambda d: change_entries(question_of(d, 1), feature=[[1], 3])),
    "lists that differ": ("laplace", lambda d: change_entries(question_of(d, 2), feature=[1])),
    "several numbers for one": ("sign", lambda d: change_entries(question_of(d, 1), feature=[1, 3])),
    "a category in the list": ("laplace", lambda d: change_entries(question_of(d, 1), feature=[0, 1, 3])),
    "the tables of numbers for squares": (
        "piecewise",
        lambda d: change_entries(question_of(d, 2), tables=question_of(d, 1)["tables"]),
    ),
    "an oracle for a number": ("sign", lambda d: change_entries(question_of(d, 1), mechanism="DE")),
    "a mechanism in a list": ("sign", lambda d: change_entries(question_of(d, 1), mechanism=["sign"])),
    "q of nothing": ("sign-vector", lambda d: change_entries(tables_of(d), q="0")),
    "near one": ("piecewise", lambda d: change_entries(tables_of(d), near=str(WORD))),
    "reach too far": ("piecewise", lambda d: change_entries(tables_of(d), reach="257")),
    "steps huge": ("laplace", lambda d: change_entries(tables_of(d), steps="9" * 5000)),
    "weights short": ("laplace", lambda d: tables_of(d)["weights"].pop()),
    "an empty projection": ("sign", lambda d: change_entries(d["projection"], inputs=[], components=[])),
    "a component of the label": (
        "sign",
        lambda d: change_entries(d["projection"]["components"][0], name="rested"),
    ),
    "a component of another's name": (
        "sign",
        lambda d: change_entries(d["projection"]["components"][0], name="second"),
    ),
    "an input of the label's name": (
        "sign",
        lambda d: change_entries(d["projection"]["inputs"][1], name="rested"),
    ),
    "an input of unknown missing": (
        "sign",
        lambda d: change_entries(d["projection"]["inputs"][1], missing="maybe"),
    ),
    "an input reversed": ("sign", lambda d: change_entries(d["projection"]["inputs"][1], low="9", high="1")),
    "weights as one text": ("sign", lambda d: change_entries(d["projection"]["components"][0], weights="12")),
    "a weight huge": (
        "sign",
        lambda d: change_entries(d["projection"]["components"][0], weights=["1", "9" * 100_000]),
    ),
    "bounds equal as doubles": (
        "sign",
        lambda d: change_entries(feature_of(d, "hours"), low="11.99999999999999999999"),
    ),
    "bounds nan": ("sign", lambda d: change_entries(feature_of(d, "hours"), low="NaN")),
    "bounds signalling": ("sign", lambda d: change_entries(feature_of(d, "hours"), low="sNaN")),
    "bounds infinite": ("sign", lambda d: change_entries(feature_of(d, "hours"), high="Infinity")),
    "bounds beyond doubles": ("sign", lambda d: change_entries(feature_of(d, "hours"), high="9" * 400)),
    "bounds huge": ("sign", lambda d: change_entries(feature_of(d, "hours"), high="9" * 500_000)),
    "bounds of an exponent": (
        "sign",
        lambda d: change_entries(feature_of(d, "hours"), high="1E+999999999999"),
    ),
    "range larger than doubles": (
        "sign",
        lambda d: change_entries(feature_of(d, "hours"), low=f"-17{'0' * 307}", high=f"17{'0' * 307}"),
    ),
    "bounds not canonical": ("sign", lambda d: change_entries(feature_of(d, "hours"), high="12.0")),
    "bounds lists": ("sign", lambda d: change_entries(feature_of(d, "hours"), high=["12"])),
    "bounds missing": ("sign", lambda d: feature_of(d, "hours").pop("high")),
    "edges of a number": ("sign", lambda d: change_entries(feature_of(d, "hours"), edges=["0", "12"])),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_plan_is_refused_at_once(name):
    numeric, change = HOSTILE[name]
    changed = document(PLANS[numeric])
    change(changed)
    data = canonical.dump_canonical_json(changed)
    assert data != PLANS[numeric].json
    start = time.process_time()
    refuse(data, Plan.from_json)
    assert time.process_time() - start < 5


@pytest.mark.slow
def test_many_inputs_are_refused_at_once():
    changed = document(PLANS["sign"])
    age = changed["projection"]["inputs"][0]
    changed["projection"]["inputs"] += [{**age, "name": f"i{number}"} for number in range(9_000)]
    start = time.process_time()
    assert "a weight for each of the 9002 inputs" in str(
        refuse(canonical.dump_canonical_json(changed), Plan.from_json)
    )
    assert time.process_time() - start < 5


STRANGE: tuple[Any, ...] = (
    *(None, True, 0, 1, 2, -1, "", "x", "0", "1", "2", "01", "nan", "9" * 400, "sign"),
    *("category", "error", [], {}, ["1"]),
)


FREE = {
    ("id",),
    ("epsilon",),
    ("label", "name"),
    ("label", "values", "*"),
    ("features", "*", "name"),
    ("features", "*", "values", "*"),
    ("features", "*", "edges", "*"),
    ("features", "*", "low"),
    ("features", "*", "high"),
    ("projection", "inputs", "*", "name"),
    ("projection", "inputs", "*", "low"),
    ("projection", "inputs", "*", "high"),
    ("projection", "inputs", "*", "missing"),
    ("projection", "components", "*", "weights", "*"),
    ("projection", "components", "*", "offset"),
    ("questions", "*", "weight"),
}


@pytest.mark.slow
@pytest.mark.parametrize("numeric", ["sign", "onebit"])
def test_no_entry_can_be_changed_unnoticed(numeric):
    # What an author is free to choose gives another plan, of another digest; the rest contradicts itself.
    plan, free = PLANS[numeric], set()
    for path, value in leaves_of(document(plan)):
        free |= changes_accepted(plan, path, value, STRANGE)
    # a coin's table suits any number of slots, an oracle's only its domain
    assert free == FREE | ({("features", "*", "missing")} if numeric == "onebit" else set())


@pytest.mark.slow
def test_no_question_about_several_numbers_can_be_changed_unnoticed():
    plan, free = PLANS["laplace"], set()
    for path, value in leaves_of({"questions": document(plan)["questions"]}):
        free |= changes_accepted(plan, path, value, STRANGE[::3])
    assert free == {("questions", "*", "weight")}


def changes_accepted(plan: Plan, path: Path, value: Any, strange: tuple[Any, ...]) -> set[Path]:
    """Return the path, with a star for each number in it, if anything else is accepted there."""
    near = [value + 1, value - 1, str(value)] if isinstance(value, int) else [f"{value}x", f"{value}0"]
    accepted = next(accepted_changes(plan, path, value, (*strange, *near)), None)
    return set() if accepted is None else {starred(path)}


@pytest.mark.slow
def test_no_entry_can_be_added_or_left_out():
    plan = PLANS["sign"]
    for path, node in objects_of(document(plan)):
        for place in accepted_without(plan, path, node):
            # to project less, or to ask for less, is the author's choice, and another plan
            assert place == ("projection",) or path in (("projection", "components"), ("questions",))
        assert accepted_with_more(plan, path) is None, path
