"""The table of estimates of a curator's Naive Bayes: its values, intervals and marks."""

import csv
import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.survey import read_survey
from encoders.survey.features import GRID
from ldp_aggregator.classifiers.stored_model import load_model
from ldp_aggregator.results_file import ModelError, parse_results
from ldp_aggregator.views.estimate_rows import COMPARISONS, EstimateRow, build_table
from ldp_central.coded_rows import CodedRows
from ldp_central.curator_ledger import Ledger
from ldp_central.curator_training import CuratorRows, CuratorTraining
from ldp_central.promise import Promise
from tests.ldp_aggregator.views.samples import PLAIN_COLUMNS
from tests.support.central_surveys import make_csv, survey_text
from tests.support.commands import command
from tests.support.damaged_json import signed
from tests.support.statistical_checks import small_and_full
from tests.support.surveys import survey_toml

SURVEY = survey_toml(
    id="population",
    label={"name": "y", "values": ["a", "b"]},
    features={"f": ["p", "q", "r"], "x": {"range": [0, 10], "missing": "category"}},
)
PLAN = read_survey(SURVEY).compile()
SHARE = 0.3
"""P(class b)."""
VALUES = {"different": ((0.7, 0.25, 0.05), (0.4, 0.5, 0.1)), "equal": ((0.7, 0.25, 0.05),) * 2}
MEANS = {"different": (4.0, 6.0), "equal": (4.0, 4.0)}
MISSING = {"different": (0.1, 0.3), "equal": (0.2, 0.2)}
DEVIATION = 1.5
MANY_USERS = 10**9
"""Public numbers for which all features are used at any epsilon."""


def draw_rows(kind: str, count: int, rng: np.random.Generator) -> CodedRows:
    labels = (rng.random(count) < SHARE).astype(np.int64)
    ends = np.cumsum(VALUES[kind], axis=1)[labels]
    f = (rng.random(count)[:, None] > ends[:, :-1]).sum(axis=1)
    x = np.clip(rng.normal(np.array(MEANS[kind])[labels], DEVIATION), 0, 10)
    places = np.rint(x / 10 * 2 * GRID).astype(np.int64)
    places[rng.random(count) < np.array(MISSING[kind])[labels]] = 2 * GRID + 1
    return CodedRows(PLAN.features, 2, np.stack([f, places], axis=1).astype(np.int64), labels)


def estimate(rows: CodedRows, epsilon: str, source: FastStream, delta: str = "0") -> list[EstimateRow]:
    data = CuratorRows(PLAN, MANY_USERS, rows, ("file", "sorted rows"))
    training = CuratorTraining(data, Promise(Fraction(epsilon), Fraction(delta)), "nb")
    results = parse_results(training.run(source))
    return build_table(results.estimates, results.plan)


def find_truth(row: EstimateRow, kind: str, rows: CodedRows) -> float:
    values = np.array(VALUES[kind])[:, "pqr".index(row.value)] if row.value else np.zeros(2)
    if row.statistic in COMPARISONS:
        first, second = values
        odds = first / (1 - first) / (second / (1 - second))
        return dict(zip(COMPARISONS, (first - second, first / second, odds), strict=True))[row.statistic]
    if row.class_name is None:
        classes, missing = np.array([1 - SHARE, SHARE]), np.array(MISSING[kind])
        present = classes * (1 - missing) / (classes @ (1 - missing))
        mean = present @ np.array(MEANS[kind])
        between = present @ (np.array(MEANS[kind]) - mean) ** 2
        return {
            "P(value)": classes @ values,
            "mean": mean,
            "standard deviation": np.sqrt(DEVIATION**2 + between),
            "P(missing)": classes @ missing,
        }[row.statistic]
    c = "ab".index(row.class_name)
    if row.statistic == "P(value | class)":
        return VALUES[kind][c]["pqr".index(str(row.value))]
    return {
        "count": float((rows.labels == c).sum()),
        "P(class)": SHARE if c else 1 - SHARE,
        "mean": MEANS[kind][c],
        "standard deviation": DEVIATION,
        "P(missing | class)": MISSING[kind][c],
    }[row.statistic]


def test_a_large_epsilon_gives_the_shares_and_moments_of_the_rows():
    rows = draw_rows("different", 20_000, np.random.default_rng(1))
    table = estimate(rows, "1000", FastStream(1))
    sizes = np.bincount(rows.labels)
    assert [row.estimate for row in table if row.statistic == "count"] == pytest.approx(sizes, abs=0.1)
    shares = [row.estimate for row in table if row.statistic == "P(class)"]
    assert shares == pytest.approx(sizes / 20_000, abs=1e-4)
    for row in table:
        if row.statistic == "P(value | class)":
            mine = rows.codes[rows.labels == "ab".index(row.class_name), 0]
            assert row.estimate == pytest.approx((mine == "pqr".index(str(row.value))).mean(), abs=1e-3)
        truth = find_truth(row, "different", rows)
        is_ratio = row.statistic in COMPARISONS[1:]  # of a share near 0.05 in a sample
        assert row.estimate == pytest.approx(truth, abs=0.25 * truth if is_ratio else 0.06)
        assert row.low <= row.estimate <= row.high
        assert row.n == 20_000
    assert {row.statistic for row in table} == {
        "P(value)",
        "P(missing)",
        *COMPARISONS,
        "count",
        "P(class)",
        "P(value | class)",
        "mean",
        "standard deviation",
        "P(missing | class)",
    }


@pytest.mark.slow
@pytest.mark.parametrize("surveys", small_and_full(30, 250, long=True))
@pytest.mark.parametrize(
    ("count", "epsilon", "delta"), [(1000, "1", "0"), (300, "1/2", "0"), (500, "1", "1e-6")]
)
def test_intervals_contain_the_population_as_often_as_they_state(count, epsilon, delta, surveys):
    # with a fixed seed; six standard errors below 0.95
    least = 0.95 - 6 * math.sqrt(0.95 * 0.05 / surveys)
    rng, source, inside, together = np.random.default_rng(2), FastStream(2), {}, {}
    for _ in range(surveys):
        rows = draw_rows("different", count, rng)
        for row in estimate(rows, epsilon, source, delta):
            key = row.statistic, row.value, row.class_name
            if row.low is None:  # a ratio of shares whose interval touches 0
                continue
            truth = find_truth(row, "different", rows)
            inside.setdefault(key, []).append(row.low <= truth <= row.high)
            if row.simultaneous_low is not None:
                together.setdefault(key, []).append(row.simultaneous_low <= truth <= row.simultaneous_high)
    assert min(map(np.mean, inside.values())) > least
    assert np.mean([*map(np.mean, inside.values())]) > 0.93
    assert min(map(np.mean, together.values())) > max(least, 0.9 - 0.2 * (surveys < 100))


@pytest.mark.slow
@pytest.mark.parametrize("surveys", small_and_full(50, 250))
def test_equal_classes_are_rarely_called_distinguishable(surveys):
    rng, source, marked = np.random.default_rng(3), FastStream(3), {}
    for _ in range(surveys):
        for row in estimate(draw_rows("equal", 400, rng), "1", source):
            if row.distinguishable is not None and row.statistic != "P(class)":
                marked.setdefault((row.statistic, row.value), []).append(row.distinguishable)
    # the level is .05 for a feature; six standard errors above it
    assert max(map(np.mean, marked.values())) < 0.05 + 6 * math.sqrt(0.05 * 0.95 / surveys)


def test_different_classes_are_distinguishable_in_what_differs():
    table = estimate(draw_rows("different", 5000, np.random.default_rng(4)), "2", FastStream(4))
    marks = {(row.statistic, row.value): row.distinguishable for row in table if row.class_name}
    assert marks["count", None] is None
    assert marks["P(class)", None]
    assert marks["mean", None]
    assert marks["P(value | class)", "p"]
    assert marks["P(missing | class)", None]
    assert not marks["standard deviation", None]


def test_the_mechanism_is_named(tmp_path):
    rows = draw_rows("different", 300, np.random.default_rng(5))
    for delta, mechanism in (("0", "discrete Laplace"), ("1e-6", "discrete Gaussian")):
        table = estimate(rows, "1", FastStream(5), delta)
        assert {row.mechanism for row in table} == {None, mechanism}


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Any]:
    (tmp_path / "survey.toml").write_text(survey_text())
    (tmp_path / "rows.csv").write_text(make_csv())

    train = ["train", tmp_path / "survey.toml", tmp_path / "rows.csv", "--epsilon", 1]
    return partial(command, "ldp-central", *train, "-o", tmp_path / "model.json", check=False)


@pytest.mark.slow
def test_the_table_of_a_model_file_is_that_of_the_command(run, tmp_path):
    assert run("--learner", "nb").exit_code == 0
    table = tmp_path / "estimates.csv"
    result = run("--learner", "nb", "--csv", table)
    assert result.exit_code == 0, result.output
    assert f"wrote {tmp_path}/model.json and {table}; epsilon 1 of 1" in result.stdout
    assert len(Ledger.parse((tmp_path / "rows.csv.ledger").read_bytes()).entries) == 1
    frame = load_model(tmp_path / "model.json").to_frame()
    lines = list(csv.DictReader(StringIO(table.read_text())))
    assert tuple(lines[0]) == tuple(frame.columns) == PLAIN_COLUMNS
    estimates = [float(line["estimate"] or "nan") for line in lines]
    np.testing.assert_array_equal(estimates, frame["estimate"])
    tired = frame[(frame["statistic"] == "count") & (frame["class"] == "yes")]
    assert tired["low"].item() - 60 < make_csv().count(",yes\n") < tired["high"].item() + 60


@pytest.mark.parametrize("learner", ["auto", "linear", "tree"])
def test_a_table_of_another_learner_is_refused_before_anything_is_spent(run, tmp_path, learner):
    refused = run("--learner", learner, "--csv", tmp_path / "estimates.csv")
    assert refused.exit_code == 2
    assert "add --learner nb" in refused.stderr
    assert not (tmp_path / "rows.csv.ledger").exists()


def test_a_linear_model_has_no_table(run, tmp_path):
    assert run("--learner", "linear").exit_code == 0
    with pytest.raises(ModelError, match="a linear model has no table of estimates"):
        load_model(tmp_path / "model.json").to_frame()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("value", [1.0]),
        ("stderr", [-1.0, 1.0]),
        ("low", [None, 1.0]),
        ("high", "many"),
        ("high", [1e200, 1e200]),
    ],
)
def test_damaged_counts_are_refused(run, tmp_path, entry, value):
    assert run("--learner", "nb").exit_code == 0
    path = tmp_path / "model.json"
    content = json.loads(path.read_bytes())
    del content["checksum"]
    content["estimates"]["class_counts"][entry] = value
    path.write_bytes(signed(content))
    with pytest.raises(ModelError, match=r"content is inconsistent .*class_counts"):
        load_model(path)
