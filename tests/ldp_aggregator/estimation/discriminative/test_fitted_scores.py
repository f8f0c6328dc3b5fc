"""The fit on small problems whose optimum is known."""

from dataclasses import dataclass, replace
from math import log, pi, sqrt

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation.discriminative import fit, informative_equations
from ldp_aggregator.estimation.discriminative.fit import NaiveBayesScores, fit_scores
from ldp_aggregator.estimation.discriminative.gauss_newton import NormalPrior, evidence_of_mean, find_mode
from ldp_aggregator.estimation.discriminative.informative_equations import find_informative
from ldp_aggregator.estimation.discriminative.label_moments import ALL_ROWS, LabelMoments, QuestionNoise
from ldp_aggregator.estimation.discriminative.moment_equations import (
    ContrastNoise,
    MomentEquations,
    ScoreModel,
    class_contrasts,
    compute_probabilities,
    set_up_equations,
)
from ldp_aggregator.estimation.discriminative.raking import RakedRows

SIZES = (2, 3, 2)
CLASSES = 3


def draw_people(count: int, seed: int) -> tuple[IntArray, FloatArray, IntArray]:
    """Return codes, indicators and labels; the third feature repeats the first in nine of ten people."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(size, size=count) for size in SIZES], axis=1)
    codes[:, 2] = np.where(rng.random(count) < 0.9, codes[:, 0], codes[:, 2])
    scores = np.stack([0.8 * codes[:, 0], 0.7 * (codes[:, 1] == 1), 0.4 * codes[:, 2] - 0.2], axis=1)
    labels = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    indicators = np.concatenate([np.eye(size)[codes[:, i]] for i, size in enumerate(SIZES)], axis=1)
    return codes, indicators, labels


def exact_moments(indicators: FloatArray, labels: IntArray, variance: float) -> LabelMoments:
    """Return the moments of these people, as if reports had estimated them with this variance."""
    mean = indicators.T @ np.eye(CLASSES)[labels] / len(labels)
    covariance = variance * np.eye(mean.size).reshape(*mean.shape, *mean.shape)
    return LabelMoments((0, 1, 2), SIZES, mean, (QuestionNoise(np.arange(len(mean)), covariance),))


def naive_bayes(indicators: FloatArray, labels: IntArray) -> NaiveBayesScores:
    counts = indicators.T @ np.eye(CLASSES)[labels] + 0.5
    tables = [part / part.sum(axis=0) for part in np.split(counts, np.cumsum(SIZES)[:-1])]
    prior = np.bincount(labels, minlength=CLASSES) / len(labels)
    return NaiveBayesScores(np.log(prior), [np.log(table) for table in tables], no_numbers(len(indicators)))


def no_numbers(rows: int) -> FloatArray:
    return np.zeros((rows, CLASSES, 0))


def equal_weights(rows: int, effective_rows: float | None = None) -> RakedRows:
    return RakedRows(np.full(rows, 1 / rows), np.ones(3), 0.0, effective_rows or rows)


@dataclass(frozen=True)
class Problem:
    """The rows, moments and noise of some people."""

    model: ScoreModel
    weights: FloatArray
    moments: LabelMoments
    probabilities: FloatArray
    noise: ContrastNoise

    def equations(self, combinations: FloatArray | None = None) -> MomentEquations:
        return set_up_equations(
            self.model, self.weights, self.moments.mean, slice(1, None), self.noise, combinations
        )


def make_problem(
    variance: float, rows: int = 60, seed: int = 0, numbers: int = 0, added: FloatArray | float = 0.0
) -> Problem:
    """Draw people; `added` is added to the moments, (cells, classes)."""
    _, indicators, labels = draw_people(rows, seed)
    offsets = np.random.default_rng(seed + 1).normal(size=(rows, CLASSES, numbers))
    model = ScoreModel(np.concatenate([np.ones((rows, 1)), indicators], axis=1), offsets)
    rng = np.random.default_rng(seed + 2)
    weights = rng.random(rows) + 0.5
    weights /= weights.sum()
    moments = exact_moments(indicators, labels, variance)
    moments = replace(moments, mean=moments.mean + added)
    probabilities = compute_probabilities(rng.normal(size=(rows, CLASSES)))
    noise = ContrastNoise.at_probabilities(
        model, weights, moments, slice(1, None), probabilities, effective_rows=rows
    )
    return Problem(model, weights, moments, probabilities, noise)


def make_equations(
    variance: float, rows: int = 60, seed: int = 0, numbers: int = 0, added: FloatArray | float = 0.0
) -> MomentEquations:
    return make_problem(variance, rows, seed, numbers, added).equations()


@pytest.mark.parametrize("k", [2, 3, 7])
def test_contrasts_are_orthonormal_and_add_up_to_zero(k):
    contrasts = class_contrasts(k)
    np.testing.assert_allclose(contrasts.T @ contrasts, np.eye(k - 1), atol=1e-12)
    np.testing.assert_allclose(contrasts.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("numbers", [0, 2])
def test_jacobian_equals_finite_differences(numbers):
    equations = make_equations(1e-4, numbers=numbers)
    model = equations.model
    parameters = np.random.default_rng(3).normal(size=8 * 2 + numbers, scale=0.5)
    step = 1e-5
    numeric = [
        (
            equations.differences(model.predict(parameters - step * unit))
            - equations.differences(model.predict(parameters + step * unit))
        )
        / (2 * step)
        for unit in np.eye(len(parameters))
    ]
    found = equations.jacobian(model.predict(parameters))
    np.testing.assert_allclose(found, np.stack(numeric, axis=1), rtol=1e-7, atol=1e-7)


def test_equations_do_not_depend_on_the_share_of_a_value():
    problem = make_problem(1e-4)
    target = problem.equations().target
    added = np.zeros_like(problem.moments.mean)
    added[2] = 0.1 * problem.noise.class_shares[2]  # more have the value, and their classes are the same
    np.testing.assert_allclose(make_equations(1e-4, added=added).target, target, atol=1e-9)
    added[2] = [0.1, 0.0, 0.0]
    assert np.abs(make_equations(1e-4, added=added).target - target).max() > 1


def test_differences_have_uncorrelated_noise_of_variance_one():
    rng = np.random.default_rng(12)
    problem = make_problem(1e-4)
    cells, k = problem.moments.mean.shape
    root = 1e-2 * rng.normal(size=(cells * k, cells * k))
    covariance = root @ root.T
    parts = []
    for part in (np.array([5, 0, 1, 6]), np.array([2, 3, 4])):  # the first question asks about two features
        places = (part[:, None] * k + np.arange(k)).ravel()
        block = covariance[np.ix_(places, places)].reshape(len(part), k, len(part), k)
        parts.append(QuestionNoise(part, block))
    moments = replace(problem.moments, noise=tuple(parts))
    noise = ContrastNoise.at_probabilities(
        problem.model, problem.weights, moments, slice(1, None), problem.probabilities, effective_rows=1e12
    )
    equations = replace(problem, noise=noise).equations()
    combinations = equations.combinations.reshape(cells * k, -1)
    found = combinations.T @ moments.covariance.reshape(cells * k, -1) @ combinations
    np.testing.assert_allclose(found, np.eye(len(found)), atol=1e-4)  # the jitter is 1e-6 of a variance
    # differences and combinations are transposes of each other
    change = rng.normal(size=(cells, k))
    np.testing.assert_allclose(noise.whiten(change[:, :, None])[:, 0], change.ravel() @ combinations)


def test_informative_combinations_are_leading_eigenvectors():
    problem = make_problem(1e-4, rows=300, numbers=1)
    mean = np.random.default_rng(13).normal(size=17, scale=0.4)
    prior = NormalPrior(mean, np.full(17, 1e-4), mean[:, None], np.array([10.0]))
    kept = find_informative(
        problem.model, problem.weights, slice(1, None), problem.noise, problem.probabilities, prior, count=3
    )
    np.testing.assert_allclose(kept.T @ kept, np.eye(3), atol=1e-12)
    jacobian = problem.equations().jacobian(problem.probabilities)
    leading = np.linalg.eigh(jacobian @ prior.multiply(jacobian.T))[1][:, -1]
    assert np.linalg.norm(kept.T @ leading) == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(
        problem.equations(kept).jacobian(problem.probabilities), kept.T @ jacobian, atol=1e-9
    )


def test_fit_to_some_combinations_is_close_to_the_fit_to_all(monkeypatch):
    _, indicators, labels = draw_people(400, seed=14)
    plain, moments = naive_bayes(indicators, labels), exact_moments(indicators, labels, 1e-4)
    full = fit_scores(plain, moments, indicators, equal_weights(400))
    monkeypatch.setattr(fit, "MAX_EQUATIONS", 10)
    monkeypatch.setattr(informative_equations, "MAX_EQUATIONS", 10)
    part = fit_scores(plain, moments, indicators, equal_weights(400))
    assert np.abs(part.probabilities - full.probabilities).max() < 0.02
    assert part.log_evidence == pytest.approx(full.log_evidence, abs=1)
    assert part.association == pytest.approx(full.association, rel=0.05)


def test_mode_has_zero_gradient():
    equations = make_equations(1e-3)
    rng = np.random.default_rng(4)
    size = 16
    prior = NormalPrior(
        mean=rng.normal(size=size, scale=0.3),
        variances=np.full(size, 0.2),
        directions=rng.normal(size=(size, 2)),
        direction_variances=np.array([0.5, 0.0]),
    )
    covariance = prior.multiply(np.eye(size))
    np.testing.assert_allclose(
        covariance,
        np.diag(prior.variances) + (prior.directions * prior.direction_variances) @ prior.directions.T,
    )
    mode = find_mode(equations, prior)

    def loss(parameters: FloatArray) -> float:
        differences = equations.differences(equations.model.predict(parameters))
        shift = parameters - prior.mean
        return float(differences @ differences + shift @ np.linalg.solve(covariance, shift)) / 2

    best = loss(mode.parameters)
    gradient = [
        (loss(mode.parameters + 1e-4 * unit) - loss(mode.parameters - 1e-4 * unit)) / 2e-4
        for unit in np.eye(size)
    ]
    # the search stops at gains of 1e-3, so the Newton decrement is about that small
    assert np.abs(gradient).max() < 0.3
    assert all(loss(mode.parameters + 0.05 * rng.normal(size=size)) > best for _ in range(50))


def test_evidence_equals_numerical_integration_over_one_parameter():
    equations = make_equations(3e-4)
    mean = np.random.default_rng(5).normal(size=16, scale=0.4)
    variance = 0.5
    prior = NormalPrior(mean, np.zeros(16), mean[:, None], np.array([variance]))
    factors = np.linspace(-5, 5, 4001)  # standard deviations of the common factor
    logs = [
        evidence_of_mean(equations, mean * (1 + sqrt(variance) * each)) - each**2 / 2 - log(2 * pi) / 2
        for each in factors
    ]
    integral = np.log(np.trapezoid(np.exp(np.array(logs) - max(logs)), factors)) + max(logs)
    assert find_mode(equations, prior).log_evidence == pytest.approx(integral, abs=0.05)


def test_prior_without_variance_returns_its_mean_and_evidence():
    equations = make_equations(1e-4)
    mean = np.random.default_rng(6).normal(size=16)
    mode = find_mode(equations, NormalPrior(mean, np.zeros(16), np.zeros((16, 1)), np.zeros(1)))
    np.testing.assert_array_equal(mode.parameters, mean)
    assert mode.log_evidence == pytest.approx(evidence_of_mean(equations, mean))


def test_with_exact_moments_the_fit_is_logistic_regression_on_all_rows():
    codes, indicators, labels = draw_people(3_000, seed=7)
    fitted = fit_scores(
        naive_bayes(indicators, labels),
        exact_moments(indicators, labels, 1e-10),
        indicators,
        equal_weights(3_000, effective_rows=1e9),
    )
    exact = LogisticRegression(C=1e6, max_iter=2_000, tol=1e-8).fit(indicators, labels)
    np.testing.assert_allclose(fitted.probabilities, exact.predict_proba(indicators), atol=2e-3)
    scores = fitted.intercept + sum(table[codes[:, i]] for i, table in enumerate(fitted.tables))
    np.testing.assert_allclose(compute_probabilities(scores), fitted.probabilities, atol=1e-12)
    assert fitted.log_evidence > 100


def test_without_information_the_scores_are_those_of_naive_bayes():
    codes, indicators, labels = draw_people(200, seed=8)
    plain = naive_bayes(indicators, labels)
    fitted = fit_scores(plain, exact_moments(indicators, labels, 1e12), indicators, equal_weights(200))
    summed = sum(table[codes[:, i]] for i, table in enumerate(plain.tables))
    np.testing.assert_allclose(
        fitted.probabilities, compute_probabilities(plain.intercept + summed), atol=1e-6
    )
    assert fitted.log_evidence == pytest.approx(0, abs=1e-3)
    assert fitted.association < 0


def test_label_question_is_a_cell_that_all_rows_have():
    _, indicators, labels = draw_people(500, seed=9)
    known = exact_moments(np.concatenate([np.ones((500, 1)), indicators], axis=1), labels, 1e8)
    covariance = known.covariance.copy()
    covariance[0, :, 0] = 1e-10 * np.eye(CLASSES)  # only the label question is informative
    noise = (QuestionNoise(np.arange(len(known.mean)), covariance),)
    moments = replace(known, features=(ALL_ROWS, 0, 1, 2), sizes=(1, *SIZES), noise=noise)
    plain = naive_bayes(indicators, labels)
    fitted = fit_scores(plain, moments, indicators, equal_weights(500, effective_rows=1e9))
    shares = np.bincount(labels, minlength=CLASSES) / 500
    np.testing.assert_allclose(fitted.probabilities.mean(axis=0), shares, atol=0.01)


def test_offset_of_a_number_that_repeats_a_feature_gets_less_than_its_weight():
    codes, indicators, labels = draw_people(2_000, seed=10)
    plain = naive_bayes(indicators, labels)
    doubled = replace(plain, offsets=plain.tables[0][codes[:, 0]][:, :, None])
    moments = exact_moments(indicators, labels, 1e-7)
    fitted = fit_scores(doubled, moments, indicators, equal_weights(2_000, effective_rows=1e9))
    assert fitted.gains.shape == (1,)
    assert fitted.gains[0] < 0.9
