"""Classifiers fitted to reports and rows: gains over Naive Bayes, and models in the form of Naive Bayes."""

from dataclasses import replace

import numpy as np
import pytest

from encoders.randomness import FastStream
from encoders.survey import Plan
from encoders.survey.numeric_features import GRID
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation import Gaussian, estimate_parameters
from ldp_aggregator.estimation.discriminative import (
    DiscriminativeError,
    DiscriminativeFit,
    classifier,
    estimate_label_moments,
    fit_classifier,
)
from ldp_aggregator.prediction.scoring import LogProbabilities, normalise_log_scores
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from tests.support.surveys import make_plan

COPIES = 6
FEATURES = {f"f{number}": ["x", "y"] for number in range(COPIES + 1)}
NUMBER = {"number": {"range": [0, 10], "missing": "category"}}


def plan_of(features: dict[str, object] = FEATURES) -> Plan:
    return make_plan(epsilon=1, label=["a", "b"], features=features)


def draw_people(count: int, seed: int) -> tuple[IntArray, IntArray]:
    """Return codes and labels: six features are copies of one, and the last one is more informative."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    copied = np.where(rng.random(count) < 0.7, labels, 1 - labels)
    last = np.where(rng.random(count) < 0.8, labels, 1 - labels)
    return np.stack([copied] * COPIES + [last], axis=1), labels


def collect(plan: Plan, users: int = 200_000) -> tuple[Snapshot, LogProbabilities]:
    codes, labels = draw_people(users, seed=1)
    if len(plan.features) > codes.shape[1]:
        codes = np.concatenate([codes, draw_number(labels)[:, None]], axis=1)
    snapshot = simulate_reports(plan, codes, labels, FastStream(2))
    parameters = estimate_parameters(snapshot)
    return snapshot, LogProbabilities.from_probabilities(parameters.prior, parameters.conditionals)


def draw_number(labels: IntArray) -> IntArray:
    """Return codes of a number with other means in each class; missing in one of ten people."""
    rng = np.random.default_rng(3)
    x = np.clip(rng.normal(0.3 * labels - 0.15, 0.3), -1, 1)
    codes = np.rint((x + 1) * GRID).astype(np.int64)
    return np.where(rng.random(len(labels)) < 0.1, 2 * GRID + 1, codes)


def fit(snapshot: Snapshot, rows: IntArray, features: list[int] | None = None) -> DiscriminativeFit:
    parameters = estimate_parameters(snapshot)
    moments = estimate_label_moments(snapshot)
    return fit_classifier(parameters.prior, parameters.conditionals, moments, rows, features)


def to_model(fitted: DiscriminativeFit) -> LogProbabilities:
    return LogProbabilities.from_probabilities(fitted.prior, fitted.conditionals)


def accuracy(model: LogProbabilities, codes: IntArray, labels: IntArray) -> float:
    return float((model.compute_scores(codes).argmax(axis=1) == labels).mean())


def test_copied_features_no_longer_outvote_an_informative_one():
    snapshot, naive_bayes = collect(plan_of())
    fitted = fit(snapshot, draw_people(500, seed=4)[0])
    codes, labels = draw_people(20_000, seed=5)
    assert accuracy(naive_bayes, codes, labels) < 0.72
    assert accuracy(to_model(fitted), codes, labels) > 0.78
    assert fitted.log_evidence > 10
    assert fitted.fitted == tuple(range(COPIES + 1))
    probability = np.exp(normalise_log_scores(to_model(fitted).compute_scores(codes)))[:, 1]
    assert abs(probability.mean() - labels.mean()) < 0.03


def test_tables_of_the_model_are_distributions():
    snapshot, _ = collect(plan_of(), users=20_000)
    fitted = fit(snapshot, draw_people(200, seed=4)[0])
    assert fitted.prior.sum() == pytest.approx(1)
    for table in fitted.conditionals:
        assert not isinstance(table, Gaussian)
        np.testing.assert_allclose(table.sum(axis=0), 1)
        assert (table > 0).all()


def test_equal_reports_and_rows_give_equal_models():
    snapshot, _ = collect(plan_of(), users=20_000)
    rows = draw_people(200, seed=4)[0]
    first, second = fit(snapshot, rows), fit(snapshot, rows)
    np.testing.assert_array_equal(first.conditionals, second.conditionals)


def test_without_information_the_model_is_naive_bayes_exactly():
    snapshot, _ = collect(plan_of(), users=300)
    parameters, moments = estimate_parameters(snapshot), estimate_label_moments(snapshot)
    noise = (replace(part, covariance=1e9 * part.covariance) for part in moments.noise)
    noisy = replace(moments, noise=tuple(noise))
    rows = draw_people(300, seed=4)[0]
    fitted = fit_classifier(parameters.prior, parameters.conditionals, noisy, rows)
    assert fitted.fitted == ()
    np.testing.assert_array_equal(fitted.prior, parameters.prior)
    np.testing.assert_array_equal(fitted.conditionals, parameters.conditionals)


def test_features_that_are_not_fitted_keep_naive_bayes():
    snapshot, _ = collect(plan_of(), users=200_000)
    rows = draw_people(300, seed=4)[0]
    fitted = fit(snapshot, rows, features=[0, 1, COPIES])
    assert fitted.fitted == (0, 1, COPIES)
    assert set(fitted.chi_squares) == {0, 1, COPIES}
    plain = estimate_parameters(snapshot).conditionals
    np.testing.assert_array_equal(fitted.conditionals[2:COPIES], plain[2:COPIES])
    rows[:, 2:COPIES] = -1  # their codes are not read
    np.testing.assert_array_equal(fit(snapshot, rows, [0, 1, COPIES]).conditionals, fitted.conditionals)


def test_number_keeps_its_means_and_gets_a_factor():
    plan = plan_of(FEATURES | NUMBER)
    snapshot, _ = collect(plan)
    codes, labels = draw_people(500, seed=4)
    rows = np.concatenate([codes, draw_number(labels)[:, None]], axis=1)
    fitted = fit(snapshot, rows)
    before, after = estimate_parameters(snapshot).conditionals[-1], fitted.conditionals[-1]
    assert isinstance(before, Gaussian)
    assert isinstance(after, Gaussian)
    np.testing.assert_array_equal(after.mean, before.mean)
    factor = before.variance / after.variance
    assert factor[0] == pytest.approx(factor[1])
    assert accuracy(to_model(fitted), rows, labels) > 0.74


def test_scaled_number_predicts_as_its_scores_times_the_factor():
    gaussian = Gaussian(np.array([-0.3, 0.2]), np.array([0.1, 0.3]), np.array([0.2, 0.05]))
    codes = np.array([0, GRID // 2, GRID, 2 * GRID, 2 * GRID + 1])
    scaled, shift = classifier._scale_gaussian(gaussian, 0.4)

    def scores(each: Gaussian) -> FloatArray:
        return LogProbabilities.from_probabilities(np.ones(2), [each]).compute_scores(codes[:, None])

    np.testing.assert_allclose(scores(scaled) + shift, 0.4 * scores(gaussian))
    np.testing.assert_allclose(classifier._log_density(gaussian, codes), scores(gaussian))


def test_only_a_sample_of_very_many_rows_is_used(monkeypatch):
    snapshot, _ = collect(plan_of(), users=20_000)
    monkeypatch.setattr(classifier, "MAX_ROWS", 300)
    assert len(fit(snapshot, draw_people(5_000, seed=4)[0]).raked.weights) == 300


def test_of_a_survey_with_many_values_and_classes_fewer_rows_are_used(
    monkeypatch,
):
    snapshot, _ = collect(plan_of(), users=20_000)
    moments = estimate_label_moments(snapshot).mean.size
    monkeypatch.setattr(classifier, "MAX_ROW_MOMENTS", 200 * moments)
    assert len(fit(snapshot, draw_people(5_000, seed=4)[0]).raked.weights) == 200


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros((1, COPIES + 1), dtype=np.int64), "at least two rows"),
        (np.full((10, COPIES + 1), 2), "feature 0: codes must be from 0 to"),
        (np.full((10, COPIES + 1), -1), "feature 0: codes must be from 0 to"),
    ],
)
def test_rows_that_do_not_fit_the_survey_are_refused(rows, message):
    snapshot, _ = collect(plan_of(), users=1_000)
    with pytest.raises(DiscriminativeError, match=message):
        fit(snapshot, rows)
