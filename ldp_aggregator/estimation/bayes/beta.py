"""Posteriors of shares with beta priors, given normal estimates: one numerical integral per share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import lgamma
from typing import NamedTuple

import numpy as np

from ldp_aggregator.arrays import FloatArray

MIN_SHARE = 1e-6
"""A share below a millionth is replaced by a millionth: noise alone never rules out a class."""
_NODE_COUNT = 96
_TAIL_STDERRS = 9.0
_BLOCK_SIZE = 4096


class BetaPosterior(NamedTuple):
    """Posteriors of shares; arrays of one shape."""

    evidence: FloatArray
    """log E[exp(-(share - value)^2 / (2 noise^2))]: the log density of the estimate, up to a constant."""
    mean: FloatArray
    log: FloatArray
    """Posterior means of the share and of its logarithm, where a share below MIN_SHARE counts as that."""


def beta_posterior(value: FloatArray, noise: FloatArray, a: FloatArray, b: FloatArray) -> BetaPosterior:
    """Return the posteriors of shares, given normal estimates of them, for several priors beta(a, b).

    Parameters
    ----------
    value, noise : float arrays of one shape
        Estimates and their standard errors, above zero.
    a, b : float arrays, shape (priors, ...)
        The parameters of each prior of the shares, above zero.
    """
    shape = np.broadcast_shapes(value.shape, a.shape, b.shape)
    cells = [np.broadcast_to(each, shape[1:]).ravel() for each in (value, noise)]
    priors = [np.broadcast_to(each, shape).reshape(shape[0], -1) for each in (a, b)]
    results = np.empty((3, shape[0], cells[0].size))
    for start in range(0, cells[0].size, _BLOCK_SIZE):
        block = slice(start, start + _BLOCK_SIZE)
        nodes = _Quadrature.from_estimates(cells[0][block], cells[1][block])
        for prior, (first, second) in enumerate(zip(*priors, strict=True)):
            results[:, prior, block] = nodes.posterior(first[block], second[block])
    evidence, mean, log = results.reshape(3, *shape)
    return BetaPosterior(evidence - _log_beta(a, b), mean, log)


@dataclass(frozen=True)
class _Quadrature:
    """The nodes of the numerical integral over the posteriors of shares; arrays of shape (nodes, shares).

    The trapezoidal rule is applied along t, where the logit of the share is sinh(t), over the range of the
    estimate. There the integrand is smooth, and nodes are dense where a concentrated prior is narrow. The
    ends of (0, 1), where a beta density may be infinite, are added in closed form.
    """

    share: FloatArray
    log: FloatArray
    rest: FloatArray
    """`share`, `log` and `rest`: the share, log(share) and log(1 - share)."""
    weight: FloatArray
    """Sum of the logarithms of a node's width and of the estimate's likelihood."""
    log_zero: FloatArray
    log_one: FloatArray
    """Logarithms of the likelihood of a share of 0, and of 1. Shape (shares,)."""

    @classmethod
    def from_estimates(cls, value: FloatArray, noise: FloatArray) -> _Quadrature:
        low = np.clip(np.minimum(value, 1.0) - _TAIL_STDERRS * noise, MIN_SHARE, 1 - 2 * MIN_SHARE)
        high = np.clip(np.maximum(value, 0.0) + _TAIL_STDERRS * noise, 2 * MIN_SHARE, 1 - MIN_SHARE)
        start, end = (np.arcsinh(np.log(each) - np.log1p(-each)) for each in (low, high))
        step = (end - start) / (_NODE_COUNT - 1)
        index = np.sinh(start + step * np.arange(_NODE_COUNT)[:, None])
        log, rest = -np.log1p(np.exp(-index)), -np.log1p(np.exp(index))
        share = np.exp(log)
        weight = np.log(step) + 0.5 * np.log1p(index**2) - 0.5 * ((share - value) / noise) ** 2
        weight[[0, -1]] -= np.log(2.0)
        return cls(
            share=share,
            log=log,
            rest=rest,
            weight=weight,
            log_zero=-0.5 * (value / noise) ** 2,
            log_one=-0.5 * ((1.0 - value) / noise) ** 2,
        )

    def posterior(self, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return log evidence + log B(a, b), mean and mean logarithm of shares with the prior beta(a, b)."""
        inside = self.weight + a * self.log + b * self.rest
        below = self.log_zero + a * np.log(MIN_SHARE) - np.log(a)
        above = self.log_one + b * np.log(MIN_SHARE) - np.log(b)
        most = np.maximum(inside.max(axis=0), np.maximum(below, above))
        inside, below, above = (np.exp(each - most) for each in (inside, below, above))
        total = inside.sum(axis=0) + below + above
        mean = np.einsum("ns,ns->s", inside, self.share) + above
        log = np.einsum("ns,ns->s", inside, self.log) + below * np.log(MIN_SHARE)
        return most + np.log(total), mean / total, log / total


@partial(np.vectorize, otypes=[np.float64])
def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)
