"""What noisy shares are worth to a classifier: their posterior, all doubt about the estimates counted.

An estimate is normal around its truth, as the central limit theorem has it; the truth is a share, so it
has a beta distribution a priori. Naive Bayes adds up logarithms of P(value | label), so what it is given is
their posterior mean. Where noise drowns a table all labels end up alike, so that the feature cannot outvote
the prior; with many reports it is the table of frequencies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import lgamma
from typing import NamedTuple

import numpy as np

from ldp_aggregator.estimation.consistency import FloatArray
from ldp_aggregator.estimation.figures import Figure
from ldp_aggregator.estimation.frequencies import Frequencies
from ldp_aggregator.estimation.shrinkage import mixed_scales

CONCENTRATIONS = 2.0 ** np.arange(10)
"""How far P(value | label) may be from P(value): as if so many people had been counted beforehand."""
LEAST = 1e-6
"""A share below a millionth counts as a millionth: noise alone rules nobody out."""
_NODES = 96
_REACH = 9.0
_BLOCK = 4096


def posterior_prior(figure: Figure) -> FloatArray:
    """Return the posterior mean of P(label), (k,), if beforehand all distributions were equally likely.

    Parameters
    ----------
    figure : Figure
        (k,) raw prior; a label with an infinite standard error counts as unheard.
    """
    k = len(figure.value)
    heard = np.isfinite(figure.stderr)
    raw, noise = np.where(heard, figure.value, 0.0), np.where(heard, figure.stderr, 1e9)
    mean = np.maximum(beta_posterior(raw, noise, np.ones((1, k)), np.full((1, k), k - 1.0)).mean[0], LEAST)
    share: FloatArray = mean / mean.sum()
    return share


def posterior_tables(
    heard: Sequence[Frequencies | None], sizes: Sequence[int], prior: FloatArray
) -> list[FloatArray]:
    """Return P(value | label) of each feature, an (A_i, k) array: the posterior's geometric mean.

    A priori P(x | c) is beta(s P(x), s (1 - P(x))), with P(x) the feature's own share of the value. The
    concentration s is one of CONCENTRATIONS; how often each occurs among the features is fitted to all of
    them (empirical Bayes). Given it, a share is the geometric mean of its posterior; that is averaged over
    the feature's own concentrations, and made a distribution.

    Parameters
    ----------
    heard : sequence of (Frequencies or None)
        What was heard of each feature; None counts as nothing.
    sizes : sequence of int
        Numbers of values, A_i.
    prior : (k,) array
        P(label), above zero.
    """
    k = len(prior)
    pairs = list(zip(heard, sizes, strict=True))
    told = [bool(each and each.n and size > 1) for each, size in pairs]
    contrasts = [
        Contrast.of(each, prior) for (each, _), tells in zip(pairs, told, strict=True) if each and tells
    ]
    tables = iter(_believe(contrasts, prior))
    return [
        next(tables) if tells else np.full((size, k), 1 / size)
        for size, tells in zip(sizes, told, strict=True)
    ]


@dataclass(frozen=True)
class Contrast:
    """What the reports of a feature say of how its labels differ, cleared of all that they need not say.

    That a label's shares add up to P(label), and a value's to P(value), is known from all reports
    together; only what is left of the table, its interaction, is taken from the feature's own.

    Attributes
    ----------
    shares : (A,) array
        P(value), smoothed by one standard deviation.
    value, noise : (A, k) arrays
        P(value | label), possibly impossible, and its standard error.
    """

    shares: FloatArray
    value: FloatArray
    noise: FloatArray

    @classmethod
    def of(cls, heard: Frequencies, prior: FloatArray) -> Contrast:
        """Centre a table twice; its noise follows in closed form, what all cells share of it cancels."""
        k = len(prior)
        told = heard.noise
        shares, spread = _shares(heard, k)
        table, likely = (_centre(each.reshape(-1, k), prior) for each in (heard.raw, told.frequencies))
        variance = _centred_variance(told.own.reshape(-1, k), prior) - likely**2 / told.n
        smoothed = np.maximum(shares, 0.0) + np.sqrt(spread)
        smoothed /= smoothed.sum()
        noise = np.sqrt(np.maximum(variance, 1e-12)) / prior
        return cls(smoothed, smoothed[:, None] + table / prior, noise)


def _shares(heard: Frequencies, k: int) -> tuple[FloatArray, float]:
    """Return P(value), made to add up to one, and the average variance of one."""
    told, table = heard.noise, heard.raw.reshape(-1, k)
    size = len(table)
    own, likely = told.own.reshape(-1, k).sum(axis=1), told.frequencies.reshape(-1, k).sum(axis=1)
    shares = table.sum(axis=1) + (1 - table.sum()) / size
    variance = (1 - 2 / size) * own + own.sum() / size**2 - (likely - 1 / size) ** 2 / told.n
    return shares, float(np.maximum(variance, 0.0).mean())


def _centre(table: FloatArray, prior: FloatArray) -> FloatArray:
    """Take from each label's cells their mean, then from each value's the sum, spread by the prior."""
    within = table - table.mean(axis=0)
    centred: FloatArray = within - prior * within.sum(axis=1, keepdims=True)
    return centred


def _centred_variance(own: FloatArray, prior: FloatArray) -> FloatArray:
    """Return the variances of a centred table whose cells are independent: squares of what `_centre` does."""
    size = len(own)
    within = (1 - 2 / size) * own + own.sum(axis=0) / size**2
    centred: FloatArray = (1 - 2 * prior) * within + prior**2 * within.sum(axis=1, keepdims=True)
    return centred


def _believe(contrasts: Sequence[Contrast], prior: FloatArray) -> list[FloatArray]:
    """Return each feature's table: mixed over the concentrations, each label's shares adding up to one."""
    if not contrasts:
        return []
    k, sizes = len(prior), np.array([len(each.shares) for each in contrasts])
    shares = np.concatenate([each.shares for each in contrasts])[:, None]
    value, noise = (
        np.concatenate([getattr(each, name) for each in contrasts]) for name in ("value", "noise")
    )
    starts = np.cumsum(sizes) - sizes
    # a table's cells are bound by its margins: so much of what they say together is its own
    free = (1 - 1 / k) * (1 - 1 / sizes)
    prior_weight = CONCENTRATIONS[:, None, None]
    found = beta_posterior(value, noise, prior_weight * shares, prior_weight * (1 - shares))
    weights = mixed_scales(np.add.reduceat(found.evidence.sum(axis=2), starts, axis=1) * free)
    table = np.einsum("sf,sfc->fc", np.repeat(weights, sizes, axis=1), np.exp(found.log))
    return [part / part.sum(axis=0) for part in np.split(table, starts[1:])]


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
        nodes = _Nodes.of(cells[0][block], cells[1][block])
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
    def of(cls, value: FloatArray, noise: FloatArray) -> _Nodes:
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
