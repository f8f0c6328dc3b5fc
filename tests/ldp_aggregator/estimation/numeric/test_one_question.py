"""Estimates of both moments of a number from one question, with few reports, odd numbers and no reports."""

import numpy as np
import pytest

from encoders.errors import SurveyError
from encoders.randomness import FastStream
from encoders.survey import Plan
from encoders.survey.any_survey import read_any_survey
from ldp_aggregator.estimation import NumberResult, estimate_snapshot
from ldp_aggregator.estimation.estimates import estimate_survey
from ldp_aggregator.rows.encode_table import encode_numbers
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot, Total
from ldp_aggregator.statements.warnings import find_feature_warning
from tests.support.surveys import make_plan

NUMBER = {"range": [0, 8], "moments": "mean", "missing": "category"}


def plan_of(label: list[str] | None, epsilon: float = 4) -> Plan:
    return make_plan(label=label and {"values": label}, features={"x": NUMBER}, epsilon=epsilon)


def simulate(plan: Plan, numbers: np.ndarray, seed: int = 1) -> Snapshot:
    codes = encode_numbers(plan.features[0], numbers)[:, None]
    labels = np.arange(len(numbers)) % len(plan.label.values)
    return simulate_reports(plan, codes, labels, FastStream(seed))


def check_ends(result: NumberResult) -> None:
    for statistics in (result.overall, result.by_class):
        for name, each in vars(statistics).items():
            ends = (each.low, each.high, each.simultaneous_low, each.simultaneous_high)
            assert np.isfinite(ends).all(), name
            assert (each.simultaneous_low <= each.low).all()
            assert (each.high <= each.simultaneous_high).all()


@pytest.mark.parametrize("label", [None, ["a", "b"]])
@pytest.mark.parametrize("people", [0, 1, 3])
def test_few_reports_have_wide_intervals(label, people):
    snapshot = simulate(plan_of(label), np.full(people, 4.0))
    estimates = estimate_snapshot(snapshot, poisoning=True)
    [result] = estimates.features
    check_ends(result)
    if not people:
        assert find_feature_warning(result, estimates.classes).id == "warnings.no-reports"
        assert (result.overall.deviations.low[0], result.overall.deviations.high[0]) == (0, 4)
    assert result.overall.means.high[0] - result.overall.means.low[0] > 1.8
    assert (result.mean_question.n, result.square_question.mechanism) == (people, None)


@pytest.mark.parametrize("label", [None, ["a", "b"]])
@pytest.mark.parametrize("value", [0.0, 2.7, 4.0, 8.0])
def test_numbers_that_are_all_equal_have_a_deviation_that_may_be_zero(label, value):
    [result] = estimate_snapshot(simulate(plan_of(label), np.full(20_000, value))).features
    check_ends(result)
    assert result.overall.deviations.low[0] == 0
    assert result.overall.deviations.high[0] < 1
    assert result.overall.means.simultaneous_low[0] < value + 0.05
    assert result.overall.means.simultaneous_high[0] > value - 0.05
    assert result.overall.means.high[0] - result.overall.means.low[0] < 0.2


@pytest.mark.parametrize("cell", [0, 2, 7, 12, 19])
@pytest.mark.parametrize("value", [-(10**9), 0, 10**15])
def test_counters_that_contradict_each_other_have_intervals_with_ends(cell, value):
    plan = plan_of(["a", "b"])
    snapshot = simulate(plan, np.linspace(0, 8, 2000))
    [question] = [each for each in plan.questions if each.moment]
    cells = snapshot.totals[question.key].cells.copy()
    cells[cell] = value
    changed = Snapshot(plan, {question.key: Total(2000, cells)}, {})
    check_ends(estimate_snapshot(changed).features[0])


def test_missing_numbers_moments_and_classes_are_estimated_from_one_question():
    rng, n = np.random.default_rng(3), 60_000
    of_class = np.arange(n) % 2
    numbers = np.clip(rng.exponential(1 + of_class), 0, 8)
    numbers[rng.random(n) < 0.1 + 0.2 * of_class] = np.nan
    estimates, parameters = estimate_survey(simulate(plan_of(["a", "b"]), numbers))
    [result] = estimates.features
    for place in (0, 1):
        own = numbers[of_class == place]
        truths = {"means": np.nanmean(own), "squares": np.nanmean(own**2), "deviations": np.nanstd(own)}
        for name, truth in (truths | {"missing": np.isnan(own).mean()}).items():
            each = getattr(result.by_class, name)
            assert abs(each.value[place] - truth) < 5 * each.stderr[place], name
    assert all(result.distinguishable_entries.values())
    assert abs(parameters.conditionals[0].variance * 16 - result.by_class.variances.value).max() < 0.3


@pytest.mark.parametrize("kind", ["silo", "central"])
def test_only_surveys_of_people_have_moments(kind):
    head = f'[survey]\nid = "t"\nkind = "{kind}"\n' + "epsilon = 1\nrows = 100\n" * (kind == "silo")
    with pytest.raises(SurveyError, match="only a survey of people asks for moments"):
        read_any_survey(head + '[features.x]\nrange = [0, 1]\nmoments = "mean"\n')
