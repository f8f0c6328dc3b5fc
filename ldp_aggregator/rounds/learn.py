"""A second round about a projection that the first one taught.

The first round, the pilot, asks about every number; the second about what tells its classes apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from encoders.survey import BinnedFeature, CategoricalFeature, Feature, Survey
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.authoring.projection_inputs import projection_inputs
from ldp_aggregator.estimation import ClassConditional, Gaussian
from reduction.class_means import learn
from reduction.publish import Fit

PILOT_SHARE = 0.7
PILOT_BINS = 2
"""The best pilot known asks 70% of the people on which side of its range's middle each number is."""

_BREAK_EVEN = 1000
_LARGEST_EPSILON = Decimal(2)  # that it was measured at
_GAPS = 0.05


def min_people(numbers: int, epsilon: Decimal) -> int:
    """Return how many people, over both rounds, make a second round worth it: 1000 n / epsilon^2.

    Measured up to epsilon 2, and taken to be no fewer beyond; see docs/learned-projection.md.
    """
    return math.ceil(_BREAK_EVEN * numbers / min(epsilon, _LARGEST_EPSILON) ** 2)


def doubts(
    pilot: Survey, prior: FloatArray, conditionals: Sequence[ClassConditional], components: int
) -> list[str]:
    """Return what speaks against a second round, however many people answer it; as far as measured."""
    heard = zip(pilot.features, conditionals, pilot.weights[1:], strict=True)
    asked = [(feature, said) for feature, said, weight in heard if weight]
    numbers = [pair for pair in asked if not isinstance(pair[0], CategoricalFeature)]
    complete = math.prod(1 - _share_missing(feature, said, prior) for feature, said in numbers)
    k = len(prior)
    found = {
        "one number is its own direction": len(numbers) == 1,
        f"the first round did not ask about every number in {PILOT_BINS} bins": not all(
            isinstance(each, BinnedFeature) and len(each.edges) == PILOT_BINS + 1 for each, _ in numbers
        ),
        "categories share the people, and what the first round says of them is not used": (
            len(numbers) < len(asked)
        ),
        f"{k} classes differ in {k - 1} components": components < min(k - 1, len(numbers)),
        f"{1 - complete:.0%} lack one of the numbers, and so the components": complete < 1 - _GAPS,
    }
    return [doubt for doubt, holds in found.items() if holds]


def _share_missing(feature: Feature, said: ClassConditional, prior: FloatArray) -> float:
    if feature.missing != "category":
        return 0.0
    missing = said.missing if isinstance(said, Gaussian) else said[-1]
    assert missing is not None
    return float(missing @ prior)


def learn_projection(
    pilot: Survey, prior: FloatArray, conditionals: Sequence[ClassConditional], components: int = 1
) -> Fit:
    """Return the projection that the second round asks about.

    Parameters
    ----------
    pilot : Survey
        Its numbers, in bins or not, become the inputs if they are asked.
    prior : (k,) array
    conditionals : sequence of (A_i, k) arrays and Gaussians
        P(value | label) of each of its features, as a classifier uses it: shrunk where noise drowns it.
    components : int

    Raises
    ------
    FitError
        See :func:`reduction.class_means.learn`.
    """
    inputs = tuple(projection_inputs(pilot))
    heard = {each.name: (each, said) for each, said in zip(pilot.features, conditionals, strict=True)}
    means = [_class_means(*heard[each.name]) for each in inputs]
    return learn(inputs, np.stack(means, axis=1), prior, components)


def _class_means(feature: Feature, said: ClassConditional) -> FloatArray:
    """Return a number's class means (k,), normalised; in bins, each bin counts as its middle."""
    if isinstance(said, Gaussian):
        return said.mean
    assert isinstance(feature, BinnedFeature)
    edges = np.array(feature.edges, dtype=np.float64)
    middles = (edges[1:] + edges[:-1] - edges[0] - edges[-1]) / (edges[-1] - edges[0])
    present = said[: len(middles)]
    means: FloatArray = middles @ present / present.sum(axis=0)
    return means
