"""Projected estimates are distributions, and distributions are left alone."""

import numpy as np

from ldp_aggregator.estimation import project_simplex
from ldp_aggregator.estimation.discrete.frequencies import replace_negatives


def noisy(rows: int = 200, d: int = 7, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(1 / d, 0.3, size=(rows, d))


def test_rows_become_distributions():
    projected = project_simplex(noisy())
    assert (projected >= 0).all()
    np.testing.assert_allclose(projected.sum(axis=-1), 1.0)


def test_a_distribution_is_left_alone():
    given = np.array([[0.5, 0.25, 0.25, 0.0], [1.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(project_simplex(given), given, atol=1e-15)


def test_replacing_negatives_keeps_the_order():
    raw = noisy()
    projected = np.take_along_axis(project_simplex(raw), np.argsort(raw, axis=-1), axis=-1)
    assert (np.diff(projected, axis=-1) >= -1e-15).all()


def test_a_single_distribution_is_accepted():
    assert project_simplex(np.array([0.7, 0.5, -0.2])).shape == (3,)


def test_the_simplex_projection_is_the_nearest_distribution():
    rng = np.random.default_rng(2)
    for raw in noisy(rows=20, d=5):
        distance = np.linalg.norm(raw - project_simplex(raw))
        others = rng.dirichlet(np.ones(5), size=2000)
        assert distance <= np.linalg.norm(raw - others, axis=1).min() + 1e-12


def test_the_simplex_projection_may_raise_a_negative_entry():
    assert project_simplex(np.array([0.4, 0.1, -0.05]))[2] > 0


def test_the_paper_sets_negative_counts_to_one():
    np.testing.assert_array_equal(replace_negatives(np.array([-3.5, 0.0, 0.2, 7.0])), [1.0, 1.0, 0.2, 7.0])
