"""Shrinkage removes differences that noise explains, and no others."""

from math import factorial

import numpy as np
import pytest

from ldp_aggregator.estimation.bayes.posterior import fit_scale_weights, shrink


def noisy(truth: np.ndarray, error: float, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return the truth with noise of a given standard error, and its variance."""
    error = np.broadcast_to(error, truth.shape)
    return truth + error * np.random.default_rng(seed).normal(size=truth.shape), error**2


def test_features_that_are_all_noise_lose_their_differences():
    values, variances = noisy(np.zeros((20, 3)), 0.5)
    shrunk, spread = shrink(values, variances, np.ones(20))
    assert np.ptp(shrunk, axis=1).mean() < 0.15 * np.ptp(values, axis=1).mean()
    assert spread.max() < 0.3 * variances.max()


@pytest.mark.parametrize("features", [1, 12])
def test_exactly_known_values_are_not_shrunk(features):
    values, variances = noisy(np.random.default_rng(2).normal(size=(features, 2)), 1e-4)
    shrunk, spread = shrink(values, variances, np.ones(features))
    np.testing.assert_allclose(shrunk, values, atol=1e-4)
    np.testing.assert_allclose(spread, variances, rtol=0.05)


def test_shrinkage_reduces_the_error_of_noisy_values():
    truth = 0.4 * np.random.default_rng(3).normal(size=(50, 2))
    values, variances = noisy(truth, 0.4)
    shrunk, spread = shrink(values, variances, np.ones(50))
    off = ((shrunk - shrunk.mean(axis=1, keepdims=True)) - (truth - truth.mean(axis=1, keepdims=True))) ** 2
    before = (
        (values - values.mean(axis=1, keepdims=True)) - (truth - truth.mean(axis=1, keepdims=True))
    ) ** 2
    assert off.mean() < 0.8 * before.mean()
    assert spread.max() < variances.max()


def test_a_few_informative_features_survive_many_uninformative_ones():
    truth = np.zeros((30, 2))
    truth[:2] = [[-1, 1], [1, -1]]
    values, variances = noisy(truth, 0.2)
    shrunk, _ = shrink(values, variances, np.ones(30))
    assert np.abs(np.diff(shrunk[:2], axis=1)).min() > 1.5
    assert np.abs(np.diff(shrunk[2:], axis=1)).mean() < 0.1


def test_a_label_without_people_gets_the_centre_of_the_others():
    values, variances = np.array([[0.3, np.nan, 0.5]]), np.array([[1e-3, np.inf, 1e-3]])
    shrunk, spread = shrink(values, variances, np.ones(1))
    assert 0.39 < shrunk[0, 1] < 0.41
    assert spread[0, 1] > spread[0, 0]


def test_unknown_values_give_no_information():
    shrunk, spread = shrink(np.full((2, 2), np.nan), np.full((2, 2), np.inf), np.ones(2))
    np.testing.assert_array_equal(shrunk, 0)
    assert np.isfinite(spread).all()


def test_shrinkage_does_not_depend_on_units():
    values, variances = noisy(np.random.default_rng(4).normal(size=(5, 3)), 0.3)
    unit = np.array([1.0, 10, 0.1, 3, 1])
    one, spread = shrink(values, variances, np.ones(5))
    other, other_spread = shrink(values * unit[:, None], variances * unit[:, None] ** 2, unit)
    np.testing.assert_allclose(other, one * unit[:, None])
    np.testing.assert_allclose(other_spread, spread * unit[:, None] ** 2)


def test_scale_weights_of_one_feature_are_its_likelihoods():
    likely = np.log([[0.2], [0.5], [0.3]])
    np.testing.assert_allclose(np.exp(likely), fit_scale_weights(likely, 1.0))


def test_scale_weights_are_averaged_over_uniform_frequencies():
    likelihoods = np.array([[0.5, 0.1, 0.3], [0.2, 0.6, 0.3], [0.3, 0.3, 0.4]])
    exact = np.zeros((3, 3))
    for scales in np.ndindex(3, 3, 3):
        counts = np.bincount(scales, minlength=3)
        # the average of a product of frequencies over all distributions is a product of factorials
        probability = np.prod([factorial(int(count)) for count in counts]) * np.prod(
            likelihoods[list(scales), range(3)]
        )
        exact[list(scales), range(3)] += probability
    exact /= exact.sum(axis=0)
    np.testing.assert_allclose(fit_scale_weights(np.log(likelihoods), 1.0), exact, atol=0.03)


def test_many_features_determine_the_frequencies_of_scales():
    likely = np.log(np.repeat([[0.3, 0.9]], 200, axis=0).T)  # each feature favours the second scale a little
    weights = fit_scale_weights(likely, 1.0)
    assert weights[0].max() < 0.01
    uninformed = np.concatenate([likely, np.zeros((2, 1))], axis=1)
    assert fit_scale_weights(uninformed, 1.0)[1, -1] > 0.95
