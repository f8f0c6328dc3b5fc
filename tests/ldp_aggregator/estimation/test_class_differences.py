"""Differences between classes are detected where they exist, and in at most 5% of surveys elsewhere."""

import itertools
import math
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

from encoders.mechanisms import MECHANISMS, NUMERIC_MECHANISMS, design
from encoders.randomness import FastStream
from ldp_aggregator.estimation import class_differences, estimate_snapshot
from ldp_aggregator.estimation.class_differences import (
    LEVEL,
    Contrasts,
    compared_ratios,
    detect_differences,
    find_differing_statistics,
    find_differing_values,
    ratio_contrasts,
    value_contrasts,
)
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance
from ldp_aggregator.estimation.independence import chi_square_quantile, chi_square_tail
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.rows.encode_table import encode_numbers
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from tests.ldp_aggregator.estimation.conftest import (
    collect_differing,
    differing_plan,
    number_world,
    raw_results,
)
from tests.support.statistical_checks import small_and_full
from tests.support.surveys import make_plan

SIGMAS = 5.5
"""Two-sided false alarms of one z-test: 4e-8. The seeds are fixed, so a pass stays a pass."""


# -- the chi-square distribution ------------------------------------------------------------------


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 9, 10, 99, 1000])
def test_the_tail_is_that_of_a_chi_square_distribution(degrees):
    for x in (0.0, 1e-3, 0.5, 1.0, 3.84, 20.0, degrees, 1.2 * degrees + 10, 3 * degrees + 100):
        expected = stats.chi2.sf(x, degrees)
        assert chi_square_tail(x, degrees) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("level", [0.05, 0.05 / 3, 1e-6])
def test_the_quantile_inverts_the_tail(level):
    for degrees in (1, 2, 5, 50):
        found = chi_square_quantile(level, degrees)
        assert found == pytest.approx(stats.chi2.isf(level, degrees), rel=1e-9)


# -- the statistic ---------------------------------------------------------------------------------


def make_contrasts(seed: int, rows: int = 4, k: int = 5, factors: int = 2) -> Contrasts:
    """Return random contrasts of ratios near .3; the bottoms are 1 to 4 standard errors above zero."""
    rng = np.random.default_rng(seed)
    bottom = rng.uniform(1, 4, size=(rows, k))
    root = rng.normal(size=(rows, k, 2, 2)) / 2 + np.eye(2)
    pairs = root @ root.swapaxes(-1, -2) + 0.5 * np.eye(2)
    top_factors, bottom_factors = 0.2 * rng.normal(size=(2, rows, factors, k))
    return Contrasts(
        top=0.3 * bottom + 2 * rng.normal(size=(rows, k)),
        bottom=bottom,
        own=np.array([pairs[..., 0, 0], -2 * pairs[..., 0, 1], pairs[..., 1, 1]]),
        growth=rng.uniform(0, 0.5, size=(rows, k)),
        top_factors=top_factors,
        bottom_factors=bottom_factors,
        signs=np.resize([-1.0, 1.0], factors),
        informative=np.ones((rows, k), dtype=bool),
    )


def dense_covariances(contrasts: Contrasts, row: int, ratios: np.ndarray) -> np.ndarray:
    """Return the covariance matrices of the contrasts at m ratios, (m, k, k)."""
    constant, linear, quadratic = contrasts.own[:, row]
    r = ratios[:, None]
    own = constant + linear * r + quadratic * r**2 + contrasts.growth[row] * np.maximum(r * (1 - r), 0)
    factors = contrasts.top_factors[row] - r[..., None] * contrasts.bottom_factors[row]
    shared = np.einsum("mfi,f,mfj->mij", factors, contrasts.signs, factors)
    return own[:, :, None] * np.eye(own.shape[1]) + shared


def smallest_length(contrasts: Contrasts, row: int, candidates: int = 20_001) -> float:
    """Return the smallest squared length of the contrasts over many r."""
    ratios = np.tan(np.linspace(-math.pi / 2, math.pi / 2, candidates, endpoint=False)[1:])
    covariances = dense_covariances(contrasts, row, ratios)
    off = contrasts.top[row] - ratios[:, None] * contrasts.bottom[row]
    lengths = np.einsum("ri,ri->r", off, np.linalg.solve(covariances, off[..., None])[..., 0])
    return float(lengths.min())


def assert_statistic(contrasts: Contrasts, row: int, expected: float, relative: float) -> None:
    """Check that the row is detected just above the p-value of the expected statistic, and not just below."""
    degrees = int(contrasts.informative[row].sum()) - 1
    for factor, detected in ((1 - relative, True), (1 + relative, False)):
        level = chi_square_tail(expected * factor, degrees)
        assert detect_differences(contrasts, level)[row] == detected


def test_products_are_those_with_the_inverse_of_the_whole_covariance():
    contrasts, r = (
        make_contrasts(1),
        np.array([[-2.0, 0.1, 0.7], [0.0, 0.5, 1.0], [0.2, 0.3, 5.0], [1, 2, 3]]),
    )
    found = contrasts.products(r)
    for row, place in np.ndindex(r.shape):
        inverse = np.linalg.inv(dense_covariances(contrasts, row, r[row])[place])
        top, bottom = contrasts.top[row], contrasts.bottom[row]
        expected = top @ inverse @ top, top @ inverse @ bottom, bottom @ inverse @ bottom
        np.testing.assert_allclose([each[row, place] for each in found], expected, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_the_statistic_is_the_smallest_over_all_ratios(seed):
    contrasts = make_contrasts(seed)
    for row in range(len(contrasts.top)):
        assert_statistic(contrasts, row, smallest_length(contrasts, row), 0.02)


def test_rows_in_blocks_give_the_same(monkeypatch):
    contrasts = make_contrasts(3, rows=40)
    whole = detect_differences(contrasts, 0.2)
    assert 0 < whole.sum() < 40
    monkeypatch.setattr(class_differences, "_BLOCK", 5000)
    np.testing.assert_array_equal(detect_differences(contrasts, 0.2), whole)


def test_a_class_that_is_not_compared_does_not_matter():
    contrasts = make_contrasts(4)
    contrasts.informative[:, 2] = False
    before = detect_differences(contrasts, 0.3)
    contrasts.top[:, 2] += 1000
    np.testing.assert_array_equal(detect_differences(contrasts, 0.3), before)
    contrasts.informative[:, 1:] = False
    assert not detect_differences(contrasts, 0.999).any()


# -- discrete features -----------------------------------------------------------------------------


def snapshot_of_table(
    mechanism: str, table: np.ndarray, prior: np.ndarray, users: int, seed: int, epsilon: float = 2
) -> Snapshot:
    """Return a snapshot of one discrete feature with a given P(value | class)."""
    values, classes = ([f"{kind}{i}" for i in range(n)] for kind, n in zip("vc", table.shape, strict=True))
    one, by = {"one": values}, {"frequency": mechanism}
    plan = make_plan(epsilon=epsilon, label=classes, features=one, mechanism=by)
    rng = np.random.default_rng([seed, 5])
    labels = rng.choice(len(prior), users, p=prior)
    codes = (rng.random(users) >= np.cumsum(table, axis=0)[:-1, labels]).sum(axis=0)
    return simulate_reports(plan, codes[:, None], labels, FastStream([seed, 6]))


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("others", [1, 2, 3])
def test_the_covariance_of_a_value_is_that_of_its_frequencies(mechanism, others):
    """The question may ask about another feature too, with 2 or 3 values, which depends on everything."""
    prior, shares, n = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.2, 0.3, 0.4]), 1000
    oracle = design(mechanism, 4 * others * 3, Decimal(2))
    other = np.random.default_rng(1).dirichlet(np.ones(others), size=(4, 3)).swapaxes(1, 2)
    joint = (other * shares[:, None, None] * prior).ravel()
    whole = oracle.covariance(joint[:, None], joint[None, :]) / n
    np.fill_diagonal(whole, oracle.variance(joint) / n)
    truth = np.outer(shares, prior).ravel()
    covariance = FrequencyCovariance.from_mechanism(oracle, truth, n)
    contrasts = value_contrasts(truth.reshape(-1, 3), covariance, 4)
    for value, r in enumerate(shares):
        off = np.repeat((np.arange(4) == value) - r, others)
        weights = np.einsum("b,cd->cbd", off, np.eye(3)).reshape(3, -1)
        expected = weights @ whole @ weights.T
        np.testing.assert_allclose(
            dense_covariances(contrasts, value, np.array([r]))[0], expected, rtol=1e-9, atol=1e-15
        )


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_two_classes_are_compared_by_the_z_test_of_their_difference(mechanism):
    prior, table = np.array([0.6, 0.4]), np.array([[0.30, 0.31], [0.45, 0.45], [0.25, 0.24]])
    snapshot = snapshot_of_table(mechanism, table, prior, 400_000, 1, epsilon=4)
    frequencies = compute_raw_estimates(snapshot).feature_estimates[0]
    joint = frequencies.raw.reshape(-1, 2)
    share = joint.sum(axis=0)
    contrasts = value_contrasts(joint, frequencies.covariance, 3)
    for value in range(3):
        r = joint[value].sum()
        (covariance,) = dense_covariances(contrasts, value, np.array([r]))
        off = joint[value] / share  # their difference is linear in the contrasts F - r G
        variance = np.array([1, -1]) / share @ covariance @ (np.array([1, -1]) / share)
        assert_statistic(contrasts, value, (off[0] - off[1]) ** 2 / variance, 0.05)


@pytest.mark.parametrize("seed", range(5))
def test_two_values_are_one_test(seed):
    # both have the same statistic in each simulated survey, so no level is divided among them
    snapshot = snapshot_of_table("OUE", np.array([[0.3, 0.4], [0.7, 0.6]]), np.array([0.5, 0.5]), 4000, seed)
    frequencies = compute_raw_estimates(snapshot).feature_estimates[0]
    contrasts = value_contrasts(frequencies.raw.reshape(-1, 2), frequencies.covariance, 2)
    for level in (1e-3, 0.02, 0.05, 0.1, 0.3):
        assert len(set(detect_differences(contrasts, level).tolist())) == 1
    assert len(set(find_differing_values(frequencies, 2).tolist())) == 1


def test_a_difference_significant_alone_may_not_be_among_many():
    contrasts = make_contrasts(1, rows=1, k=2, factors=1)
    p = chi_square_tail(smallest_length(contrasts, 0), 1)
    assert detect_differences(contrasts, 1.1 * p)[0]
    assert not detect_differences(contrasts, 1.1 * p / 5)[0]


# -- numbers ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("surveys", small_and_full(60, 300))
@pytest.mark.parametrize("mechanism", NUMERIC_MECHANISMS)
def test_contrasts_of_numbers_have_the_stated_covariance(mechanism, surveys):
    """Contrasts of means and missing shares at the truth: a z-test of each product of two classes."""
    world = number_world(mechanism, epsilon=1)
    income = world.plan.features[0]
    truth = (world.means[0] - np.mean(income.bounds)) / income.width, world.missing
    products, stated = [], []
    for seed in range(surveys):
        number = compute_raw_estimates(world.snapshot(8000, seed)).numbers[0]
        compared = compared_ratios(number)
        contrasts = ratio_contrasts(number, [compared["means"], compared["missing"]])
        # each class has a ratio of its own, so the covariance is assembled by rows
        off = contrasts.top - np.array(truth) * contrasts.bottom
        products.append([np.outer(each, each) for each in off])
        stated.append([covariance_at(contrasts, row, ratio) for row, ratio in enumerate(truth)])
    surplus = np.array(products) - np.array(stated)
    sigma = surplus.std(axis=0) / math.sqrt(len(surplus))
    assert np.all(np.abs(surplus.mean(axis=0)) < SIGMAS * sigma)
    assert np.mean(stated, axis=0)[0, 0, 1] != 0


def covariance_at(contrasts: Contrasts, row: int, r: float) -> np.ndarray:
    """Return the (k, k) covariance of the contrasts with another r for each class; there is no growth."""
    constant, linear, quadratic = contrasts.own[:, row]
    factors = contrasts.top_factors[row] - r * contrasts.bottom_factors[row]
    own = constant + linear * r + quadratic * r**2
    return np.diag(own) + factors.T @ np.diag(contrasts.signs) @ factors


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["laplace", "sign", "piecewise"])
def test_each_statistic_of_a_number_is_compared_by_itself(mechanism):
    estimates = estimate_snapshot(number_world(mechanism, epsilon=6).snapshot(200_000, 1))
    income, _, degrees = estimates.features
    assert income.distinguishable_entries == {"means": True, "variances": True, "missing": True}
    assert degrees.distinguishable_entries == {"means": True, "variances": True}
    assert estimates.as_dict()["features"][0]["distinguishable_entries"] == income.distinguishable_entries


# -- level and power -------------------------------------------------------------------------------


CELLS = 4 * len(MECHANISMS) + 2 * len(NUMERIC_MECHANISMS) + 2
"""Tests of false alarms."""


def most_alarms(surveys: int) -> int:
    """Return the number of false alarms at level 5% that any of the tests exceeds once in a million."""
    return int(stats.binom.isf(1e-6 / CELLS, surveys, LEVEL))


def equal_table(values: int, k: int) -> np.ndarray:
    return np.repeat(np.arange(1, values + 1)[:, None] / (values * (values + 1) / 2), k, axis=1)


@pytest.mark.parametrize("surveys", small_and_full(40, 100))
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("prior", [(1 / 3, 1 / 3, 1 / 3), (0.6, 0.35, 0.05)])
@pytest.mark.parametrize(("epsilon", "users"), [(0.5, 2000), (4, 4000)])
def test_equal_classes_are_distinguishable_in_at_most_one_survey_of_twenty(
    mechanism, prior, epsilon, users, surveys
):
    alarms = 0
    for seed in range(surveys):
        snapshot = snapshot_of_table(mechanism, equal_table(4, 3), np.array(prior), users, seed, epsilon)
        frequencies = compute_raw_estimates(snapshot).feature_estimates[0]
        alarms += find_differing_values(frequencies, 3).any()
    assert alarms <= most_alarms(surveys)


@pytest.mark.parametrize("surveys", small_and_full(30, 60))
@pytest.mark.parametrize("mechanism", NUMERIC_MECHANISMS)
@pytest.mark.parametrize(("epsilon", "users"), [(0.5, 4000), (4, 4000)])
def test_equal_numbers_are_distinguishable_in_at_most_one_survey_of_twenty(
    mechanism, epsilon, users, surveys
):
    plan = differing_plan("DE", epsilon, mechanism)
    alarms = 0
    for seed in range(surveys):
        rng = np.random.default_rng([seed, 7])
        labels = rng.choice(3, users, p=[0.6, 0.3, 0.1])
        codes = encode_numbers(plan.features[1], np.where(rng.random(users) < 0.2, np.nan, rng.random(users)))
        rows = np.column_stack([rng.integers(0, 5, users), codes])
        number = compute_raw_estimates(simulate_reports(plan, rows, labels, FastStream([seed, 8]))).numbers[0]
        alarms += any(find_differing_statistics(number).values())
    assert alarms <= most_alarms(surveys)


@pytest.mark.parametrize("surveys", small_and_full(40, 200))
@pytest.mark.parametrize(
    ("epsilon", "users", "prior"), [(16, 1000, (0.9, *[0.02] * 5)), (8, 300, (1 / 6,) * 6)]
)
def test_equal_numbers_of_few_people_per_class_are_rarely_distinguishable(epsilon, users, prior, surveys):
    x, by = {"x": {"range": [0, 100]}}, {"numeric": "piecewise"}
    plan = make_plan(epsilon=epsilon, label=list("abcdef"), features=x, mechanism=by)
    alarms = 0
    for seed in range(surveys):
        rng = np.random.default_rng([seed, 9])
        labels = rng.choice(6, users, p=np.array(prior) / sum(prior))
        codes = encode_numbers(plan.features[0], 100 * rng.random(users) ** 3)[:, None]
        snapshot = simulate_reports(plan, codes, labels, FastStream([seed, 10]))
        alarms += any(find_differing_statistics(compute_raw_estimates(snapshot).numbers[0]).values())
    assert alarms <= most_alarms(surveys)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["DE", "OUE", "SS"])
def test_a_difference_is_detected_where_intervals_still_overlap(mechanism):
    table, prior = np.array([[0.3, 0.5], [0.7, 0.5]]), np.array([0.6, 0.4])
    detected = separate = 0
    for seed in range(40):
        snapshot = snapshot_of_table(mechanism, table, prior, 4000, seed, 1)
        detected += find_differing_values(compute_raw_estimates(snapshot).feature_estimates[0], 2).any()
        conditionals = raw_results(snapshot, [0]).features[0].conditionals
        low, high = conditionals.simultaneous_low, conditionals.simultaneous_high
        separate += bool((low.max(axis=-1) > high.min(axis=-1)).any())
    assert detected >= 30
    assert detected >= separate + 10


@pytest.mark.parametrize("mechanism", ["DE", "OUE"])
def test_different_classes_are_distinguishable(mechanism):
    estimates = estimate_snapshot(collect_differing(mechanism, 4, 40_000, 1, differ=True))
    five, number = estimates.features
    assert five.distinguishable_entries.tolist() == [True, True, True, False, False]
    assert number.distinguishable_entries == {"means": True, "variances": False, "missing": False}
    document = estimates.as_dict()
    assert document["non_uniform"] == [True, True, True]
    assert [each["distinguishable"] for each in document["features"]] == [True, True]


# -- few reports -----------------------------------------------------------------------------------


def test_without_reports_nothing_is_distinguishable():
    estimates = estimate_snapshot(Snapshot(differing_plan("DE", 1), {}))
    assert not any(feature.distinguishable for feature in estimates.features)
    assert estimates.features[1].distinguishable_entries == {
        "means": False,
        "variances": False,
        "missing": False,
    }
    assert estimates.as_dict()["non_uniform"] == [False] * 3


@pytest.mark.parametrize("mechanism", NUMERIC_MECHANISMS)
@pytest.mark.parametrize("users", [1, 3, 20])
def test_few_reports_are_compared_without_an_error(mechanism, users):
    number = compute_raw_estimates(number_world(mechanism, epsilon=1).snapshot(users, 1)).numbers[0]
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        found = find_differing_statistics(number)
    assert list(found) == ["means", "variances", "missing"]


@pytest.mark.slow
def test_a_class_without_people_is_compared_like_any_other():
    for seed, epsilon in itertools.product(range(5), (0.5, 8)):
        table = np.array([[0.2, 0.6, 0.5], [0.8, 0.4, 0.5]])
        snapshot = snapshot_of_table("DE", table, np.array([0.5, 0.5, 0.0]), 60_000, seed, epsilon)
        assert find_differing_values(compute_raw_estimates(snapshot).feature_estimates[0], 3).all()


def test_a_mean_alone_has_no_variances_to_compare():
    world = number_world("sign", epsilon=4)
    snapshot = world.snapshot(60_000, 1)
    means = {
        question.key: snapshot.totals[question.key]
        for question in world.plan.questions
        if question.moment != 2
    }
    income = estimate_snapshot(Snapshot(world.plan, means, {})).features[0]
    assert income.distinguishable_entries == {"means": True, "variances": False, "missing": True}


def test_a_rare_class_and_many_classes_are_compared():
    prior = np.array([0.9, 0.098, 0.002])
    snapshot = snapshot_of_table("OUE", np.array([[0.2, 0.6, 0.2], [0.8, 0.4, 0.8]]), prior, 20_000, 1)
    assert find_differing_values(compute_raw_estimates(snapshot).feature_estimates[0], 3).all()
    many = snapshot_of_table("OUE", equal_table(3, 40), np.full(40, 1 / 40), 20_000, 1)
    assert not find_differing_values(compute_raw_estimates(many).feature_estimates[0], 40).any()
