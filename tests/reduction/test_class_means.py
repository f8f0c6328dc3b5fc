"""A learned projection depends on the differences of class means only."""

import numpy as np
import pytest

from encoders.survey.numeric_features import NumericFeature
from reduction.class_means import learn
from reduction.errors import FitError
from reduction.publish import Fit

EVEN = np.array([0.5, 0.5])


def inputs(n: int) -> tuple[NumericFeature, ...]:
    return tuple(NumericFeature(f"x{place}", "-2", "2") for place in range(n))


def weights_of(fit: Fit) -> np.ndarray:
    return np.array([[float(text) for text in each.weights] for each in fit.projection.components])


def test_with_two_classes_the_weights_are_the_difference_of_the_means():
    means = np.array([[0.1, 0.0, -0.3], [0.3, -0.1, 0.3]])
    fit = learn(inputs(3), means, np.array([0.8, 0.2]))
    (weights,) = weights_of(fit)
    np.testing.assert_allclose(weights / weights[2], [0.2 / 0.6, -0.1 / 0.6, 1], atol=1e-5)
    assert fit.powers == (pytest.approx(1),)
    assert [each.name for each in fit.projection.components] == ["learned1"]


def test_a_component_is_centred_and_of_standard_deviation_one():
    prior = np.array([0.3, 0.7])
    means = np.array([[0.5, 0.2], [-0.1, 0.1]])
    fit = learn(inputs(2), means, prior)
    (weights,) = weights_of(fit)
    within = 0.12 * (weights**2).sum()
    between = sum(prior @ (means - prior @ means) ** 2 * weights**2)
    assert within + between == pytest.approx(1, abs=1e-4)
    offset = float(fit.projection.components[0].offset)
    assert weights @ (prior @ means) + offset == pytest.approx(0, abs=1e-5)
    assert fit.bounds == (("-2", "2"),)


def test_three_classes_differ_in_two_directions_the_stronger_first():
    means = np.array([[0.4, 0, 0.05, 0], [-0.4, 0, 0.05, 0], [0, 0, -0.1, 0]])
    fit = learn(inputs(4), means, np.full(3, 1 / 3), 2)
    first, second = weights_of(fit)
    assert abs(first[0]) > 10 * abs(first[2])
    assert abs(second[2]) > 10 * abs(second[0])
    assert (first[[1, 3]] == 0).all()
    assert fit.powers == (pytest.approx(0.32 / 0.335), pytest.approx(0.015 / 0.335))
    assert fit.bounds == (("-2", "2"),) * 2


def test_the_first_of_equally_large_weights_is_positive_in_spite_of_rounding():
    means = np.array([[0.0, 0.0], [-0.3, 0.1 + 0.2]])  # the second is larger in the last bit
    (weights,) = weights_of(learn(inputs(2), means, EVEN))
    assert weights[0] > 0 > weights[1]


def test_the_largest_weight_is_positive_for_any_order_of_the_classes():
    means = np.array([[0.0, -0.5], [0.1, 0.4]])
    one, other = (weights_of(learn(inputs(2), rows, EVEN)) for rows in (means, means[::-1]))
    np.testing.assert_array_equal(one, other)
    assert one[0, 1] > 0


@pytest.mark.parametrize(
    ("means", "components", "words"),
    [
        (np.array([[0.1, 0.2], [0.3, 0.1]]), 2, "allow at most 1 component, not 2"),
        (np.array([[0.1], [0.3], [0.2]]), 2, "allow at most 1 component, not 2"),
        (np.array([[0.1, 0.2], [0.3, 0.1]]), 0, "not 0"),
        (np.array([[0.1, 0.2]]), 1, "allow at most 0"),
        (np.array([[0.1, 0.2], [0.1, 0.2]]), 1, "nothing to learn"),
        (np.array([[0.1, 0.2], [0.2, 0.4], [0.3, 0.6]]), 2, "differ in only 1 direction:"),
    ],
)
def test_more_components_than_the_means_differ_in_are_refused(means, components, words):
    prior = np.full(len(means), 1 / len(means))
    with pytest.raises(FitError, match=words):
        learn(inputs(means.shape[1]), means, prior, components)
