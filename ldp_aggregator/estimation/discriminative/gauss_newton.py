"""Finds the most probable parameters of the moment equations, and the evidence of their prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discriminative.moment_equations import MomentEquations

_MAX_STEPS = 40
_TOLERANCE = 1e-3
"""The search ends when a step improves the log posterior by less, which changes no choice by evidence."""
_LEAST_STEP = 1e-3


@dataclass(frozen=True)
class NormalPrior:
    """A normal distribution of the parameters: mean, and covariance diag(variances) + B diag(s) B'."""

    mean: FloatArray
    variances: FloatArray
    """Shape (parameters,)."""
    directions: FloatArray
    """The columns B. Shape (parameters, directions)."""
    direction_variances: FloatArray
    """The variances s. Shape (directions,)."""

    def multiply(self, vectors: FloatArray) -> FloatArray:
        """Return the covariance times vectors, (parameters,) or (parameters, vectors)."""
        within = self.direction_variances * (self.directions.T @ vectors).T
        product: FloatArray = (self.variances * vectors.T).T + self.directions @ within.T
        return product


@dataclass(frozen=True)
class PosteriorMode:
    """The most probable parameters."""

    parameters: FloatArray
    """Shape (parameters,)."""
    probabilities: FloatArray
    """P(class | row) at these parameters. Shape (rows, k)."""
    log_evidence: float
    """Laplace's approximation of the log density of the estimates given the prior, up to a constant that
    depends on the equations only."""


def evidence_of_mean(equations: MomentEquations, mean: FloatArray) -> float:
    """Return the log evidence of a prior without variance: the parameters are `mean`."""
    differences = equations.differences(equations.model.predict(mean))
    return float(-0.5 * differences @ differences)


def find_mode(equations: MomentEquations, prior: NormalPrior) -> PosteriorMode:
    """Maximise the posterior density by the Gauss-Newton method with step halving.

    The parameters are the prior's mean + K beta, with K the prior's covariance, so that a direction without
    variance needs no special case. With J the derivatives and r the differences, whose noise is uncorrelated
    and has the variance one, a step goes to beta = J' (J K J' + I)^-1 (r + J K beta).
    """
    beta = shift = np.zeros_like(prior.mean)
    probabilities = equations.model.predict(prior.mean)
    differences = equations.differences(probabilities)
    loss = _loss(differences, beta, shift)
    covariance = np.eye(len(differences))
    for _ in range(_MAX_STEPS):
        jacobian = equations.jacobian(probabilities)
        covariance = jacobian @ prior.multiply(jacobian.T)
        covariance[np.diag_indices_from(covariance)] += 1
        new_beta = jacobian.T @ np.linalg.solve(covariance, differences + jacobian @ shift)
        new_shift, length = prior.multiply(new_beta), 1.0
        while True:
            moved = [old + length * (new - old) for old, new in ((beta, new_beta), (shift, new_shift))]
            moved_probabilities = equations.model.predict(prior.mean + moved[1])
            moved_differences = equations.differences(moved_probabilities)
            moved_loss = _loss(moved_differences, *moved)
            if moved_loss <= loss or length < _LEAST_STEP:
                break
            length /= 2
        if moved_loss > loss:
            break
        gained = loss - moved_loss
        (beta, shift), loss = moved, moved_loss
        probabilities, differences = moved_probabilities, moved_differences
        if gained < _TOLERANCE:
            break
    return PosteriorMode(
        parameters=prior.mean + shift,
        probabilities=probabilities,
        log_evidence=float(-loss - 0.5 * np.linalg.slogdet(covariance)[1]),
    )


def _loss(differences: FloatArray, beta: FloatArray, shift: FloatArray) -> float:
    """Return the negative log posterior density, up to a constant."""
    return float(0.5 * differences @ differences + 0.5 * beta @ shift)
