"""The table of estimates: one row per class and quantity, the same from a model, its file and a collector."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator import load_model
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.models.model_file import save_model
from ldp_aggregator.results.table import (
    CLASS_PRIOR,
    COLUMNS,
    CONDITIONAL,
    DEVIATION,
    MEAN,
    MISSING,
    build_table,
)
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot

SURVEY = """
[survey]
id = "table"
epsilon = {epsilon}
[label]
name = "asleep"
values = ["yes", "no", "rarely"]
weight = 1
[features.tea]
values = ["black", "green", "white", "none", "other"]
[features.unasked]
values = ["a", "b"]
weight = 0
[features.hours]
range = [2, 12]
missing = "category"
[features.age]
range = [0, 100]
"""


def simulate(people: int, epsilon: Decimal = Decimal(1), seed: int = 1) -> Snapshot:
    """Return the reports of people of three classes, of which the third is rare."""
    plan = read_survey(SURVEY.format(epsilon=epsilon)).compile()
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, people, p=[0.6, 0.38, 0.02])
    tea = np.where(labels == 0, 0, rng.integers(0, 5, people))
    hours = np.where(rng.random(people) < 0.2, np.nan, rng.normal(np.where(labels, 4, 8), 0.2))
    unasked, hours_feature, age = plan.features[1:]
    codes = [tea, tea % unasked.size, hours_feature.code_array(hours), age.code_array(np.full(people, 50.0))]
    return simulate_reports(plan, np.column_stack(codes), labels, FastStream(seed))


def flatten(nested: object) -> list[float | None]:
    return np.array(nested, dtype=object).ravel().tolist()


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return estimate_snapshot(simulate(3000)).as_dict()


def test_each_quantity_has_a_row_per_class_in_the_survey_order(document: dict[str, Any]) -> None:
    rows = build_table(document)
    found = list(dict.fromkeys((row["feature"], row["statistic"], row["value"]) for row in rows))
    assert found == [
        ("asleep", CLASS_PRIOR, None),
        *(("tea", CONDITIONAL, value) for value in ("black", "green", "white", "none", "other")),
        *(("unasked", CONDITIONAL, value) for value in ("a", "b")),
        *(("hours", statistic, None) for statistic in (MEAN, DEVIATION, MISSING)),
        *(("age", statistic, None) for statistic in (MEAN, DEVIATION)),
    ]
    assert [row["class"] for row in rows] == ["yes", "no", "rarely"] * len(found)
    assert {tuple(row) for row in rows} == {COLUMNS}


def test_rows_contain_the_values_of_the_json_form(document: dict[str, Any]) -> None:
    rows = build_table(document)
    label, tea, _, hours, age = document["label"], *document["features"]
    parts = [
        (label["prior"], "asleep", CLASS_PRIOR),
        (tea["conditionals"], "tea", CONDITIONAL),
        (hours["means"], "hours", MEAN),
        (hours["deviations"], "hours", DEVIATION),
        (hours["missing"], "hours", MISSING),
        (age["means"], "age", MEAN),
    ]
    for entry, feature, statistic in parts:
        cells = [row for row in rows if (row["feature"], row["statistic"]) == (feature, statistic)]
        for column, nested in [
            ("raw", entry["value"]),
            ("stderr", entry["stderr"]),
            ("low", entry["low"]),
            ("high", entry["high"]),
            ("simultaneous_low", entry["simultaneous"]["low"]),
            ("simultaneous_high", entry["simultaneous"]["high"]),
        ]:
            assert [row[column] for row in cells] == flatten(nested)


def test_rows_name_reports_mechanisms_and_distinguishable_entries(document: dict[str, Any]) -> None:
    rows = build_table(document)
    label, tea, _, hours, _ = document["label"], *document["features"]
    both = hours["mean_question"]["n"] + hours["square_question"]["n"]
    both_mechanisms = " + ".join(hours[key]["mechanism"] for key in ("mean_question", "square_question"))
    expected = {
        ("asleep", CLASS_PRIOR): (document["reports"], None),
        ("tea", CONDITIONAL): (tea["n"], tea["mechanism"]),
        ("unasked", CONDITIONAL): (0, None),
        ("hours", MEAN): (hours["mean_question"]["n"], hours["mean_question"]["mechanism"]),
        ("hours", MISSING): (both, both_mechanisms),
    }
    for row in rows:
        if (row["feature"], row["statistic"]) in expected:
            assert (row["n"], row["mechanism"]) == expected[row["feature"], row["statistic"]]
    marks = [row["distinguishable"] for row in rows if row["feature"] == "asleep"]
    assert marks == label["non_uniform"]
    marks = [row["distinguishable"] for row in rows if row["feature"] == "tea"]
    assert marks == np.repeat(tea["distinguishable_entries"], 3).tolist()
    marks = {row["statistic"]: row["distinguishable"] for row in rows if row["feature"] == "hours"}
    entries = hours["distinguishable_entries"]
    assert marks == {MEAN: entries["means"], DEVIATION: entries["variances"], MISSING: entries["missing"]}


@pytest.mark.parametrize("people", [40, 300, 3000])
def test_consistent_estimates_are_possible_where_raw_ones_are_not(people: int) -> None:
    outside = 0
    for seed in range(5):
        rows = build_table(estimate_snapshot(simulate(people, seed=seed)).as_dict())
        sums: dict[tuple[str, str], float] = {}
        for row in rows:
            if row["estimate"] is None:
                assert row["raw"] is None
                continue
            low, high = {"hours": (2, 12), "age": (0, 100)}.get(row["feature"], (0, 1))
            if row["statistic"] == DEVIATION:
                low, high = 0, (high - low) / 2
            elif row["statistic"] != MEAN:
                low, high = 0, 1
            assert low <= row["estimate"] <= high
            outside += row["raw"] is None or not low <= row["raw"] <= high
            if row["statistic"] in (CLASS_PRIOR, CONDITIONAL):
                key = row["feature"], row["class"] if row["statistic"] == CONDITIONAL else ""
                sums[key] = sums.get(key, 0.0) + row["estimate"]
        np.testing.assert_allclose(list(sums.values()), 1)
    assert outside > 5


def test_consistent_estimates_equal_raw_ones_that_are_possible() -> None:
    rows = build_table(estimate_snapshot(simulate(100_000, Decimal(8))).as_dict())
    checked = [row for row in rows if row["statistic"] in (CLASS_PRIOR, MEAN) and row["class"] != "rarely"]
    assert len(checked) == 6
    for row in checked:
        assert row["estimate"] == pytest.approx(row["raw"], rel=1e-9)


def test_a_variance_below_zero_is_a_standard_deviation_of_zero_without_a_raw_estimate() -> None:
    found = 0
    for seed in range(20):
        document = estimate_snapshot(simulate(500, seed=seed)).as_dict()
        rows = [row for row in build_table(document) if row["statistic"] == DEVIATION]
        variances = [each for entry in document["features"][2:] for each in entry["variances"]["value"]]
        for row, variance in zip(rows, variances, strict=True):
            if variance is not None and variance < 0:
                assert (row["estimate"], row["raw"], row["stderr"]) == (0.0, None, None)
                found += 1
            assert (row["estimate"] is None) == (variance is None)
    assert found > 0


def test_without_reports_estimates_are_unknown_and_intervals_are_the_whole_range() -> None:
    rows = build_table(estimate_snapshot(Snapshot(simulate(0).plan, {}, {})).as_dict())
    assert {(row["estimate"], row["raw"], row["stderr"], row["n"]) for row in rows} == {(None, None, None, 0)}
    ranges = {(row["feature"], row["statistic"]): (row["low"], row["high"]) for row in rows}
    assert ranges["tea", CONDITIONAL] == (0, 1)
    assert ranges["hours", MEAN] == (2, 12)
    assert ranges["hours", DEVIATION] == (0, 5)


def test_a_model_its_file_and_json_text_give_equal_tables(tmp_path: Path) -> None:
    snapshot = simulate(2000)
    estimates = estimate_snapshot(snapshot)
    save_model(tmp_path / "model.json", snapshot, estimates)
    rows = build_table(estimates.as_dict())
    assert build_table(load_model(tmp_path / "model.json").estimates_) == rows
    assert build_table(json.loads((tmp_path / "model.json").read_bytes())["estimates"]) == rows
    assert build_table(json.loads(json.dumps(estimates.as_dict()))) == rows


def test_the_paper_estimator_counts_the_reports_of_the_label_question() -> None:
    document = estimate_snapshot(simulate(2000), "paper").as_dict()
    assert build_table(document)[0]["n"] == document["label"]["n"] < document["reports"]
