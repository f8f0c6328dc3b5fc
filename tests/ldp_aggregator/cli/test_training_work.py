"""The work of a training grows with the number of values, not with its square; nothing is computed twice."""

import sys
from collections import Counter

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.survey import relay_promise
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.simulated_population import simulate_reports
from tests.support.commands import command
from tests.support.snapshots import make_snapshot
from tests.support.surveys import make_plan


def count_steps(folder, values, label):
    """Return how many lines of Python a training evaluates, and how many letters it prints."""
    features = {"item": [f"v{place}" for place in range(values)], "more": {"choices": ["a", "b"]}}
    plan = make_plan(label=label, features=features, mechanism={"frequency": "DE"}, epsilon=4)
    rows = np.random.default_rng(1).integers(0, 2, (500, len(plan.features)))
    snapshot = simulate_reports(plan, rows, rows[:, 0] % len(plan.label.values), FastStream(1))
    (folder / "snapshot.json").write_bytes(snapshot.to_json())
    steps = 0

    def trace(frame, event, _):
        nonlocal steps
        steps += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        result = command("ldp-train", folder / "snapshot.json", "-o", folder / "model.json")
    finally:
        sys.settrace(before)
    return steps, len(result.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("label", [None, {"name": "ill", "values": ["yes", "no"]}])
def test_twice_the_values_take_twice_the_steps(tmp_path, label):
    count_steps(tmp_path, 50, label)  # fills caches
    few, many, most = (count_steps(tmp_path, values, label) for values in (100, 200, 400))
    assert 0 < most[0] - many[0] < 1.1 * 2 * (many[0] - few[0])
    assert most[1] < 1.1 * few[1]


@pytest.mark.parametrize("order", [["item", "few"], ["few", "item"]])
def test_the_longer_side_of_a_table_is_not_in_the_equations_of_its_test(monkeypatch, order):
    sizes, solve = [], np.linalg.solve
    monkeypatch.setattr(np.linalg, "solve", lambda a, b: sizes.append(a.shape[-1]) or solve(a, b))
    features = {"item": [f"v{place}" for place in range(60)], "few": ["a", "b"]}
    plan = make_plan(label=None, features=features, tables={"both": {"features": order}})
    [table] = estimate_snapshot(make_snapshot(plan, 3000)).tables
    assert table.independence.degrees == 59
    assert sizes == [2, 2]  # of the table, and of the simulated ones


def test_the_epsilon_of_shuffled_reports_is_computed_once(tmp_path, monkeypatch):
    relay_promise.shuffled_epsilon.cache_clear()
    calls, compute = Counter(), relay_promise.shuffled_delta

    def counting(*arguments):
        calls[arguments] += 1
        return compute(*arguments)

    monkeypatch.setattr(relay_promise, "shuffled_delta", counting)
    (tmp_path / "snapshot.json").write_bytes(make_snapshot(make_plan(), 700).to_json())
    command("ldp-train", tmp_path / "snapshot.json", "-o", tmp_path / "model.json")
    assert calls
    assert set(calls.values()) == {1}
