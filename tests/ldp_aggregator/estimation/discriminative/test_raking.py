"""Raking: weights reproduce estimated shares as far as these are known."""

import numpy as np
import pytest

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discriminative.raking import rake

SIZES = (2, 3)


def draw_rows(count: int, first: float = 0.5, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    one = (rng.random(count) >= first).astype(np.int64)
    two = (one + rng.integers(0, 2, count)) % 3
    return np.concatenate([np.eye(2)[one], np.eye(3)[two]], axis=1)


def test_weights_reproduce_exactly_known_shares():
    rows = draw_rows(400)
    shares = np.array([0.8, 0.2, 0.5, 0.3, 0.2])
    raked = rake(rows, shares, 1e-12 * np.eye(5), SIZES)
    np.testing.assert_allclose(raked.weights @ rows, shares, atol=1e-4)
    assert raked.weights.sum() == pytest.approx(1)
    assert (raked.weights > 0).all()


def test_weights_are_an_exponential_tilt_of_equal_weights():
    rows = draw_rows(300)
    raked = rake(rows, np.array([0.7, 0.3, 0.4, 0.3, 0.3]), 1e-6 * np.eye(5), SIZES)
    design = np.concatenate([np.ones((300, 1)), rows], axis=1)
    logs = np.log(raked.weights)
    fitted = design @ np.linalg.lstsq(design, logs, rcond=None)[0]
    np.testing.assert_allclose(fitted, logs, atol=1e-8)


def test_shares_without_information_leave_equal_weights():
    rows = draw_rows(200)
    raked = rake(rows, np.array([0.9, 0.1, 0.4, 0.3, 0.3]), 1e6 * np.eye(5), SIZES)
    np.testing.assert_allclose(raked.weights, 1 / 200, rtol=1e-6)
    assert raked.shift == 0
    assert raked.effective_rows == pytest.approx(200)


def test_rows_of_the_same_shares_have_no_shift_and_small_chi_squares():
    rows = draw_rows(500)
    raked = rake(rows, rows.mean(axis=0), 1e-4 * np.eye(5), SIZES)
    assert raked.shift == 0
    np.testing.assert_allclose(raked.chi_squares, 0)
    np.testing.assert_allclose(raked.weights, 1 / 500)


def test_shifted_rows_are_found_and_count_as_fewer():
    rows = draw_rows(500, first=0.8)
    raked = rake(rows, draw_rows(100_000, seed=1).mean(axis=0), 1e-5 * np.eye(5), SIZES)
    assert raked.chi_squares[0] > 50
    assert raked.shift > 0.01
    assert raked.effective_rows < 100
    np.testing.assert_allclose(raked.weights @ rows[:, :2], [0.5, 0.5], atol=0.01)


def test_gradient_of_the_penalised_problem_is_zero():
    rows, shares = draw_rows(50), np.array([0.6, 0.4, 0.4, 0.3, 0.3])
    covariance = np.diag([0.01, 0.02, 0.005, 0.01, 0.03])
    raked = rake(rows, shares, covariance, SIZES)
    # weights = exp(lambda . x) with lambda = V^-1 (s - m) / N, up to a constant
    slopes = np.linalg.solve(covariance, shares - raked.weights @ rows) / raked.effective_rows
    odds = np.exp(rows @ slopes)
    np.testing.assert_allclose(raked.weights, odds / odds.sum(), rtol=1e-6)


def test_value_without_rows_and_without_reports_keeps_weights_finite():
    rows = np.concatenate([draw_rows(100), np.zeros((100, 1))], axis=1)
    raked = rake(rows, np.array([0.5, 0.5, 0.3, 0.3, 0.4, -0.01]), 1e-4 * np.eye(6), (2, 4))
    assert np.isfinite(raked.weights).all()
    assert np.isfinite(raked.chi_squares).all()
