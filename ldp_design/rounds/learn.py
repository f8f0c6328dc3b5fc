"""Learns the projection of a second round from the first round's reports, and decides if it is worthwhile.

The first round, the pilot, asks about every number; the second asks about components that separate classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from encoders.survey import BinnedFeature, CategoricalFeature, Feature, Survey
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import ClassConditional, Gaussian
from ldp_design.authoring.projection_inputs import projection_inputs
from reduction.class_means import learn
from reduction.publish import Fit

PILOT_SHARE = 0.7
PILOT_BINS = 2
"""The best known pilot asks 70% of the people in which half of its range each number is."""

_BREAK_EVEN_FACTOR = 1000
_MAX_MEASURED_EPSILON = Decimal(2)
_MAX_MISSING_SHARE = 0.05


def min_people(numbers: int, epsilon: Decimal) -> int:
    """Return the number of people, over both rounds, from which a second round is recommended.

    It is 1000 n / epsilon^2, measured up to epsilon 2, and assumed to be constant above; see
    docs/learned-projection.md.
    """
    return math.ceil(_BREAK_EVEN_FACTOR * numbers / min(epsilon, _MAX_MEASURED_EPSILON) ** 2)


def find_objections(
    pilot: Survey, prior: FloatArray, conditionals: Sequence[ClassConditional], components: int
) -> list[str]:
    """Return the reasons against a second round that hold for any number of people, as far as measured."""
    triples = zip(pilot.features, conditionals, pilot.weights[1:], strict=True)
    asked = [(feature, conditional) for feature, conditional, weight in triples if weight]
    numbers = [pair for pair in asked if not isinstance(pair[0], CategoricalFeature)]
    complete = math.prod(1 - _missing_share(*pair, prior) for pair in numbers)
    k = len(prior)
    objections = {
        "one number is its own direction": len(numbers) == 1,
        f"the first round did not ask about every number in {PILOT_BINS} bins": not all(
            isinstance(each, BinnedFeature) and len(each.edges) == PILOT_BINS + 1 for each, _ in numbers
        ),
        "questions about categories take reports, and the first round's reports on them are not used": (
            len(numbers) < len(asked)
        ),
        f"{k} classes differ in {k - 1} components": components < min(k - 1, len(numbers)),
        f"{1 - complete:.0%} of the people lack one of the numbers, and so the components": (
            complete < 1 - _MAX_MISSING_SHARE
        ),
    }
    return [objection for objection, holds in objections.items() if holds]


def _missing_share(feature: Feature, conditional: ClassConditional, prior: FloatArray) -> float:
    if feature.missing != "category":
        return 0.0
    missing = conditional.missing if isinstance(conditional, Gaussian) else conditional[-1]
    assert missing is not None
    return float(missing @ prior)


def learn_projection(
    pilot: Survey, prior: FloatArray, conditionals: Sequence[ClassConditional], components: int = 1
) -> Fit:
    """Return the projection that the second round asks about.

    Parameters
    ----------
    pilot : Survey
        The survey of the first round. Its numbers, in bins or not, become inputs if their weight is not 0.
    prior : (k,) array
    conditionals : sequence of (A_i, k) arrays and Gaussians
        P(value | label) of each feature of the pilot, as the classifier uses it, with shrinkage.
    components : int

    Raises
    ------
    FitError
        See :func:`reduction.class_means.learn`.
    """
    inputs = tuple(projection_inputs(pilot))
    pairs = {
        feature.name: (feature, conditional)
        for feature, conditional in zip(pilot.features, conditionals, strict=True)
    }
    means = [_class_means(*pairs[each.name]) for each in inputs]
    return learn(inputs, np.stack(means, axis=1), prior, components)


def _class_means(feature: Feature, conditional: ClassConditional) -> FloatArray:
    """Return a number's normalised class means (k,); of a binned number, from the middles of the bins."""
    if isinstance(conditional, Gaussian):
        return conditional.mean
    assert isinstance(feature, BinnedFeature)
    edges = np.array(feature.edges, dtype=np.float64)
    middles = (edges[1:] + edges[:-1] - edges[0] - edges[-1]) / (edges[-1] - edges[0])
    present = conditional[: len(middles)]
    means: FloatArray = middles @ present / present.sum(axis=0)
    return means
