"""Snapshots are read back as they were written, added up, and refused if damaged."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from encoders.survey import Plan, read_survey
from ldp_aggregator.snapshot import Snapshot, SnapshotError, Total, sum_snapshots
from tests.ldp_aggregator.collector.conftest import SURVEY
from tests.support.surveys import survey_toml


@pytest.fixture(scope="module")
def plan() -> Plan:
    return read_survey(SURVEY).compile()


@pytest.fixture
def snapshot(plan: Plan) -> Snapshot:
    totals = {
        question.key: Total(3, np.arange(question.domain, dtype=np.int64) - 2**62)
        for question in plan.questions
    }
    return Snapshot(plan, totals, {"malformed": 2})


def contents(snapshot: Snapshot) -> object:
    totals = {key: (total.n, total.cells.tolist()) for key, total in snapshot.totals.items()}
    return snapshot.plan, totals, dict(snapshot.rejections), snapshot.simulated


def test_a_snapshot_is_read_back_exactly(snapshot):
    for each in (snapshot, replace(snapshot, simulated=True)):
        assert contents(Snapshot.from_json(each.to_json())) == contents(each)


def test_snapshots_add_up(plan, snapshot):
    key = plan.questions[0].key
    more = Snapshot(plan, {key: Total(4, np.full(4, 2**61))}, {"malformed": 1, "too-large": 1})
    both = snapshot + more
    assert (both.totals[key].n, both.totals[key].cells[1]) == (7, 1 - 2**61)
    assert both.rejections == {"malformed": 3, "too-large": 1}
    assert not both.simulated
    assert (both + replace(snapshot, simulated=True)).simulated


def round_toml(name: str, tea: int = 1, milk: int = 1, sugar: int = 1, **changes: object) -> str:
    features = {
        "tea": {"values": ["black", "green"], "weight": tea},
        "milk": {"values": ["with", "without"], "weight": milk},
        "sugar": {"values": ["none", "one", "two"], "weight": sugar},
    }
    return survey_toml(id=name, features=features, **({"family": "tea"} | changes))


def make_round(name: str, tea: int = 1, milk: int = 1, sugar: int = 1) -> Snapshot:
    plan = read_survey(round_toml(name, tea, milk, sugar)).compile()
    counted = {each.key: Total(3, np.ones(each.cells, dtype=np.int64)) for each in plan.questions}
    return Snapshot(plan, counted, {"malformed": 1})


def test_the_sum_of_rounds_has_the_plan_with_most_questions():
    first, second, third = make_round("tea"), make_round("two", milk=0), make_round("three", tea=0, sugar=0)
    expected = {first.plan.questions[place].key: 6 for place in range(3)}
    for order in permutations([first, second, third]):
        total = sum_snapshots(order)
        assert total.plan == first.plan
        assert {key: each.n for key, each in total.totals.items()} == expected
        assert total.rejections == {"malformed": 3}


def test_the_sum_of_equal_rounds_has_the_plan_of_the_first():
    equal, unequal = make_round("equal"), make_round("unequal", tea=2)
    assert (equal + unequal).plan == equal.plan
    assert (unequal + equal).plan == unequal.plan


def test_the_sum_of_equal_rounds_has_one_plan_in_any_order():
    family, later, unequal = make_round("tea"), make_round("later"), make_round("unequal", tea=2)
    for order in permutations([unequal, family, later]):
        assert sum_snapshots(order).plan == family.plan
    for order in permutations([unequal, later]):
        assert sum_snapshots(order).plan == later.plan


def test_only_rounds_of_one_family_and_of_the_same_features_add_up():
    first = make_round("tea")
    text = round_toml("two", milk=0)
    others = [
        round_toml("two", milk=0, family=None),
        text.replace('"without"', '"never"'),
        round_toml("two", milk=0, epsilon=2),
        text.replace('"no"]', '"never"]'),
        text.replace("weight = 0", "weight = 1") + '[features.more]\nvalues = ["a", "b"]\n',
    ]
    for other in others:
        second = Snapshot(read_survey(other).compile(), {})
        for pair in permutations([first, second]):
            with pytest.raises(SnapshotError, match="not rounds of one family"):
                sum_snapshots(pair)
    with pytest.raises(SnapshotError, match="not rounds of one family"):
        sum_snapshots([make_round("two", milk=0), make_round("three", tea=0)])


Damage = Callable[[dict[str, Any], dict[str, Any]], object]


@pytest.mark.parametrize(
    "damage",
    [
        lambda document, total: total["cells"].__setitem__(0, 1.5),
        lambda document, total: total["cells"].__setitem__(0, True),
        lambda document, total: total["cells"].__setitem__(0, "5"),
        lambda document, total: total["cells"].__setitem__(0, 2**63),
        lambda document, total: total["cells"].pop(),
        lambda document, total: total.update(n=-1),
        lambda document, total: total.update(n=3.0),
        lambda document, total: total.pop("n"),
        lambda document, total: document.update(totals=[]),
        lambda document, total: document["totals"].update(unknown=total),
        lambda document, total: document.update(rejections={"malformed": -4}),
        lambda document, total: document.update(rejections={"\x1b]0;owned\x07": 4}),
        lambda document, total: document.update(rejections={"malformed": "4"}),
        lambda document, total: document.pop("plan"),
    ],
)
def test_an_edited_snapshot_is_refused(snapshot, damage):
    document = json.loads(snapshot.to_json())
    damage(document, next(iter(document["totals"].values())))
    with pytest.raises(SnapshotError):
        Snapshot.from_json(json.dumps(document).encode())


@pytest.mark.parametrize("number", [10**400, 2**63, -1, 1.5, True, "5", None, float("nan")])
def test_a_number_that_is_no_count_is_named_by_file_and_field(snapshot, number):
    key = next(iter(snapshot.totals))
    for path in (["rejections", "malformed"], ["totals", key, "n"], ["totals", key, "cells", 0]):
        document = place = json.loads(snapshot.to_json())
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = number
        if path[-1] == 0 and number == -1:
            continue  # a counter may be negative
        field = ".".join(map(str, path))
        with pytest.raises(SnapshotError, match=rf"^here\.json: {field}: needs a whole number .*again$"):
            Snapshot.from_json(json.dumps(document).encode(), "here.json")


def test_a_snapshot_with_an_invalid_plan_is_named(snapshot):
    document = json.loads(snapshot.to_json())
    document["plan"]["epsilon"] = "1e400"
    with pytest.raises(SnapshotError, match=r"^here\.json: plan: .*again$"):
        Snapshot.from_json(json.dumps(document).encode(), "here.json")


def test_a_snapshot_of_another_version_is_refused(snapshot):
    data = snapshot.to_json().replace(b'"version":1', b'"version":7')
    with pytest.raises(SnapshotError, match=r"here\.json: .* version 7, and only 1 is supported: use"):
        Snapshot.from_json(data, "here.json")


def test_a_truncated_snapshot_is_refused(snapshot):
    with pytest.raises(SnapshotError, match="truncated"):
        Snapshot.from_json(snapshot.to_json()[:-1])
