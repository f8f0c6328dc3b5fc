"""The table of estimates: of all people, then of each class; the same from a model and its file."""

import json
import math
from collections import Counter

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.survey import read_survey
from ldp_aggregator import load_model
from ldp_aggregator import results as aggregator_results
from ldp_aggregator.codec import from_json
from ldp_aggregator.estimation import Estimates, estimate_snapshot
from ldp_aggregator.results_file import save_results
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from ldp_aggregator.views.estimate_rows import (
    AT_MOST,
    BELOW,
    CELL,
    CLASS_PRIOR,
    COLUMN_SHARE,
    COMPARISONS,
    CONDITIONAL,
    DEVIATION,
    INDEPENDENCE,
    MEAN,
    MISSING,
    MISSING_SHARE,
    QUANTILE,
    ROW_SHARE,
    SHARE,
    EstimateRow,
    build_table,
    dump_table,
    list_columns,
    list_records,
)
from ldp_aggregator.views.estimate_tables import build_comparison_tables, build_feature_tables
from ldp_aggregator.wording.values import write_unknown
from tests.ldp_aggregator.views.samples import (
    PLAIN_COLUMNS,
    TABLES,
    make_results,
    simulate,
    simulate_tables,
)
from tests.support.snapshots import make_snapshot
from tests.support.surveys import make_plan

LABEL = '[label]\nname = "ill"\nvalues = ["yes", "no"]\n'


@pytest.fixture(scope="module")
def estimates():
    return estimate_snapshot(simulate(3000))


SHARES = [
    *(("tea", SHARE, value) for value in ("black", "green", "white", "none", "other")),
    *(("unasked", SHARE, value) for value in ("a", "b")),
    *(("hours", statistic, None) for statistic in (MEAN, DEVIATION, MISSING_SHARE)),
    *(("age", statistic, None) for statistic in (MEAN, DEVIATION)),
]


def test_shares_of_all_people_come_first_then_each_quantity_has_a_row_per_class(estimates):
    shares, rows = np.split(np.array(build_table(estimates), dtype=object), [len(SHARES)])
    assert [(row.feature, row.statistic, row.value) for row in shares] == SHARES
    assert {(row.class_name, row.distinguishable) for row in shares} == {(None, None)}
    found = list(dict.fromkeys((row.feature, row.statistic, row.value) for row in rows))
    assert found == [
        ("asleep", CLASS_PRIOR, None),
        *(("tea", CONDITIONAL, value) for value in ("black", "green", "white", "none", "other")),
        *(("unasked", CONDITIONAL, value) for value in ("a", "b")),
        *(("hours", statistic, None) for statistic in (MEAN, DEVIATION, MISSING)),
        *(("age", statistic, None) for statistic in (MEAN, DEVIATION)),
    ]
    assert [row.class_name for row in rows] == ["yes", "no", "rarely"] * len(found)
    assert {tuple(record) for record in list_records(build_table(estimates))} == {PLAIN_COLUMNS}


def test_two_classes_are_compared_after_all_other_rows():
    estimates = estimate_snapshot(make_snapshot(make_plan(), 4000))
    rows = build_table(estimates)
    count = 3 * sum(len(feature.values) for feature in estimates.features)
    assert [row.statistic in COMPARISONS for row in rows] == [False] * (len(rows) - count) + [True] * count
    [row] = [each for each in rows if each.statistic == "risk ratio" and each.value == "black"]
    assert (row.class_name, row.raw, row.stderr, row.distinguishable) == ("yes vs no", None, None, None)
    found = estimates.features[0].comparisons["risk ratio"]
    ends = (row.estimate, row.low, row.high, row.simultaneous_low, row.simultaneous_high)
    assert ends == tuple(array[0] for array in vars(found).values())


def test_the_estimates_of_comparisons_are_computed_from_the_estimates_of_the_shares():
    rows = build_table(estimate_snapshot(make_snapshot(make_plan(epsilon=0.5), 1000)))
    shown = {(row.feature, row.value, row.class_name): row for row in rows if row.statistic == CONDITIONAL}
    assert any(row.estimate != row.raw for row in shown.values())
    for row in rows:
        if row.statistic == "risk difference":
            first, second = (shown[row.feature, row.value, name].estimate for name in ("yes", "no"))
            assert row.estimate == pytest.approx(min(max(first - second, row.low), row.high))


def test_each_choice_has_its_number_of_reports():
    plan = make_plan(label=None, features={"cups": {"choices": ["small", "large"], "missing": "category"}})
    estimates = estimate_snapshot(make_snapshot(plan, 4000))
    small, large = (each.n for each in estimates.features)
    assert small != large
    rows = build_table(estimates, plan)
    assert [row.n for row in rows] == [small, large, max(small, large)]


def test_a_survey_without_a_label_has_only_shares_and_no_columns_about_classes():
    features = {"tea": ["black", "green"], "cups": {"choices": ["small", "large"]}, "age": {"range": [0, 9]}}
    rows = build_table(estimate_snapshot(make_snapshot(make_plan(label=None, features=features), 4000)))
    assert {row.statistic for row in rows} == {SHARE, MEAN, DEVIATION}
    columns = tuple(name for name in PLAIN_COLUMNS if name not in ("class", "distinguishable"))
    assert {tuple(record) for record in list_records(rows)} == {columns}
    assert dump_table(rows).splitlines()[0] == ",".join(columns)


def test_rows_contain_the_values_of_the_estimates(estimates):
    rows, (tea, _, hours, age) = build_table(estimates), estimates.features
    parts = [
        (estimates.raw_prior, "asleep", CLASS_PRIOR),
        (tea.conditionals, "tea", CONDITIONAL),
        (hours.by_class.means, "hours", MEAN),
        (hours.by_class.deviations, "hours", DEVIATION),
        (hours.by_class.missing, "hours", MISSING),
        (age.by_class.means, "age", MEAN),
    ]
    of_all = [
        (tea.shares, "tea", SHARE),
        (hours.overall.means, "hours", MEAN),
        (hours.overall.deviations, "hours", DEVIATION),
        (hours.overall.missing, "hours", MISSING_SHARE),
    ]
    named = [(*part, False) for part in parts] + [(*part, True) for part in of_all]
    for entry, feature, statistic, is_of_all in named:
        key = feature, statistic, is_of_all
        cells = [row for row in rows if (row.feature, row.statistic, row.class_name is None) == key]
        for column in ("raw", "stderr", "low", "high", "simultaneous_low", "simultaneous_high"):
            expected = getattr(entry, column.replace("raw", "value")).ravel()
            assert [getattr(row, column) for row in cells] == [
                each if math.isfinite(each) else None for each in expected
            ]


def test_rows_name_reports_mechanisms_and_distinguishable_entries(estimates):
    rows, (tea, _, hours, _) = build_table(estimates), estimates.features
    mean, square = hours.mean_question, hours.square_question
    expected = {
        ("asleep", CLASS_PRIOR): (estimates.reports, None),
        ("tea", CONDITIONAL): (tea.n, tea.mechanism),
        ("unasked", CONDITIONAL): (0, None),
        ("hours", MEAN): (mean.n, mean.mechanism),
        ("hours", MISSING): (mean.n + square.n, f"{mean.mechanism} + {square.mechanism}"),
    }
    for row in rows:
        if (row.feature, row.statistic) in expected:
            assert (row.n, row.mechanism) == expected[row.feature, row.statistic]
    marks = {
        name: [row.distinguishable for row in rows if row.feature == name and row.class_name]
        for name in ("asleep", "tea", "hours")
    }
    assert marks["asleep"] == estimates.non_uniform.tolist()
    assert marks["tea"] == np.repeat(tea.distinguishable_entries, 3).tolist()
    entries = hours.distinguishable_entries
    assert marks["hours"][::3] == [entries[name] for name in ("means", "variances", "missing")]


@pytest.mark.slow
@pytest.mark.parametrize("people", [40, 300, 3000])
def test_consistent_estimates_are_possible_where_raw_ones_are_not(people):
    outside = 0
    for seed in range(5):
        rows = build_table(estimate_snapshot(simulate(people, seed=seed)))
        sums: dict[tuple[str, str], float] = {}
        for row in rows:
            if row.estimate is None:
                assert row.raw is None
                continue
            low, high = {"hours": (2, 12), "age": (0, 100)}.get(row.feature, (0, 1))
            if row.statistic == DEVIATION:
                low, high = 0, (high - low) / 2
            elif row.statistic != MEAN:
                low, high = 0, 1
            assert low <= row.estimate <= high
            outside += row.raw is None or not low <= row.raw <= high
            if row.statistic in (CLASS_PRIOR, CONDITIONAL, SHARE):
                key = row.feature, (row.class_name or "all") if row.statistic != CLASS_PRIOR else ""
                sums[key] = sums.get(key, 0.0) + row.estimate
        np.testing.assert_allclose(list(sums.values()), 1)
    assert outside > 5


def make_row(statistic=SHARE, **numbers):
    return EstimateRow(feature="tea", statistic=statistic, n=100, **{"estimate": 0.5} | numbers)


@pytest.mark.parametrize(
    ("known", "row"),
    [
        (True, make_row(low=0.2, high=0.9, stderr=0.18)),
        (False, make_row(low=0.2, high=0.96, stderr=0.18)),
        (False, make_row(low=0.9, high=1.0, stderr=0.3)),  # narrow only because it is cut
        (False, make_row(estimate=None, low=0.0, high=0.1)),
        (False, make_row(MEAN, low=20.0, high=80.0, stderr=15.0, span=72.0)),
        (True, make_row(MEAN, low=40.0, high=80.0, stderr=10.0, span=72.0)),
        (True, make_row("risk difference", low=-0.5, high=0.9, span=2.0)),
        (False, make_row("risk ratio", low=None, high=None, span=math.inf)),
        (True, make_row("odds ratio", low=0.1, high=90.0, span=math.inf)),
        (True, make_row(INDEPENDENCE)),
    ],
)
def test_an_estimate_is_known_if_its_interval_and_its_margin_are_narrow(known, row):
    assert row.known is known
    assert list_records([row])[0]["known"] is known


@pytest.mark.slow
@pytest.mark.parametrize("name", ["survey", "class-tables", "useless", "silos", "choices", "empty"])
def test_what_the_table_calls_known_is_what_pages_and_terminals_show(name):
    results = make_results(name)
    rows = build_table(results.estimates, results.plan)
    shown = [
        cells.is_known
        for tables in build_feature_tables(rows, results.plan).values()
        for table in tables
        for group in table.groups
        for cells in group.rows
    ]
    in_table = [
        row.known
        for row in rows
        if row.class_name and row.mechanism and row.statistic in (CONDITIONAL, MEAN, DEVIATION, MISSING)
    ]
    assert sorted(shown) == sorted(in_table)
    compared = build_comparison_tables(rows, results.plan).values()
    words = sum(cell == write_unknown() for table in compared for row in table.rows for cell in row)
    unknown = [row for row in rows if row.statistic in COMPARISONS and row.column is None and not row.known]
    assert words == len(unknown)


def test_consistent_estimates_equal_raw_ones_that_are_possible():
    rows = build_table(estimate_snapshot(simulate(100_000, 8.0)))
    checked = [row for row in rows if row.statistic in (CLASS_PRIOR, MEAN) and row.class_name != "rarely"]
    assert len(checked) == 8
    for row in checked:
        assert row.estimate == pytest.approx(row.raw, rel=1e-9)


@pytest.mark.slow
def test_a_variance_below_zero_is_a_standard_deviation_of_zero_without_a_raw_estimate():
    found = 0
    for seed in range(20):
        estimates = estimate_snapshot(simulate(500, seed=seed))
        rows = [row for row in build_table(estimates) if row.statistic == DEVIATION]
        variances = [each for feature in estimates.features[2:] for each in feature.overall.variances.value]
        variances += [each for feature in estimates.features[2:] for each in feature.by_class.variances.value]
        for row, variance in zip(rows, variances, strict=True):
            if variance < 0:
                assert (row.estimate, row.raw, row.stderr) == (0.0, None, None)
                found += 1
            assert (row.estimate is None) == math.isnan(variance)
    assert found > 0


def test_without_reports_estimates_are_unknown_and_intervals_are_the_whole_range():
    rows = build_table(estimate_snapshot(Snapshot(simulate(0).plan, {}, {})))
    assert {(row.estimate, row.raw, row.stderr, row.n) for row in rows} == {(None, None, None, 0)}
    ranges = {(row.feature, row.statistic): (row.low, row.high) for row in rows}
    assert ranges["tea", CONDITIONAL] == (0, 1)
    assert ranges["hours", MEAN] == (2, 12)
    assert ranges["hours", DEVIATION] == (0, 5)


def test_a_model_and_its_file_give_equal_tables(tmp_path):
    snapshot = simulate(2000)
    results = aggregator_results.make_results(snapshot, poisoning=False)
    estimates = results.estimates
    save_results(tmp_path / "model.json", results)
    rows = build_table(estimates)
    assert build_table(load_model(tmp_path / "model.json").estimates_) == rows
    entry = json.loads((tmp_path / "model.json").read_bytes())["estimates"]
    assert build_table(from_json(Estimates, entry)) == rows


def test_the_paper_estimator_counts_the_reports_of_the_label_question():
    estimates = estimate_snapshot(simulate(2000), "paper")
    [n] = {row.n for row in build_table(estimates) if row.statistic == CLASS_PRIOR}
    assert n == estimates.label_n < estimates.reports


# -- tables and ordered features ----------------------------------------------------------------


@pytest.fixture(scope="module")
def rows_of_tables():
    return build_table(estimate_snapshot(simulate_tables(20_000, LABEL)))


def test_a_table_has_rows_for_its_cells_and_percentages(rows_of_tables):
    mine = [row for row in rows_of_tables if row.feature == "smokes x sleep"]
    counts = Counter(row.statistic for row in mine)
    assert counts == {CELL: 8, ROW_SHARE: 8, COLUMN_SHARE: 8, INDEPENDENCE: 1}
    first = mine[0]
    assert (first.value, first.column, first.class_name) == ("yes", "bad", None)
    shares = [row.estimate for row in mine if row.statistic == CELL]
    assert sum(shares) == pytest.approx(1)
    assert list_columns(rows_of_tables)[2:5] == ("value", "column", "class")


def test_a_test_of_independence_has_a_p_value_alone(rows_of_tables):
    [row] = [
        each for each in rows_of_tables if each.statistic == INDEPENDENCE and each.feature.count(" x ") == 1
    ]
    assert 0 <= row.estimate <= 0.05
    assert (row.low, row.high, row.stderr, row.raw, row.value, row.column) == (None,) * 6


def test_ordered_features_have_cumulative_shares_and_quantiles(rows_of_tables):
    sleep = [row for row in rows_of_tables if row.feature == "sleep"]
    assert [row.value for row in sleep if row.statistic == AT_MOST] == ["bad", "fair"]
    assert [row.value for row in sleep if row.statistic == QUANTILE] == ["25%", "50%", "75%"]
    hours = [row for row in rows_of_tables if row.feature == "hours"]
    limits = [row for row in hours if row.statistic == BELOW]
    assert (limits[0].value, limits[-1].value, len(limits)) == ("2", "78", 39)
    estimates = [row.estimate for row in limits]
    assert estimates == sorted(estimates)


def test_two_columns_are_compared():
    text = TABLES.format(label="").replace('["smokes", "sleep"]', '["sleep", "smokes"]')
    features = "[features.smokes]"
    head, _, rest = text.partition(features)
    sleep = rest[rest.index("[features.sleep]") : rest.index("[features.hours]")]
    plan = read_survey(head + sleep + features + rest.replace(sleep, "")).compile()
    codes = np.random.default_rng(1).integers(0, 2, (20_000, 3))
    snapshot = simulate_reports(plan, codes, np.zeros(20_000, dtype=np.int64), FastStream(1))
    rows = [row for row in build_table(estimate_snapshot(snapshot)) if row.statistic in COMPARISONS]
    assert {row.column for row in rows} == {"yes vs no"}
    assert {row.feature for row in rows} == {"sleep x smokes"}
    assert {row.value for row in rows} == {"bad", "fair", "good", "(missing)"}
