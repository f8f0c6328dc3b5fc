"""Relevance: by hand, by raw estimates, and its standard error."""

import json
import math
import tracemalloc

import numpy as np
import pytest
from scipy import stats

from encoders.randomness import FastStream
from encoders.survey import Plan
from ldp_aggregator.estimation import Gaussian, estimate_snapshot
from ldp_aggregator.estimation.estimates import estimate_survey
from ldp_aggregator.estimation.relevance import _unbiased_square, compute_relevance
from ldp_aggregator.rows.encode_table import encode_numbers
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from ldp_aggregator.statements.rules import is_relevance_known
from tests.support.statistical_checks import small_and_full
from tests.support.surveys import make_plan

FOUR = ["a", "b", "c", "d"]
PRIOR = np.array([0.5, 0.3, 0.2])
TABLE = np.array([[0.7, 0.1, 0.1], [0.1, 0.6, 0.1], [0.1, 0.2, 0.1], [0.1, 0.1, 0.7]])
MEANS, SPREAD = np.array([2.0, 5.0, 6.0]), 1.0


def phi_square(joint: np.ndarray) -> float:
    """Return Pearson's mean square contingency, as textbooks write it."""
    return float((joint**2 / np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum() - 1)


def test_the_relevance_of_a_table_is_its_mean_square_contingency_over_the_maximum():
    assert compute_relevance(TABLE, PRIOR) == pytest.approx(phi_square(TABLE * PRIOR) / 2)
    assert compute_relevance(np.eye(3), PRIOR) == pytest.approx(1)
    assert compute_relevance(np.full((3, 3), 1 / 3), PRIOR) == 0
    two = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # one yes or no cannot distinguish three labels
    assert compute_relevance(two, PRIOR) == pytest.approx(1 / 2)


def test_a_value_without_people_adds_no_relevance():
    table = np.vstack([TABLE, np.zeros(3)])
    assert compute_relevance(table, PRIOR) == pytest.approx(compute_relevance(TABLE, PRIOR))


def test_the_relevance_of_a_number_is_its_variance_between_labels_plus_that_of_missing():
    mean, variance, even = np.array([-0.2, 0.4]), np.array([0.1, 0.2]), np.array([0.5, 0.5])
    between = 0.3**2
    assert compute_relevance(Gaussian(mean, variance, None), even) == pytest.approx(
        between / (between + 0.15)
    )
    absent = np.array([0.1, 0.3])
    more = phi_square(np.stack([absent, 1 - absent]) * even)
    assert compute_relevance(Gaussian(mean, variance, absent), even) == pytest.approx(
        between / (between + 0.15) + more
    )


def test_the_closed_form_equals_the_full_matrix():
    rng = np.random.default_rng(1)
    size, k = 5, 3
    value, own, shares = rng.normal(size=(size, k)), rng.random((size, k)), rng.dirichlet(np.ones(size))
    within, across = np.eye(size) - 1 / size, np.eye(k) - PRIOR[:, None]
    columns = across.T @ np.diag(1 / PRIOR) @ across
    matrix = np.kron(within @ np.diag(1 / shares) @ within, columns)
    v, noise = value.ravel(), own.ravel()
    weights = 1 / shares
    square = _unbiased_square(value, own, weights, (weights.mean() / 2 - weights) / size, columns)
    found = v @ matrix @ v - noise @ np.diag(matrix)
    slope = 4 * noise @ (matrix @ v) ** 2 / (v @ matrix @ v)
    chance = noise @ np.diag(matrix)
    assert square == pytest.approx((found, chance, 2 * noise @ matrix**2 @ noise, slope))


def relevance_plan(epsilon: float, values: list[str] = FOUR, **changes: object) -> Plan:
    features = {"informative": values, "silent": FOUR, "number": {"range": [0, 10]}}
    label = {"values": ["yes", "no", "maybe"], "weight": 1}
    return make_plan(epsilon=epsilon, label=label, features=features, **changes)


def health_plan() -> Plan:
    return make_plan(
        epsilon=1,
        label=["yes", "no", "rather not"],
        mechanism={"frequency": "SS"},
        features={"region": list("abcdefgh"), "insured": ["yes", "no"]},
    )


def make_snapshot(plan: Plan, people: int, seed: int) -> Snapshot:
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, people, p=PRIOR)
    informative = (rng.random((people, 1)) > TABLE.cumsum(axis=0).T[labels]).sum(axis=1)
    number = encode_numbers(plan.features[2], rng.normal(MEANS[labels], SPREAD))
    codes = np.asfortranarray(np.column_stack([informative, rng.integers(0, 4, people), number]))
    return simulate_reports(plan, codes, labels, FastStream(seed))


@pytest.fixture(scope="module", params=small_and_full(50, 400, long=True))
def found(request: pytest.FixtureRequest) -> np.ndarray:
    """Return value, standard error, low and high of each feature's relevance in many surveys."""
    plan = relevance_plan(1)
    estimates = (
        [each.relevance.estimate for each in estimate_snapshot(make_snapshot(plan, 6000, seed)).features]
        for seed in range(request.param)
    )
    return np.array([[[each.value, each.stderr, each.low, each.high] for each in row] for row in estimates])


def truths() -> np.ndarray:
    between = float(PRIOR @ (MEANS - PRIOR @ MEANS) ** 2)
    return np.array([phi_square(TABLE * PRIOR), 0.0, between / (between + SPREAD**2)]) / 2


@pytest.mark.slow
def test_the_raw_relevance_of_a_table_is_nearly_unbiased_and_its_standard_error_is_right(
    found,
):
    value, stderr = found[:, :2, 0], found[:, :2, 1]
    spread = value.std(axis=0)
    # the divisors of a table are estimates too, which explains a part of the difference
    assert (abs(value.mean(axis=0) - truths()[:2]) < (6 / math.sqrt(len(found)) + 0.3) * spread).all()
    np.testing.assert_allclose(
        np.sqrt((stderr**2).mean(axis=0)), spread, rtol=max(0.35, 5 / math.sqrt(2 * len(found)))
    )


@pytest.mark.slow
def test_the_raw_relevance_of_a_number_converges_to_the_truth():
    plan = relevance_plan(4)
    estimates = [
        estimate_snapshot(make_snapshot(plan, 30_000, seed)).features[2].relevance.estimate
        for seed in range(20)
    ]
    values = np.array([each.value for each in estimates])
    assert values.mean() == pytest.approx(truths()[2], abs=6 * values.std() / math.sqrt(20))
    assert values.std() < 0.1
    assert np.mean([each.stderr for each in estimates]) == pytest.approx(values.std(), rel=0.6)


@pytest.mark.slow
def test_intervals_contain_the_truth_in_19_of_20_surveys(found):
    low, high = found[..., 2], found[..., 3]
    held = ((low <= truths() + 1e-12) & (truths() <= high)).sum(axis=0)
    assert (held >= stats.binom.ppf(1e-7, len(found), 0.93)).all()  # the documented coverage is from 93%
    assert (low >= 0).all()
    assert (high <= 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("people", [1, 20, 300, 3000, 50_000])
def test_whether_a_number_is_missing_counts_too_and_no_estimate_is_nan(people):
    plan = make_plan(epsilon=2, features={"number": {"range": [0, 10], "missing": "category"}})
    for seed in range(10):
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, 2, people)
        number = np.where(rng.random(people) < np.where(labels, 0.8, 0.05), np.nan, rng.random(people) * 10)
        codes = np.asfortranarray(encode_numbers(plan.features[0], number)[:, None])
        estimates, classifier = estimate_survey(simulate_reports(plan, codes, labels, FastStream(seed)))
        (feature,), (smoothed,) = estimates.features, classifier.conditionals
        found = feature.relevance.estimate
        assert not np.isnan([found.stderr, found.low, found.high, feature.relevance.noise]).any()
        assert 0 <= found.low <= found.high <= 1
        if people == 50_000:
            truth = phi_square(np.array([[0.05, 0.8], [0.95, 0.2]]) / 2)
            assert abs(found.value - truth) < 6 * found.stderr < 0.6
            assert compute_relevance(smoothed, np.array([0.5, 0.5])) == pytest.approx(truth, abs=0.1)


def test_relevance_is_unknown_without_reports():
    document = estimate_snapshot(Snapshot(relevance_plan(1), {})).as_dict()
    for feature in document["features"]:
        assert feature["relevance"]["estimate"]["value"] is None
        assert feature["relevance"]["estimate"]["low"] == 0
    assert json.loads(json.dumps(document, allow_nan=False)) == document


@pytest.mark.slow
@pytest.mark.parametrize("people", [8, 40, 100, 300])
def test_relevance_is_unknown_if_noise_alone_could_be_much_of_its_range(people):
    """From so few reports, an interval would be informative only if noise made the estimate too large."""
    plan = health_plan()
    for seed in range(50):
        rng = np.random.default_rng(seed)
        labels = rng.choice(3, people, p=[0.12, 0.8, 0.08])
        codes = np.asfortranarray(np.column_stack([rng.integers(0, 8, people), rng.integers(0, 2, people)]))
        estimates = estimate_snapshot(simulate_reports(plan, codes, labels, FastStream(seed)))
        for feature in estimates.features:
            assert not is_relevance_known(feature.relevance)
            assert feature.relevance.estimate.low == 0
            assert feature.relevance.estimate.high == feature.relevance.maximum


def test_the_maximum_of_a_relevance_depends_on_the_numbers_of_values_and_classes():
    estimates = estimate_snapshot(make_snapshot(relevance_plan(4), 20_000, 1))
    assert [feature.relevance.maximum for feature in estimates.features] == [1, 1, 1 / 2]
    plan = health_plan()
    codes = np.zeros((50, 2), dtype=np.int64, order="F")
    estimates = estimate_snapshot(simulate_reports(plan, codes, np.zeros(50, dtype=np.int64), FastStream(1)))
    assert estimates.as_dict()["features"][1]["relevance"]["maximum"] == 1 / 2


def test_relevance_is_known_with_enough_reports():
    estimates = estimate_snapshot(make_snapshot(relevance_plan(4), 20_000, 1))
    assert all(is_relevance_known(feature.relevance) for feature in estimates.features[:2])


@pytest.mark.slow
def test_thousands_of_values_need_no_quadratic_memory():
    plan = relevance_plan(4, list(map(str, range(20_000))), mechanism={"frequency": "DE"})
    snapshot = make_snapshot(plan, 500, 1)
    tracemalloc.start()
    try:
        estimate_snapshot(snapshot)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2e8  # a matrix of 20,000 x 20,000 doubles takes 3.2 GB
