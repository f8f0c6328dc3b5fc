"""Consistent estimates are distributions, and leave distributions alone."""

import numpy as np
import pytest

from ldp_aggregator.estimation import CONSISTENCY, clip_and_normalise, norm_sub, project_simplex

every_way = pytest.mark.parametrize("way", CONSISTENCY.values(), ids=CONSISTENCY.keys())


def noisy(rows=200, d=7, seed=1):
    return np.random.default_rng(seed).normal(1 / d, 0.3, size=(rows, d))


@every_way
def test_rows_become_distributions(way):
    fixed = way(noisy())
    assert (fixed >= 0).all()
    np.testing.assert_allclose(fixed.sum(axis=-1), 1.0)


@every_way
def test_a_distribution_is_left_alone(way):
    given = np.array([[0.5, 0.25, 0.25, 0.0], [1.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(way(given), given, atol=1e-15)


@every_way
def test_order_is_kept(way):
    raw = noisy()
    fixed = np.take_along_axis(way(raw), np.argsort(raw, axis=-1), axis=-1)
    assert (np.diff(fixed, axis=-1) >= -1e-15).all()


@every_way
def test_one_distribution_may_come_alone(way):
    assert way(np.array([0.7, 0.5, -0.2])).shape == (3,)


def test_nothing_positive_becomes_uniform():
    raw = np.array([-0.2, 0.0, -0.1, -0.3])
    np.testing.assert_allclose(clip_and_normalise(raw), 0.25)
    np.testing.assert_allclose(norm_sub(raw), 0.25)


def test_clipping_scales_and_norm_sub_shifts():
    raw = np.array([0.9, 0.5, -0.2])
    np.testing.assert_allclose(clip_and_normalise(raw), [0.9 / 1.4, 0.5 / 1.4, 0.0])
    np.testing.assert_allclose(norm_sub(raw), [0.7, 0.3, 0.0])


def test_norm_sub_repeats_until_nothing_is_negative():
    np.testing.assert_allclose(norm_sub(np.array([1.5, 0.1, 0.6, -0.4])), [0.95, 0.0, 0.05, 0.0])


def test_the_simplex_projection_is_the_nearest_distribution():
    rng = np.random.default_rng(2)
    for raw in noisy(rows=20, d=5):
        distance = np.linalg.norm(raw - project_simplex(raw))
        others = rng.dirichlet(np.ones(5), size=2000)
        assert distance <= np.linalg.norm(raw - others, axis=1).min() + 1e-12


def test_the_simplex_projection_may_raise_a_negative_entry():
    raw = np.array([0.4, 0.1, -0.05])
    assert project_simplex(raw)[2] > 0
    assert norm_sub(raw)[2] == 0
