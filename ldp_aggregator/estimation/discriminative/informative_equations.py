"""Selects the combinations of very many equations that are most informative about the parameters."""

from __future__ import annotations

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discriminative.gauss_newton import NormalPrior
from ldp_aggregator.estimation.discriminative.moment_equations import (
    ContrastNoise,
    ScoreModel,
    set_up_equations,
)

MAX_EQUATIONS = 400
"""More equations are replaced by this many combinations. The time of a step grows with their number."""
_PASSES = 2
_SEED = 0
_CHUNK = 4_000_000
"""Rows times classes times combinations that are computed at once."""


def find_informative(
    model: ScoreModel,
    weights: FloatArray,
    observed: slice,
    noise: ContrastNoise,
    probabilities: FloatArray,
    prior: NormalPrior,
    count: int = MAX_EQUATIONS,
) -> FloatArray:
    """Return `count` orthonormal combinations of the equations with the largest prior variance.

    Without noise correlations, the equations have the prior covariance J K J', where J are their derivatives
    at given P(class | row), and K is the covariance of the parameters. Directions in which it is far below
    the noise, whose variance is one, do not change the fit. Its leading eigenvectors are approximated by
    subspace iteration from random vectors (Halko, Martinsson and Tropp 2011).

    Returns
    -------
    (equations, count) array
    """
    mean = np.zeros_like(noise.class_shares)
    kept = np.linalg.qr(np.random.default_rng(_SEED).normal(size=(noise.count, count)))[0]
    for _ in range(_PASSES):
        equations = set_up_equations(model, weights, mean, observed, noise, kept)
        changes = prior.multiply(equations.jacobian(probabilities).T)
        kept = np.linalg.qr(noise.whiten(_change_moments(model, weights, observed, probabilities, changes)))[
            0
        ]
    return kept


def _change_moments(
    model: ScoreModel, weights: FloatArray, observed: slice, probabilities: FloatArray, changes: FloatArray
) -> FloatArray:
    """Return the first-order changes of the moments for changes of the parameters, (parameters, changes)."""
    size = max(1, _CHUNK // probabilities.size)
    indicators = model.design[:, observed]
    parts = []
    for start in range(0, changes.shape[1], size):
        part = changes[:, start : start + size]
        cut = model.design.shape[1] * (model.k - 1)
        coefficients = model.contrasts @ part[:cut].reshape(-1, model.k - 1, part.shape[1])
        scores = model.design @ coefficients.reshape(len(coefficients), -1)
        scores = scores.reshape(*probabilities.shape, -1) + model.offsets @ part[cut:]
        scores -= np.einsum("rc,rcn->rn", probabilities, scores)[:, None]
        scores *= (probabilities * weights[:, None])[:, :, None]
        moments = indicators.T @ scores.reshape(len(scores), -1)
        parts.append(moments.reshape(-1, *scores.shape[1:]))
    return np.concatenate(parts, axis=2)
