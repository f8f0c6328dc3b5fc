"""Comparing two surveys: what is matched, what differs, and how often a difference is a false alarm."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from encoders.randomness import FastStream
from encoders.survey import Plan
from ldp_aggregator.results import Results, make_results
from ldp_aggregator.rows.encode_table import encode_numbers
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.views.estimate_rows import build_table
from ldp_aggregator.views.survey_comparison import (
    LEVEL,
    Cell,
    Comparison,
    ComparisonError,
    Difference,
    EstimateName,
    compare_surveys,
)
from tests.ldp_aggregator.estimation.test_validation_result import validated
from tests.support import surveys
from tests.support.statistical_checks import small_and_full

CLASSES = ["yes", "no", "rarely"]
TEAS = ["black", "green", "white", "none", "other"]
COIN = ["heads", "tails"]
HOURS = {"range": [2, 12], "missing": "category"}
SHARES = (0.6, 0.38, 0.02)
FALSE_ALARM = 1e-7
"""The probability that a correct test of the false alarms fails for another seed."""


def make_plan(
    survey, epsilon=4, *, label="asleep", classes=CLASSES, teas=TEAS, coin="coin", hours=HOURS, **changes
):
    """Return the plan of a survey with these names and values."""
    features = {"tea": teas, coin: COIN, "hours": hours}
    return surveys.make_plan(
        id=survey, epsilon=epsilon, features=features, label={"name": label, "values": classes}, **changes
    )


def ask(
    plan: Plan, people: int, seed: int, *, shares: tuple[float, ...] = SHARES, tea: float = 0.5
) -> Results:
    """Return the results of people, of whom those with the label "yes" drink black tea with a probability."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, people, p=shares)
    black = (labels == 0) & (rng.random(people) < tea)
    hours = np.where(rng.random(people) < 0.2, np.nan, rng.normal(np.where(labels == 0, 4, 8), 1))
    codes = [
        np.where(black, 0, rng.integers(0, 5, people)),
        (rng.random(people) < 0.3).astype(int),
        encode_numbers(plan.features[2], hours),
    ]
    snapshot = simulate_reports(plan, np.column_stack(codes), labels, FastStream(seed))
    return make_results(snapshot, poisoning=False)


def reasons(comparison: Comparison) -> dict[str, str]:
    return dict(comparison.not_compared)


def find(comparison: Comparison, *quantity: str) -> Difference:
    [found] = [each for each in comparison.differences if each.quantity == EstimateName(*quantity)]
    return found


@pytest.fixture(scope="module")
def first() -> Results:
    return ask(make_plan("first"), 20_000, 1)


@pytest.mark.slow
def test_a_large_difference_is_found_and_its_interval_contains_the_truth(first):
    comparison = compare_surveys(first, ask(make_plan("second"), 20_000, 2, tea=0.9))
    found = find(comparison, "tea", "P(value | class)", "black", "yes")
    assert found.differs
    # P(black | yes) is tea + (1 - tea) / 5; the interval misses in fewer than 1 in 1e6 surveys at 5 errors
    assert abs(found.difference - 0.32) < 5 * found.stderr < 0.2
    assert found in comparison.differing
    assert {each.quantity.feature for each in comparison.differing} == {"tea"}


def test_the_test_is_that_of_the_raw_estimates_at_the_level_of_all_comparisons(first):
    second = ask(make_plan("second"), 20_000, 2)
    comparison = compare_surveys(first, second)
    z = NormalDist().inv_cdf(1 - LEVEL / (2 * len(comparison.differences)))
    rows = [
        {
            (row.feature, row.statistic, row.value or "", row.class_name or ""): row
            for row in build_table(each.estimates)
        }
        for each in (first, second)
    ]
    compared = 0
    for each in comparison.differences:
        one, other = (table.get(tuple(each.quantity)) for table in rows)
        if one is None or other is None:
            assert each.quantity.statistic == "variance"
            continue
        compared += 1
        assert (each.first, each.second) == (one.raw, other.raw)
        assert each.stderr == pytest.approx(math.hypot(one.stderr, other.stderr))
        assert each.differs == (abs(each.difference) > z * each.stderr)
        assert each.low <= max(min(each.difference, each.high), each.low) <= each.high
        assert each.differs == (each.low > 0 or each.high < 0)
    assert compared > 15


def test_the_two_surveys_may_have_other_epsilons_and_orders(first):
    reordered = make_plan("second", 2, classes=["no", "yes", "rarely"], teas=["green", "black", *TEAS[2:]])
    second = ask(reordered, 20_000, 3)
    comparison = compare_surveys(first, second)
    assert find(comparison, "tea", "P(value | class)", "black", "yes").second == pytest.approx(
        second.estimates.features[0].conditionals.value[1][1]
    )


def test_what_has_another_name_or_meaning_is_not_compared_and_has_a_reason(first):
    plan = make_plan(
        "second",
        classes=["yes", "no", "seldom"],
        teas=["black", "green", "red", *TEAS[3:]],
        coin="die",
        hours=HOURS | {"range": [2, 14]},
    )
    comparison = compare_surveys(first, ask(plan, 20_000, 4))
    found = reasons(comparison)
    assert found["asleep, P(class)"] == "the surveys have different classes"
    assert {
        ("coin, P(value | class)", "the second survey has no feature coin"),
        ("die, P(value | class)", "the first survey has no feature die"),
        ("tea, P(value | class)", "the second survey has no value white"),
        ("tea, P(value | class)", "the first survey has no value red"),
        ("tea, P(value | class)", "the second survey has no class rarely"),
        ("hours, mean", "the ranges differ, and numbers outside them are clipped"),
    } <= set(comparison.not_compared)
    assert {each.quantity.feature for each in comparison.differences} == {"tea"}
    assert {each.quantity.class_name for each in comparison.differences} == {"", "yes", "no"}


@pytest.mark.slow
def test_a_number_is_not_compared_with_bins_nor_surveys_of_two_labels(first):
    binned = make_plan("second", hours=HOURS | {"bins": 4})
    comparison = compare_surveys(first, ask_codes(binned))
    assert all(
        "list of values" in why for what, why in reasons(comparison).items() if what.startswith("hours")
    )
    other = make_plan("second", label="awake")
    comparison = compare_surveys(first, ask(other, 5_000, 5))
    assert {each.quantity.class_name for each in comparison.differences} == {""}  # shares of all people
    assert set(reasons(comparison).values()) == {"the labels differ: asleep and awake"}
    assert "hours, mean in each class" in reasons(comparison)  # that of all people is compared
    assert "hours, mean" not in reasons(comparison)


def ask_codes(plan: Plan) -> Results:
    rng = np.random.default_rng(6)
    codes = np.column_stack([rng.integers(0, each.size, 5_000) for each in plan.features])
    snapshot = simulate_reports(plan, codes, rng.integers(0, 3, 5_000), FastStream(6))
    return make_results(snapshot, poisoning=False)


@pytest.mark.slow
def test_what_one_survey_knows_nothing_about_is_not_compared(first):
    empty = ask(make_plan("second"), 0, 7)
    for comparison in (compare_surveys(first, empty), compare_surveys(empty, first)):
        assert not comparison.differences
        assert comparison.not_compared
    rare = compare_surveys(ask(make_plan("first", 1), 4_000, 8), ask(make_plan("second", 1), 4_000, 9))
    assert any("rarely" in what and "survey" in why for what, why in reasons(rare).items())


@pytest.mark.slow
def test_files_of_one_survey_are_refused_unless_they_are_independent(first):
    again = ask(make_plan("first"), 20_000, 10)
    with pytest.raises(ComparisonError, match="may contain the same reports"):
        compare_surveys(first, again)
    assert compare_surveys(first, again, independent=True).differences
    family = make_plan("later", family="first")
    with pytest.raises(ComparisonError, match="may contain the same reports"):
        compare_surveys(first, ask(family, 2_000, 11))


def test_a_validation_round_is_refused(first):
    snapshot = validated(1_000)
    results = make_results(snapshot, poisoning=False)
    with pytest.raises(ComparisonError, match="is a validation round"):
        compare_surveys(results, first)


@pytest.mark.slow
@pytest.mark.parametrize("count", small_and_full(20, 150, long=True))
@pytest.mark.parametrize(("epsilon", "people", "shares"), [(4, 3_000, SHARES), (1, 5_000, (0.5, 0.45, 0.05))])
def test_equal_surveys_differ_in_at_most_5_percent_of_comparisons(epsilon, people, shares, count):
    plans = make_plan("first", epsilon), make_plan("second", epsilon)
    comparisons = [
        compare_surveys(
            ask(plans[0], people, seed, shares=shares), ask(plans[1], people, seed + 10**6, shares=shares)
        )
        for seed in range(count)
    ]
    alarms = sum(bool(each.differing) for each in comparisons)
    assert alarms <= stats.binom.isf(FALSE_ALARM, len(comparisons), LEVEL)
    # the standard errors are neither too small nor much too large: the squared differences average to 1
    squares = [(each.difference / each.stderr) ** 2 for found in comparisons for each in found.differences]
    assert 0.8 < np.mean(squares) < 1.1 + 0.2 * (count < 100)


@pytest.mark.slow
@pytest.mark.parametrize("count", small_and_full(60, 300, long=True))
def test_equal_surveys_with_few_reports_and_a_large_epsilon_differ_in_at_most_5_percent(count):
    entries = {
        "label": {"name": "asleep", "values": CLASSES},
        "features": {"tea": TEAS[:4]},
        "mechanism": {"frequency": "DE"},
    }
    plans = [surveys.make_plan(id=name, epsilon=8, **entries) for name in ("first", "second")]

    def draw(plan: Plan, people: int, seed: int) -> Results:
        rng = np.random.default_rng(seed)
        codes = rng.choice(4, (people, 1), p=(0.5, 0.3, 0.15, 0.05))
        snapshot = simulate_reports(plan, codes, rng.integers(0, 3, people), FastStream(seed))
        return make_results(snapshot, poisoning=False)

    # in the small survey, often nobody of a class has reported a value of 5%: its standard error is nearly 0
    comparisons = [
        compare_surveys(draw(plans[0], 150, seed), draw(plans[1], 3_000, seed + 10**6))
        for seed in range(count)
    ]
    alarms = sum(bool(each.differing) for each in comparisons)
    assert alarms <= stats.binom.isf(FALSE_ALARM, len(comparisons), LEVEL)
    by_stderr = [
        abs(each.difference) > NormalDist().inv_cdf(1 - LEVEL / (2 * len(found.differences))) * each.stderr
        for found in comparisons
        for each in found.differences
    ]
    assert sum(by_stderr) > stats.binom.isf(FALSE_ALARM, len(comparisons), LEVEL)  # these would be alarms


def test_an_impossible_estimate_is_compared_with_the_margins_of_its_standard_error():
    def margins(value):
        low, high = max(value - 0.1, 0.0), max(value, 0.0) + 0.1
        cell = Cell(value, 0.05, low, high, 2.0, is_informative=True, bounds=(0.0, 1.0))
        return cell.compute_margins(3.0)

    assert margins(0.2) == pytest.approx((0.15, 0.15))
    assert margins(-0.2) == pytest.approx((0.15, 0.15))
