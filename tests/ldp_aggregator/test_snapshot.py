"""Snapshots: read back as they were written, and nothing else is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from encoders.survey import Plan, read_survey
from ldp_aggregator.snapshot import Snapshot, SnapshotError, Total
from tests.ldp_aggregator.collector.conftest import SURVEY


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
    return snapshot.plan, totals, dict(snapshot.rejections)


def test_a_snapshot_is_read_back_exactly(snapshot: Snapshot) -> None:
    assert contents(Snapshot.from_json(snapshot.to_json())) == contents(snapshot)


def test_snapshots_add_up(plan: Plan, snapshot: Snapshot) -> None:
    key = plan.questions[0].key
    more = Snapshot(plan, {key: Total(4, np.full(4, 2**61))}, {"malformed": 1, "too-large": 1})
    both = snapshot + more
    assert (both.totals[key].n, both.totals[key].cells[1]) == (7, 1 - 2**61)
    assert both.rejections == {"malformed": 3, "too-large": 1}


Spoil = Callable[[dict[str, Any], dict[str, Any]], object]


@pytest.mark.parametrize(
    "spoil",
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
        lambda document, total: document.update(rejections={"malformed": "4"}),
        lambda document, total: document.update(version=2),
        lambda document, total: document.pop("plan"),
    ],
)
def test_an_edited_snapshot_is_refused(snapshot: Snapshot, spoil: Spoil) -> None:
    document = json.loads(snapshot.to_json())
    spoil(document, next(iter(document["totals"].values())))
    with pytest.raises(SnapshotError):
        Snapshot.from_json(json.dumps(document).encode())


def test_a_truncated_snapshot_is_refused(snapshot: Snapshot) -> None:
    with pytest.raises(SnapshotError, match="truncated"):
        Snapshot.from_json(snapshot.to_json()[:-1])
