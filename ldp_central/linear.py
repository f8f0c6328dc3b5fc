"""Linear models by objective perturbation: the soft hinge with a random linear term.

The released weights minimise the sum of the losses + (lambda / 2) ||W||^2 + <b, W>, where b has the density
e^(-rate ||b||). For two classes, lambda = tau / e and rate = e give e-differential privacy for a row that is
added or removed; for more, lambda = 4 tau / e and rate = e / sqrt(2). Rows have at most the length 1.
The solver uses floats, so its result is rounded and gets a little more noise, which covers its error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from encoders.randomness import RandomSource
from encoders.survey import Feature
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.prediction.linear_model import (
    LEAST_DEGREE,
    MAX_DEGREE,
    SHARPNESS,
    Design,
    LinearModel,
    count_coordinates,
    place_columns,
)
from ldp_aggregator.privacy_statement import Spending
from ldp_central.coded_rows import CentralError, CodedRows
from ldp_central.noise import add_cover_noise, bound_tail_delta, draw_ball_noise
from ldp_central.solver import TOLERANCE, Objective, SoftHinge, minimise

COVER_SHARE = Fraction(1, 100)
_ERROR = Fraction(1, 1 << 21)
_ERROR_ROWS = 1 << 16
_ERROR_EPSILON = 4
"""The covered error is _ERROR up to so many rows and this epsilon; it grows in proportion to both."""
_ROUNDING = 2.0**-52
ROWS_PER_WEIGHT = 75
"""Product of rows and epsilon, for each weight, for which the curves of numbers get a higher degree."""


def fit_linear(
    rows: CodedRows, expected_rows: int, epsilon: Fraction, source: RandomSource
) -> tuple[LinearModel, list[Spending]]:
    """Return a linear model and what it spent.

    The covered error and the degree follow from `expected_rows`, a public number. `epsilon` is for one row
    that is added or removed.
    Raises CentralError if the solver did not converge, or floats are not precise enough; nothing may then be
    released. Both depend on the rows, so the error must not be published, nor that there was one.
    """
    cover = COVER_SHARE * epsilon
    of_noise = epsilon - cover
    degree = choose_degree(rows.features, rows.k, expected_rows, epsilon)
    design, loss = Design.from_features(rows.features, degree), SoftHinge(rows.k)
    ridge, rate = choose_constants(rows.k, of_noise)
    size = design.columns * loss.scores
    linear = draw_ball_noise(size, rate, source).reshape(design.columns, loss.scores)
    objective = Objective(design, place_columns(rows.features, rows.codes), rows.labels, loss, ridge, linear)
    weights = minimise(objective)
    error = covered_error(expected_rows, epsilon)
    if bound_error(objective, weights) > error:
        raise CentralError(
            f"there are far more rows than the {expected_rows} that were expected, too many for the "
            "precision of floats; nothing is released. Give a larger public number of `users`, or use the "
            "learner tree or nb"
        )
    released = add_cover_noise(weights.ravel(), error, cover, source).reshape(weights.shape)
    spendings = [
        Spending("noise in the objective", of_noise, bound_tail_delta(size, epsilon)),
        Spending("cover of rounding errors", cover),
    ]
    return LinearModel(degree, released, rows.features), spendings


def count_weights(features: Sequence[Feature], k: int, degree: int) -> int:
    return (1 + sum(count_coordinates(feature, degree) for feature in features)) * (k - 1)


def choose_degree(features: Sequence[Feature], k: int, expected_rows: int, epsilon: Fraction) -> int:
    """Return the degree of the curves of numbers, from public numbers only."""
    affordable = expected_rows * epsilon / ROWS_PER_WEIGHT
    degrees = range(LEAST_DEGREE + 1, MAX_DEGREE + 1)
    return LEAST_DEGREE + sum(count_weights(features, k, degree) <= affordable for degree in degrees)


def choose_constants(k: int, epsilon: Fraction) -> tuple[float, float]:
    """Return lambda, rounded up, and the rate of the noise."""
    if k == 2:
        return math.nextafter(float(SHARPNESS / epsilon), math.inf), float(epsilon)
    return math.nextafter(float(4 * SHARPNESS / epsilon), math.inf), float(epsilon) / math.sqrt(2)


def covered_error(expected_rows: int, epsilon: Fraction) -> Fraction:
    """Return the error of weights that the cover noise covers: rounding errors grow with the rows."""
    return _ERROR * max(-(-expected_rows // _ERROR_ROWS), 1) * max(math.ceil(epsilon / _ERROR_EPSILON), 1)


def bound_error(objective: Objective, weights: FloatArray) -> float:
    """Return a bound on the distance between the computed weights and the ideal minimum.

    The distance is at most the length of the ideal gradient, divided by lambda. This adds up the computed
    gradient, the rounding of scores, residuals and sums, and that of the noise b.
    """
    loss = objective.loss
    rows, size = len(objective.labels), weights.size
    blocks = objective.design.blocks
    coordinates = max(int(block.shape[1]) for block in blocks)
    score_terms = len(blocks) + coordinates + loss.scores + 8
    sum_terms = max(len(block) for block in blocks) + loss.scores + 16
    length = float(np.linalg.norm(weights))
    of_scores = score_terms * _ROUNDING * length
    of_rows = rows * (loss.lipschitz * of_scores + 2 * sum_terms * _ROUNDING)
    of_noise = (size + 64) * _ROUNDING * float(np.linalg.norm(objective.linear))
    of_ridge = 4 * _ROUNDING * objective.ridge * length
    return TOLERANCE + (of_rows + of_noise + of_ridge) / objective.ridge
