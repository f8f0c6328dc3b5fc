"""Discriminant components point in the directions in which the classes differ."""

import numpy as np
import pytest
from numpy.typing import NDArray

from reduction.fit import DEFAULT_RIDGE, FitError, discriminant_components, scatters

Floats = NDArray[np.float64]
NOISE = np.array([[0.04, 0.03, 0.0], [0.03, 0.04, -0.01], [0.0, -0.01, 0.09]])
MEANS = np.array([[-0.1, 0.0, 0.0], [0.1, 0.0, 0.05], [0.0, 0.3, 0.0]])


def gaussians(classes: int, m: int, seed: int = 3) -> tuple[Floats, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, m)
    return rng.multivariate_normal(np.zeros(3), NOISE, m) + MEANS[labels], labels


def cosine(one: Floats, other: Floats) -> float:
    return abs(float(one @ other)) / float(np.linalg.norm(one) * np.linalg.norm(other))


def test_two_gaussians_give_the_analytic_direction():
    rows, labels = gaussians(2, 200_000)
    directions, powers = discriminant_components(rows, labels, 1, ridge=1e-6)
    gap = MEANS[1] - MEANS[0]
    analytic = np.linalg.solve(NOISE, gap)
    assert cosine(directions[0], analytic) > 0.9995
    assert cosine(gap, analytic) < 0.95  # the noise is correlated: the means' line is another direction
    assert powers[0] == pytest.approx(gap @ analytic / 4, rel=0.03)  # each class holds half of the rows


def test_the_direction_is_that_of_the_sample_exactly():
    rows, labels = gaussians(2, 300)
    _, within = scatters(rows, labels)
    gap = rows[labels == 1].mean(axis=0) - rows[labels == 0].mean(axis=0)
    directions, _ = discriminant_components(rows, labels, 1, ridge=0)
    assert cosine(directions[0], np.linalg.solve(within, gap)) == pytest.approx(1, abs=1e-12)


def test_the_default_ridge_hardly_changes_a_well_determined_direction():
    rows, labels = gaussians(2, 2000)
    free, _ = discriminant_components(rows, labels, 1, ridge=0)
    ridged, _ = discriminant_components(rows, labels, 1)
    assert cosine(free[0], ridged[0]) > 0.998
    assert DEFAULT_RIDGE == 0.01


def test_three_classes_have_two_components_with_power_and_the_last_is_noise():
    rows, labels = gaussians(3, 5000)
    _, powers = discriminant_components(rows, labels, 3)
    assert powers[0] > powers[1] > 0.01
    assert powers[2] < 1e-12


def test_noise_components_are_ordered_by_variance():
    rng = np.random.default_rng(4)
    labels = np.arange(4000) % 2
    # the second and third inputs share most of their noise: their sum varies, their difference hardly
    shared = rng.normal(size=4000)
    rows = np.stack([labels + rng.normal(size=4000), shared, shared + 0.1 * rng.normal(size=4000)], axis=1)
    directions, powers = discriminant_components(rows, labels, 3)
    assert powers[0] > 0.2
    assert powers[1] < 0.01 > powers[2]
    assert directions[1, 1] * directions[1, 2] > 0
    assert directions[2, 1] * directions[2, 2] < 0


def test_components_are_uncorrelated_within_the_classes_and_the_ridge():
    rows, labels = gaussians(3, 800)
    directions, _ = discriminant_components(rows, labels, 3, ridge=1e-9)
    _, within = scatters(rows, labels)
    np.testing.assert_allclose(directions @ within @ directions.T, np.eye(3), atol=1e-6)


def test_the_ridge_acts_equally_for_any_range_of_an_input():
    rows, labels = gaussians(3, 500)
    stretch = np.array([1, 0.001, 0.1])
    plain, powers = discriminant_components(rows, labels, 2)
    stretched, again = discriminant_components(rows * stretch, labels, 2)
    np.testing.assert_allclose(powers, again, rtol=1e-9)
    for one, other in zip(plain, stretched, strict=True):
        assert cosine(one, other * stretch) == pytest.approx(1, abs=1e-9)


def test_scatters_add_up_to_the_covariance():
    rows, labels = gaussians(3, 100)
    between, within = scatters(rows, labels)
    np.testing.assert_allclose(between + within, np.cov(rows.T, bias=True), atol=1e-12)
    assert np.linalg.matrix_rank(between, tol=1e-12) == 2


def test_inputs_that_depend_on_each_other_share_the_weight_by_the_ridge():
    rows, labels = gaussians(2, 500)
    doubled = np.hstack([rows, rows[:, :1]])
    directions, _ = discriminant_components(doubled, labels, 1)
    assert directions[0, 0] == pytest.approx(directions[0, 3])
    with pytest.raises(FitError, match="larger ridge"):
        discriminant_components(doubled, labels, 1, ridge=0)


def test_one_class_only_is_refused():
    with pytest.raises(FitError, match="one class: add rows of another class"):
        discriminant_components(np.eye(3), np.zeros(3, dtype=np.int64), 1)


def test_equal_means_are_refused():
    rows = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    with pytest.raises(FitError, match="same mean in every input"):
        discriminant_components(rows, np.array([0, 0, 1, 1]), 1)


def test_classes_without_any_variance_are_refused():
    rows = np.array([[0.0, 1.0], [1.0, 0.0]] * 3)
    with pytest.raises(FitError, match="do not vary"):
        discriminant_components(rows, np.array([0, 1] * 3), 1)


def test_without_a_ridge_there_is_no_order_among_the_noise():
    rows, labels = gaussians(3, 100)
    with pytest.raises(FitError, match="without a ridge, 3 classes have at most 2 components"):
        discriminant_components(rows, labels, 3, ridge=0)
