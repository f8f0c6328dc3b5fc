"""Estimates of tables, of features in several questions, of levels, and of quantiles."""

import json
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from encoders.mechanisms import design
from encoders.randomness import FastStream
from ldp_aggregator.codec import from_json, to_json
from ldp_aggregator.estimation import Estimates, estimate_snapshot, to_covariance
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance
from ldp_aggregator.estimation.discrete.frequencies import CombinedFrequencies, compute_sum_covariances
from ldp_aggregator.estimation.estimates import estimate_parameters
from ldp_aggregator.estimation.independence import assess_independence, draw_estimates, find_p_value
from ldp_aggregator.estimation.intervals import IntervalEstimate
from ldp_aggregator.estimation.quantiles import OrderedResult
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.estimation.sequential_intervals import hold_at_all_looks
from ldp_aggregator.simulated_population import simulate_reports
from tests.ldp_aggregator.views.samples import simulate_tables
from tests.support.surveys import make_plan

PAGE = Path(__file__).resolve().parents[3] / "docs" / "analysing.md"
LABEL = '[label]\nname = "ill"\nvalues = ["yes", "no"]\n'


@pytest.fixture(scope="module")
def estimates():
    return estimate_snapshot(simulate_tables(40_000))


def plan_pair(label, across_label=False):
    features = {"a": {"values": ["x", "y", "z"], "alone": True}, "b": ["u", "v"]}
    table = {"features": ["a", "b"], "label": across_label}
    return make_plan(label=label, features=features, tables={"t": table})


def simulate_pair(people, seed, label=None):
    """Return reports about a and b, where b depends on a."""
    plan = plan_pair(label)
    rng = np.random.default_rng(seed)
    a = rng.choice(3, people, p=[0.5, 0.3, 0.2])
    b = (rng.random(people) < np.array([0.2, 0.5, 0.8])[a]).astype(np.int64)
    labels = rng.integers(0, len(plan.label.values), people)
    return simulate_reports(plan, np.stack([a, b], axis=1), labels, FastStream(seed))


# -- tables -------------------------------------------------------------------------------------


def test_rows_and_columns_are_the_values_of_the_features(estimates):
    table, large = estimates.tables
    assert (table.name, table.rows, table.across) == ("smokes x sleep", ("yes", "no"), ("sleep",))
    assert table.columns == (("bad",), ("fair",), ("good",), ("(missing)",))
    assert large.across == ("sleep", "hours")
    assert large.cells.value.shape == (2, 4 * 40)


def test_percentages_are_the_cells_divided_by_their_rows_and_columns(estimates):
    table = estimates.tables[0]
    cells = table.cells.value
    np.testing.assert_allclose(table.row_shares.value, cells / cells.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(table.column_shares.value, cells / cells.sum(axis=0))
    for shares in table.make_consistent():
        assert (shares >= 0).all()
    np.testing.assert_allclose(table.make_consistent()[1].sum(axis=1), 1)


def test_tables_of_two_columns_are_compared():
    [table] = estimate_snapshot(simulate_pair(20_000, 1)).tables
    difference = table.comparisons["risk difference"]
    shares = table.make_consistent()[2]
    np.testing.assert_allclose(difference.value, shares[:, 0] - shares[:, 1], atol=0.02)
    assert (difference.low <= difference.value).all()
    assert (difference.value <= difference.high).all()


def test_the_documented_difference_of_two_columns_is_that_of_a_table_with_two(capsys):
    snapshot = simulate_pair(20_000, 1)
    [code] = re.findall(r"```python\n(\[table\] = .*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names = {
        "estimate_snapshot": estimate_snapshot,
        "np": np,
        "snapshot": snapshot,
        "to_covariance": to_covariance,
    }
    exec(code.replace("[1, -1, 0]", "[1, -1]"), names)
    value, stderr = map(float, capsys.readouterr().out.split())
    difference = estimate_snapshot(snapshot).tables[0].comparisons["risk difference"]
    assert value == pytest.approx(difference.value[0], abs=0.2 * stderr)
    assert 2 * 1.96 * stderr == pytest.approx(difference.high[0] - difference.low[0], rel=0.01)


def test_a_table_with_the_label_has_it_in_its_columns():
    plan = plan_pair({"name": "ill"}, across_label=True)
    codes = np.zeros((100, 2), dtype=np.int64)
    snapshot = simulate_reports(plan, codes, np.zeros(100, dtype=np.int64), FastStream(1))
    [table] = estimate_snapshot(snapshot).tables
    assert table.across == ("b", "ill")
    assert table.columns == (("u", "yes"), ("u", "no"), ("v", "yes"), ("v", "no"))


@pytest.mark.slow
def test_estimates_of_tables_survive_json(estimates):
    others = [estimate_snapshot(simulate_tables(people, LABEL)) for people in (0, 500)]
    for each in (estimates, *others):
        document = json.loads(json.dumps(each.as_dict()))
        assert json.loads(json.dumps(from_json(Estimates, document).as_dict())) == document


def test_without_reports_a_table_is_unknown():
    table = estimate_snapshot(simulate_tables(0)).tables[0]
    assert table.independence is None
    assert table.comparisons == {}
    assert np.isnan(table.cells.value).all()
    assert (table.cells.high - table.cells.low == 1).all()


def test_during_a_survey_intervals_are_wider_and_nothing_is_tested(estimates):
    snapshot = simulate_tables(20_000)
    now = estimate_snapshot(snapshot)
    early = hold_at_all_looks(now, snapshot.plan)
    for one, wide in zip(now.tables, early.tables, strict=True):
        assert wide.independence is None
        assert (wide.cells.high >= one.cells.high).all()
        assert (wide.cells.low <= one.cells.low).all()
    one, wide = (each.features[2].ordered.cumulative for each in (now, early))
    assert (wide.high >= one.high).all()


# -- features in several questions --------------------------------------------------------------


@pytest.mark.slow
def test_a_share_from_two_questions_has_the_variance_of_the_weighted_mean():
    """Of 400 surveys: each variance is within 5 standard errors of the estimated one."""
    surveys = 400
    raw = [compute_raw_estimates(simulate_pair(2_000, seed)) for seed in range(surveys)]
    found = np.stack([each.share_estimates[0].raw for each in raw])
    stated = np.mean([each.share_estimates[0].covariance.variance for each in raw], axis=0)
    alone = np.mean([each.margins[0][0].covariance.variance for each in raw], axis=0)
    table = np.mean([each.margins[0][1].covariance.variance for each in raw], axis=0)
    assert (abs(found.var(axis=0, ddof=1) / stated - 1) < 5 * np.sqrt(2 / surveys)).all()
    assert (abs(found.mean(axis=0) - [0.5, 0.3, 0.2]) < 5 * np.sqrt(stated / surveys)).all()
    assert (stated < np.minimum(alone, table)).all()


def test_a_table_without_the_label_informs_shares_but_not_the_classifier():
    raw = compute_raw_estimates(simulate_pair(5_000, 1, label={}))
    joint, shares = raw.feature_estimates[0], raw.share_estimates[0]
    assert joint.n < shares.n
    assert raw.feature_estimates[1] is None
    assert raw.share_estimates[1].n == 5_000 - joint.n
    classifier = estimate_parameters(simulate_pair(5_000, 1, label={}))
    np.testing.assert_allclose(classifier.conditionals[1], 0.5)


# -- levels and quantiles -----------------------------------------------------------------------


def compile_levels(mechanism="auto", label=None):
    features = {"x": {"range": [0, 48], "bins": 48}}
    return make_plan(label=label, features=features, mechanism={"frequency": mechanism})


def simulate_levels(plan, people, seed):
    codes = np.clip(np.random.default_rng(seed).normal(20, 6, people), 0, 47).astype(np.int64)
    labels = np.zeros(people, dtype=np.int64)
    return simulate_reports(plan, codes[:, None], labels, FastStream(np.random.SeedSequence([seed, 1])))


def test_levels_are_combined_by_weighted_least_squares():
    plan = compile_levels()
    raw = compute_raw_estimates(simulate_levels(plan, 3_000, 1))
    combined = raw.share_estimates[0]
    assert isinstance(combined, CombinedFrequencies)
    normal, moments = np.zeros((48, 48)), np.zeros(48)
    for margin in raw.margins[0]:
        question = margin.question
        sums = np.equal.outer(
            np.arange(question.domain), (np.arange(48) + question.shift) // question.width
        ).astype(float)
        weight = 1 / margin.covariance.independent_variance.mean()
        normal += weight * sums.T @ sums
        moments += weight * sums.T @ margin.raw
    np.testing.assert_allclose(combined.raw, np.linalg.solve(normal, moments), atol=1e-12)


@pytest.mark.slow
def test_shares_and_cumulative_shares_from_levels_have_the_stated_errors():
    """Of 300 surveys with fixed seeds: each variance is within 5 standard errors of the stated one."""
    plan, surveys = compile_levels(), 300
    weights = np.tri(48)[[11, 23, 35]]
    found, stated = [], []
    for seed in range(surveys):
        [shares] = compute_raw_estimates(simulate_levels(plan, 3_000, seed)).share_estimates
        cumulative = np.diag(compute_sum_covariances(shares, weights, 1, 0))
        found.append([*shares.raw, *(weights @ shares.raw)])
        stated.append([*shares.covariance.variance, *cumulative])
    ratios = np.var(found, axis=0, ddof=1) / np.mean(stated, axis=0)
    assert (abs(ratios - 1) < 5 * np.sqrt(2 / surveys)).all()
    assert np.ptp(np.mean(stated, axis=0)[:48]) > 0.02 * stated[0][0]


def test_levels_without_reports_do_not_count():
    plan = compile_levels()
    snapshot = simulate_levels(plan, 3_000, 1)
    for question in plan.questions[:-1]:
        del snapshot.totals[question.key]
    [shares] = compute_raw_estimates(snapshot).share_estimates
    [single] = [each for each in compute_raw_estimates(snapshot).margins[0] if each.n]
    np.testing.assert_allclose(shares.raw, single.raw)


def test_early_reports_about_intervals_alone_say_nothing_about_values():
    plan = compile_levels()
    snapshot = simulate_levels(plan, 3_000, 1)
    del snapshot.totals[plan.questions[-1].key]
    result = estimate_snapshot(snapshot).features[0]
    assert np.isnan(result.shares.value).all()
    assert np.isnan(result.ordered.quantiles.value).all()
    assert result.ordered.quantiles.low.tolist() == [0, 0, 0]
    assert result.ordered.quantiles.high.tolist() == [48, 48, 48]


def ordered(value, low, high, edges=(0, 10, 20, 30, 40)):
    value, low, high = (np.array(each, dtype=float) for each in (value, low, high))
    cumulative = IntervalEstimate(value, np.full(len(value), 0.1), low, high, low - 0.05, high + 0.05)
    limits = tuple(map(str, edges[1:-1])) if edges else tuple("abc")
    by_class, falls = cumulative.reshape(-1, 1), np.minimum.accumulate(value[::-1])[::-1]
    shown = np.clip((np.maximum.accumulate(value) + falls) / 2, 0, 1)
    edges = tuple(map(float, edges))
    return OrderedResult(limits, edges, cumulative, by_class, shown, shown.reshape(-1, 1))


def test_quantiles_of_bins_are_interpolated_and_their_intervals_end_at_edges():
    found = ordered([0.25, 0.5, 0.9], [0.2, 0.4, 0.8], [0.3, 0.6, 1.0]).quantiles
    np.testing.assert_allclose(found.value, [10, 20, 26.25])
    assert found.low.tolist() == [0, 10, 20]
    assert found.high.tolist() == [20, 30, 30]
    assert (found.simultaneous_low <= found.low).all()
    assert (found.simultaneous_high >= found.high).all()


def test_quantiles_of_values_are_places_in_their_list():
    found = ordered([0.2, 0.6, 0.9], [0.1, 0.5, 0.8], [0.3, 0.7, 1.0], edges=()).quantiles
    assert found.value.tolist() == [1, 1, 2]
    assert found.low.tolist() == [0, 1, 2]
    assert found.high.tolist() == [1, 1, 2]


def add_up(shown):
    """Return the cumulative shares of shown shares, (A, groups), without those of all."""
    return (np.cumsum(shown, axis=0) / shown.sum(axis=0))[:-1]


@pytest.mark.parametrize("parts", [{}, {"label": None}])
@pytest.mark.parametrize("missing", ["error", "category"])
@pytest.mark.parametrize("bins", [2, 12, 48])
def test_shares_cumulative_shares_and_quantiles_are_of_one_fit(parts, missing, bins):
    plan = make_plan(features={"x": {"range": [0, 96], "bins": bins, "missing": missing}}, **parts)
    [feature], classes = plan.features, len(plan.label.values)
    rng = np.random.default_rng(bins)
    codes = rng.binomial(feature.size - 1, 0.4, 3_000)[:, None]
    snapshot = simulate_reports(plan, codes, rng.integers(0, classes, 3_000), FastStream(bins))
    result = estimate_snapshot(snapshot).features[0]
    ordered, edges = result.ordered, np.arange(bins + 1) * 96 / bins
    of_all = result.make_consistent(result.shares.reshape(-1, 1)), ordered.consistent.reshape(-1, 1)
    of_classes = result.make_consistent(result.conditionals), ordered.consistent_by_class
    estimates = ordered.quantiles.value.reshape(-1, 1), ordered.class_quantiles.value
    for (shares, cumulative), quantiles in zip((of_all, of_classes), estimates, strict=True):
        assert shares.min() >= 0
        np.testing.assert_allclose(shares.sum(axis=0), 1)
        np.testing.assert_allclose(add_up(shares[:bins]), cumulative, atol=1e-12)
        for column, found in zip(cumulative.T, quantiles.T, strict=True):
            np.testing.assert_allclose(np.interp(found, edges, [0, *column, 1]), [0.25, 0.5, 0.75])
    for estimate, shown in ((result.shares, of_all[0][:, 0]), (result.conditionals, of_classes[0])):
        assert ((estimate.low <= shown) & (shown <= estimate.high)).all()


def test_results_of_earlier_versions_are_shown_from_their_raw_cumulative_shares():
    stored = to_json(ordered([-0.1, 0.5, 0.4], [0, 0, 0], [1, 1, 1]))
    assert "consistent_by_class" not in stored
    del stored["consistent"]
    read = from_json(OrderedResult, stored)
    np.testing.assert_allclose(read.consistent, [0, 0.45, 0.45])
    np.testing.assert_allclose(read.consistent_by_class, [[0], [0.45], [0.45]])
    two = np.stack([read.cumulative.value] * 2, axis=1)
    ends = (two * 0, two * 0, two * 0 + 1, two * 0, two * 0 + 1)
    stored["by_class"] = to_json(IntervalEstimate(two, *ends))
    np.testing.assert_allclose(from_json(OrderedResult, stored).consistent_by_class[:, 1], [0, 0.45, 0.45])


@pytest.mark.slow
def test_a_missing_answer_has_no_place_in_the_order():
    snapshot = simulate_tables(200_000)
    result = estimate_snapshot(snapshot).features[1].ordered
    assert result.limits == ("bad", "fair")
    smokes = np.array([[0.49, 0.42, 0.09], [0.09, 0.42, 0.49]]).mean(axis=0)
    np.testing.assert_allclose(result.cumulative.value, smokes.cumsum()[:-1], atol=0.02)


# -- independence -------------------------------------------------------------------------------


def make_covariance(cells, n=1000, noise=2.0):
    """Return the covariance of frequencies with this much noise per report."""
    return FrequencyCovariance(
        cells.ravel(), n, floor=noise / n, growth=1 / n, shared=0.0, slope=0.0, product=1 / n
    )


def test_independent_cells_have_a_statistic_of_zero():
    cells = np.outer([0.2, 0.8], [0.5, 0.3, 0.2])
    found = assess_independence(cells, make_covariance(cells, n=10**6))
    assert found.degrees == 2
    assert found.statistic < 1e-3
    assert found.p_value > 0.99


def test_dependent_cells_are_detected():
    cells = np.array([[0.3, 0.2], [0.1, 0.4]])
    found = assess_independence(cells, make_covariance(cells, n=10**5, noise=0.5))
    assert found.p_value < 1e-6


def test_rows_and_columns_may_be_exchanged():
    cells = np.array([[0.3, 0.2, 0.05], [0.1, 0.2, 0.15]])
    covariance = make_covariance(cells)
    turned = covariance.evaluate_at(cells.T.ravel())
    one, other = assess_independence(cells, covariance), assess_independence(cells.T, turned)
    assert one.statistic == pytest.approx(other.statistic)
    assert one.degrees == other.degrees


@pytest.mark.slow
@pytest.mark.parametrize("columns", [2, 4])
def test_independence_is_rejected_in_5_percent_of_surveys(columns):
    """2,000 tables with normal noise: within 5 standard errors of 5% (two-sided 6e-7)."""
    rng, surveys = np.random.default_rng(7), 2_000
    cells = np.outer([0.5, 0.3, 0.2], np.full(columns, 1 / columns))
    covariance = make_covariance(cells, n=20_000)
    people = rng.multinomial(20_000, cells.ravel(), surveys) / 20_000
    tables = people + rng.normal(0, np.sqrt(covariance.floor), people.shape)
    found = [assess_independence(each.reshape(cells.shape), covariance) for each in tables]
    rejected = np.mean([each.p_value <= 0.05 for each in found])
    assert abs(rejected - 0.05) < 5 * np.sqrt(0.05 * 0.95 / surveys)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "people", "epsilon"), [("OUE", 1000, 8), ("DE", 200, 8), ("DE", 200, 1)]
)
def test_independence_keeps_its_level_with_few_reports_in_a_cell(mechanism, people, epsilon):
    """600 tables: at most 5 standard errors above 5% and 1% (3e-7 each), and above 2% (4e-4 below).

    The rarest cell expects .04 people of 1,000. With a chi-square distribution, the test rejects in 1% of the
    surveys of 200 people.
    """
    oracle, rng = design(mechanism, 24, Decimal(epsilon)), np.random.default_rng(11)
    cells = np.outer([0.7, 0.3], np.outer([0.6, 0.38, 0.02], [0.5, 0.3, 0.195, 0.005]))
    answers = rng.multinomial(people, cells.ravel(), 600)
    counters = rng.binomial(answers, oracle.on_mean) + rng.binomial(people - answers, oracle.off_mean)
    if mechanism == "DE":
        chances = oracle.off_mean + (oracle.on_mean - oracle.off_mean) * cells.ravel()
        counters = rng.multinomial(people, chances, 600)
    raw = (counters / people - oracle.off_mean) / (oracle.on_mean - oracle.off_mean)
    covariance = FrequencyCovariance.from_mechanism(oracle, cells.ravel(), people)
    found = np.array([assess_independence(each.reshape(cells.shape), covariance).p_value for each in raw])
    for level in (0.05, 0.01):
        assert (found <= level).mean() < level + 5 * np.sqrt(level * (1 - level) / 600)
    assert (found <= 0.05).mean() > 0.02


def test_the_same_table_has_the_same_p_value():
    cells = np.array([[0.3, 0.2, 0.05], [0.1, 0.2, 0.15]])
    covariance = make_covariance(cells)
    assert assess_independence(cells, covariance) == assess_independence(cells.copy(), covariance)


def test_small_p_values_are_extrapolated():
    simulated = stats.chi2.ppf((np.arange(399) + 0.5) / 399, 3)
    assert find_p_value(simulated[-20], simulated, 3) == pytest.approx(21 / 400)
    for statistic in (20.0, 60.0):
        assert find_p_value(statistic, simulated, 3) == pytest.approx(stats.chi2.sf(statistic, 3), rel=0.5)
    assert find_p_value(1.0, np.zeros(39), 3) == pytest.approx(1 / 40)


@pytest.mark.parametrize("kurtosis", [0.0, 1.0])
@pytest.mark.parametrize("mechanism", ["DE", "OUE", "SS"])
def test_simulated_estimates_have_the_covariance_and_the_tails_that_are_given(mechanism, kurtosis):
    """40,000 draws: every entry is within 5.5 standard errors (two-sided 4e-8 each, at most 36 entries)."""
    cells, draws = np.array([0.5, 0.25, 0.15, 0.05, 0.04, 0.01]), 40_000
    known = FrequencyCovariance.from_mechanism(design(mechanism, 6, Decimal(2)), cells, 300)
    covariance = replace(known, fourth=kurtosis * known.floor**2)
    error = draw_estimates(covariance, draws, np.random.default_rng(3)) - cells
    crossed = np.outer(cells, np.ones(6))
    expected = np.diag(known.independent_variance) + known.shared - known.product * np.outer(cells, cells)
    expected += known.slope * (crossed + crossed.T)
    products = error[:, :, None] * error[:, None, :]
    noise = products.std(axis=0) / np.sqrt(draws)
    assert np.all(np.abs(products.mean(axis=0) - expected) < 5.5 * noise)
    if mechanism != "OUE":  # the others subtract what makes the sum constant
        return
    if kurtosis:
        assert stats.kurtosis(error[:, -1]) == pytest.approx(covariance.kurtosis[-1], abs=0.2)
    else:  # that of a Poisson count, whose mean is the number of supporting reports
        count = known.independent_variance[-1] / known.growth**2
        assert stats.skew(error[:, -1]) == pytest.approx(count**-0.5, abs=0.1)
