"""A survey with waves: its series, the classifier's tables, the model file, the page and the command."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from encoders.randomness import FastStream
from ldp_aggregator import load_model
from ldp_aggregator.cli.train import format_summary
from ldp_aggregator.estimation import EstimationError, IntervalEstimate
from ldp_aggregator.estimation.estimates import estimate_parameters
from ldp_aggregator.results import make_results
from ldp_aggregator.results_file import ModelError, dump_results, parse_results, save_results
from ldp_aggregator.series import series as module
from ldp_aggregator.series.series import estimate_series, pool_waves
from ldp_aggregator.simulated_population import simulate_survey
from ldp_aggregator.views.estimate_rows import dump_table
from ldp_aggregator.views.results_page import render_page
from ldp_aggregator.views.series_sections import build_full_table
from tests.ldp_aggregator.series.conftest import LABEL, TEA, make_people, make_plan, simulate
from tests.support.commands import command
from tests.support.damaged_json import signed
from tests.support.html_page import parse_page
from tests.support.statistical_checks import ALARM, assert_correct_errors, small_and_full
from tests.support.waves import Clock

NAMES = [f"2025-0{month}" for month in range(1, 6)]


def find(series, feature, statistic):
    [found] = [
        each
        for each in series.courses
        if (each.feature, each.statistic) == (feature, statistic) and (statistic != "mean" or each.classes[0])
    ]
    return found


@pytest.mark.slow
def test_each_figure_has_a_level_in_each_wave(snapshot):
    series = estimate_series(snapshot, "last")
    assert series.wave == "2025-05"
    assert series.waves == tuple(NAMES)
    assert sum(series.reports) == 60_000
    quantities = [(each.feature, each.statistic, each.classes) for each in series.courses]
    assert quantities == [
        ("tea", "P(value)", ("",)),
        ("hours", "mean", ("",)),
        ("asleep", "P(class)", ("yes", "no")),
        ("tea", "P(value | class)", ("yes", "no")),
        ("hours", "mean", ("yes", "no")),
    ]
    of_wave = make_results(snapshot, wave="2025-02").estimates
    tea = find(series, "tea", "P(value | class)")
    assert np.array_equal(tea.levels.value[1], of_wave.features[0].conditionals.value)
    assert tea.test.p_value < 1e-9
    assert series.drifting == ("tea",)


@pytest.mark.slow
def test_a_wave_without_reports_is_left_out(snapshot, monkeypatch):
    plan = snapshot.plan
    kept = {key: total for key, total in snapshot.totals.items() if not key.endswith("@1")}
    Clock(monkeypatch, plan.waves.list[3].closes)
    series = estimate_series(replace(snapshot, totals=kept), "last")
    assert series.waves == ("2025-01", "2025-03", "2025-04", "2025-05")
    assert series.unfinished == ("2025-05",)
    assert {each.waves for each in series.courses} == {(0, 2, 3, 4)}
    assert estimate_series(replace(snapshot, totals={}), "last").courses == ()


@pytest.mark.slow
def test_a_statistic_with_too_many_estimates_is_left_out(snapshot, monkeypatch):
    monkeypatch.setattr(module, "MAX_ESTIMATES", 29)
    series = estimate_series(snapshot, "last")  # 5 waves, 3 values and 2 classes are 30
    assert "P(value | class)" not in {each.statistic for each in series.courses}
    assert series.drifting == ()


def test_surveys_without_waves_have_no_series():
    plan = make_plan()
    plan = replace(plan, waves=None)
    alone = simulate_survey(plan, make_people(), 500, np.random.default_rng(1), FastStream(1))
    results = make_results(alone)
    assert results.series is None
    assert "series" not in json.loads(dump_results(results))
    assert make_results(alone, wave="all").series is None


# -- the classifier ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_by_default_tables_are_those_of_all_waves_and_the_prior_is_that_of_the_wave(snapshot):
    pooled, own = (estimate_parameters(snapshot.select(each)) for each in ("all", "2025-02"))
    found = make_results(snapshot, wave="2025-02").classifier
    assert np.array_equal(found.prior, own.prior)
    assert np.array_equal(found.conditionals[0], pooled.conditionals[0])
    assert np.array_equal(found.conditionals[1].mean, pooled.conditionals[1].mean)
    alone = make_results(snapshot, wave="2025-02", tables="own").classifier
    assert np.array_equal(alone.conditionals[0], own.conditionals[0])
    everyone = make_results(snapshot, wave="all").classifier
    assert np.array_equal(everyone.prior, pooled.prior)


def test_discounted_totals_are_as_precise_as_their_number_of_reports(snapshot):
    weighted = pool_waves(snapshot, "2025-04", 0.5)
    [key] = [each.key for each in snapshot.plan.questions if each.name == "tea"]
    totals = [snapshot.select(name).totals[key] for name in NAMES]
    weights, counts = 0.5 ** np.array([3, 2, 1, 0, 1]), np.array([each.n for each in totals])
    n = (weights @ counts) ** 2 / (weights**2 @ counts)
    cells = weights @ np.stack([each.cells for each in totals]) / (weights @ counts)
    assert weighted.totals[key].n == round(n)
    assert np.allclose(weighted.totals[key].cells, cells * round(n), atol=0.5)
    assert weighted.plan is snapshot.plan
    same = pool_waves(snapshot, "2025-04", 1.0).totals[key]
    assert same.n == sum(counts)


@pytest.mark.slow
def test_discounted_tables_follow_a_change(snapshot):
    truth = TEA[::-1]
    errors = [
        np.abs(make_results(snapshot, discount=each).classifier.conditionals[0] - truth).max()
        for each in (1.0, 0.5)
    ]
    assert errors[1] < errors[0] / 2


@pytest.mark.parametrize(
    ("label", "options"),
    [
        (LABEL, {"tables": "own", "discount": 0.5}),
        (LABEL, {"wave": "all", "discount": 0.5}),
        (LABEL, {"discount": 0.0}),
        (LABEL, {"discount": 1.5}),
        (LABEL, {"tables": "mine"}),
        ("", {"discount": 0.5}),
        ("", {"tables": "own"}),
    ],
)
def test_an_impossible_choice_is_refused(label, options):
    plan = make_plan(label)
    empty = replace(simulate(make_plan(), [make_people()] * 5, 10), plan=plan, totals={})
    with pytest.raises(EstimationError, match="needs a survey with waves and a label; a discount"):
        make_results(empty, **options)


# -- the test of changes ----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_prior_that_moves_does_not_make_tables_drift():
    priors = np.linspace(0.2, 0.7, 5)
    series = estimate_series(simulate(make_plan(), [make_people(each) for each in priors]), "last")
    assert find(series, "asleep", "P(class)").test.p_value < 1e-6
    assert find(series, "tea", "P(value)").test.p_value < 1e-3
    assert series.drifting == ()


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["DE", "SS", "SUE", "OUE"])
def test_the_test_does_not_depend_on_the_order_of_values(mechanism):
    plan = make_plan(more=f'mechanism.frequency = "{mechanism}"')
    snapshot = simulate(plan, [make_people()] * 5)
    turned = {
        key: replace(total, cells=total.cells.reshape(3, 2)[::-1].ravel()) if len(total.cells) == 6 else total
        for key, total in snapshot.totals.items()
    }
    tests = [
        find(estimate_series(each, "last"), "tea", "P(value | class)").test
        for each in (snapshot, replace(snapshot, totals=turned))
    ]
    assert tests[0].degrees == tests[1].degrees == 4 * 2 * 2
    assert tests[0].statistic == pytest.approx(tests[1].statistic)


@pytest.mark.parametrize("surveys", small_and_full(100, 400, long=True))
def test_levels_and_changes_are_covered_and_false_changes_are_rare(surveys):
    """The probability of a false alarm over random seeds is below 2e-7."""
    plan, people = make_plan(), make_people()
    hits, false, slopes = {}, {}, []
    for seed in range(surveys):
        series = estimate_series(simulate(plan, [people] * 5, 5_000, seed), "last")
        ends = [vars(course.slopes).values() for course in series.courses]
        slopes.append(
            IntervalEstimate(*(np.concatenate([*map(np.ravel, each)]) for each in zip(*ends, strict=True)))
        )
        for course in series.courses:
            key = course.feature, course.statistic, course.classes
            truth = {
                ("tea", "P(value)"): (TEA @ people.prior)[:, None],
                ("tea", "P(value | class)"): TEA,
                ("asleep", "P(class)"): people.prior[None],
                ("hours", "mean"): np.array([[6.0, 8.0]]) if course.classes[0] else np.array([[7.2]]),
            }[key[:2]]
            none = np.zeros_like(truth)
            for kind, estimate, true, independent in (
                ("level", course.levels, truth, slice(None)),
                ("change", course.changes, none, slice(None, None, 2)),
                ("first", course.since_first, none, slice(-1, None)),
                ("slope", course.slopes.reshape(1, *truth.shape), none, slice(None)),
            ):
                held = (estimate.low <= true) & (true <= estimate.high)
                hits.setdefault((*key, kind), []).extend(held[independent])
            for kind, changes in (("before", course.changes), ("first", course.since_first)):
                wide = (changes.simultaneous_low > 0) | (changes.simultaneous_high < 0)
                false.setdefault((*key, kind), []).append(wide.any())
            false.setdefault((*key, "test"), []).append(course.test.p_value <= 0.05)
    assert_correct_errors(slopes)
    alarm = ALARM / 100  # there are fewer than 100 counts
    counts = {key: (np.sum(each, axis=0).min(), len(each)) for key, each in hits.items()}
    assert {key: n for key, n in counts.items() if n[0] < stats.binom.ppf(alarm, n[1], 0.945)} == {}
    most = stats.binom.isf(alarm, surveys, 0.06)
    assert {key: sum(each) for key, each in false.items() if sum(each) > most} == {}


# -- what is stored and shown -----------------------------------------------------------------------


@pytest.mark.slow
def test_a_model_file_says_which_waves_made_it(snapshot, tmp_path):
    results = make_results(snapshot, wave="2025-04", discount=0.8)
    data = dump_results(results)
    assert dump_results(parse_results(data)) == data
    entry = json.loads(data)["series"]
    assert (entry["wave"], entry["tables"], entry["discount"]) == ("2025-04", "pooled", 0.8)
    assert entry["drifting"] == ["tea"]
    assert len(entry["courses"][0]["changes"]["value"]) == 4
    save_results(tmp_path / "model.json", results)
    model = load_model(tmp_path / "model.json")
    assert "wave='2025-04'" in repr(model)
    assert "These are the results of wave 2025-04, one of 5 waves with reports." in model.card()
    frame = model.to_frame()
    assert set(frame["wave"].dropna()) == set(NAMES)
    assert str(frame["stands_out"].dtype) == "boolean"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"),
    [("wave", "2026-01"), ("tables", "mine"), ("discount", 0), ("reports", [1]), ("waves", ["2026-01"])],
)
def test_a_damaged_series_is_refused(snapshot, name, value):
    content = json.loads(dump_results(make_results(snapshot)))
    del content["checksum"]
    content["series"][name] = value
    with pytest.raises(ModelError, match="series"):
        parse_results(signed(content))


@pytest.mark.slow
def test_the_table_has_a_row_for_each_figure_and_wave(snapshot):
    rows = [row for row in build_full_table(make_results(snapshot)) if row.wave]
    black = [row for row in rows if (row.feature, row.value, row.class_name) == ("tea", "black", "yes")]
    found = [(row.statistic, row.wave, row.since) for row in black]
    since = [("change of P(value | class)", wave, before) for before, wave in pairwise(NAMES)]
    since += [("change of P(value | class)", wave, NAMES[0]) for wave in NAMES[2:]]
    levels = [
        (kind, wave, None)
        for kind in ("P(value | class) by wave", "trend of P(value | class)")
        for wave in NAMES
    ]
    assert found == [*levels, *since, ("slope of P(value | class)", NAMES[-1], NAMES[0])]
    marked = {(row.wave, row.since) for row in black if row.stands_out}
    assert marked == {("2025-04", "2025-03"), ("2025-04", "2025-01"), ("2025-05", "2025-01")}
    assert all(row.known for row in black)


@pytest.mark.slow
def test_pages_and_summaries_show_the_wave_and_its_changes(snapshot, monkeypatch):
    Clock(monkeypatch, snapshot.plan.waves.list[-1].opens)
    results = make_results(snapshot)
    page = parse_page(render_page(results))
    words = " ".join(page.text.split())
    assert "These are the results of wave 2025-05, one of 5 waves with reports. It is still open" in words
    assert "within the classes (test at 5% for all together): tea. Train with" in words
    assert "Train with --discount .8" in words
    assert "2025-05 (unfinished)" in words
    assert "Something changed in tea, P(value | class)" in words
    summary = " ".join(format_summary(results).split())
    assert "stands out" in summary
    assert "wave 2025-05" in summary
    own = make_results(snapshot, tables="own")
    assert "The model is made from this wave alone." in format_summary(own)


@pytest.mark.slow
def test_the_command_chooses_the_wave_and_the_tables(snapshot, tmp_path):
    (tmp_path / "snapshot.json").write_bytes(snapshot.to_json())
    model, csv_file = tmp_path / "model.json", tmp_path / "estimates.csv"
    train = ("ldp-train", tmp_path / "snapshot.json", "-o", model)
    shown = command(*train, "--wave", "2025-03", "--discount", "0.8", "--csv", csv_file, "--json")
    series = json.loads(shown.stdout)["series"]
    assert (series["wave"], series["discount"]) == ("2025-03", 0.8)
    assert csv_file.read_text() == dump_table(build_full_table(parse_results(model.read_bytes())))
    refused = command(*train, "--tables", "own", "--discount", "0.8", check=False)
    assert refused.exit_code
    assert "a discount" in refused.stderr
    assert "no wave '2026-01'" in command(*train, "--wave", "2026-01", check=False).stderr
