"""What an estimate of a share says of it, if it is beta distributed beforehand: one integral per share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import lgamma
from typing import NamedTuple

import numpy as np

from ldp_aggregator.arrays import FloatArray

LEAST = 1e-6
"""A share below a millionth counts as a millionth: noise alone rules nobody out."""
_NODES = 96
_REACH = 9.0
_BLOCK = 4096


class BetaPosterior(NamedTuple):
    """What is known of shares after an estimate; arrays of one shape.

    Attributes
    ----------
    evidence : array
        log E[exp(-(share - value)^2 / (2 noise^2))], the estimate's log density but for a constant.
    mean, log : arrays
        Posterior means of the share and of its logarithm, where a share below LEAST counts as that.
    """

    evidence: FloatArray
    mean: FloatArray
    log: FloatArray


def beta_posterior(value: FloatArray, noise: FloatArray, a: FloatArray, b: FloatArray) -> BetaPosterior:
    """Return the posteriors of shares, after normal estimates of them, for several priors beta(a, b).

    Parameters
    ----------
    value, noise : float arrays of one shape
        Estimates and their standard errors, above zero.
    a, b : float arrays, shape (priors, ...)
        Above zero; for each prior what goes together with `value`.
    """
    shape = np.broadcast_shapes(value.shape, a.shape, b.shape)
    cells = [np.broadcast_to(each, shape[1:]).ravel() for each in (value, noise)]
    priors = [np.broadcast_to(each, shape).reshape(shape[0], -1) for each in (a, b)]
    found = np.empty((3, shape[0], cells[0].size))
    for start in range(0, cells[0].size, _BLOCK):
        block = slice(start, start + _BLOCK)
        nodes = _Nodes.from_estimates(cells[0][block], cells[1][block])
        for prior, (first, second) in enumerate(zip(*priors, strict=True)):
            found[:, prior, block] = nodes.posterior(first[block], second[block])
    evidence, mean, log = found.reshape(3, *shape)
    return BetaPosterior(evidence - _log_beta(a, b), mean, log)


@dataclass(frozen=True)
class _Nodes:
    """Where the posteriors of some shares are evaluated; arrays of shape (nodes, shares).

    By the trapezoidal rule along t, the share's logit being sinh(t), over what the estimate allows: there
    the integrand is smooth, and nodes are dense where a concentrated prior is narrow. The ends of (0, 1),
    where a beta distribution may pile up, are added in closed form.

    Attributes
    ----------
    share, log, rest : arrays
        The share, its logarithm and that of one less the share.
    weight : array
        Logarithm of a node's width and of the estimate's likelihood.
    none, all : (shares,) arrays
        Logarithms of the likelihood of a share of 0, and of 1.
    """

    share: FloatArray
    log: FloatArray
    rest: FloatArray
    weight: FloatArray
    none: FloatArray
    all: FloatArray

    @classmethod
    def from_estimates(cls, value: FloatArray, noise: FloatArray) -> _Nodes:
        low = np.clip(np.minimum(value, 1.0) - _REACH * noise, LEAST, 1 - 2 * LEAST)
        high = np.clip(np.maximum(value, 0.0) + _REACH * noise, 2 * LEAST, 1 - LEAST)
        start, end = (np.arcsinh(np.log(each) - np.log1p(-each)) for each in (low, high))
        step = (end - start) / (_NODES - 1)
        place = np.sinh(start + step * np.arange(_NODES)[:, None])
        log, rest = -np.log1p(np.exp(-place)), -np.log1p(np.exp(place))
        share = np.exp(log)
        weight = np.log(step) + 0.5 * np.log1p(place**2) - 0.5 * ((share - value) / noise) ** 2
        weight[[0, -1]] -= np.log(2.0)
        none, all_ = (-0.5 * ((end - value) / noise) ** 2 for end in (0.0, 1.0))
        return cls(share, log, rest, weight, none, all_)

    def posterior(self, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return evidence, but for 1/B(a, b), mean and mean logarithm of each share that is beta(a, b)."""
        inside = self.weight + a * self.log + b * self.rest
        below = self.none + a * np.log(LEAST) - np.log(a)
        above = self.all + b * np.log(LEAST) - np.log(b)
        most = np.maximum(inside.max(axis=0), np.maximum(below, above))
        inside, below, above = (np.exp(each - most) for each in (inside, below, above))
        total = inside.sum(axis=0) + below + above
        mean = np.einsum("ns,ns->s", inside, self.share) + above
        log = np.einsum("ns,ns->s", inside, self.log) + below * np.log(LEAST)
        return most + np.log(total), mean / total, log / total


@partial(np.vectorize, otypes=[np.float64])
def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)
