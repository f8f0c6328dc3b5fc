"""Posterior means of the class prior, of tables P(value | label) and of class means, given noisy estimates.

An estimate is normally distributed around the truth, a share, whose prior is a beta distribution. If a table
is mostly noise, its classes become equal, and the feature cannot outvote the prior. With many reports the
posterior is the table of frequencies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import lgamma
from typing import NamedTuple

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.frequencies import TableEstimate
from ldp_aggregator.estimation.intervals import IntervalEstimate

CONCENTRATIONS = 2.0 ** np.arange(10)
"""Concentrations of P(value | label) around P(value), as prior sample sizes in people."""
PSEUDO_COUNT = 0.5
"""Number of features added at every concentration (Jeffreys' prior of their frequencies)."""
_MIN_VARIANCE = 1e-12


def smooth_prior(raw_prior: IntervalEstimate) -> FloatArray:
    """Return the posterior mean of P(label), (k,), for a uniform prior over all distributions."""
    if len(raw_prior.value) == 1:
        return np.ones(1)
    known = np.isfinite(raw_prior.stderr)
    value, noise = np.where(known, raw_prior.value, 0.0), np.where(known, raw_prior.stderr, 1e9)
    return _posterior_means([value], [noise])[0]


def _posterior_means(values: Sequence[FloatArray], noises: Sequence[FloatArray]) -> list[FloatArray]:
    """Return the posterior means of several distributions, by one integral over all of them."""
    if not values:
        return []
    sizes = [len(each) for each in values]
    others = np.repeat(np.array(sizes) - 1.0, sizes)[None, :]
    posterior = beta_posterior(np.concatenate(values), np.concatenate(noises), np.ones_like(others), others)
    means = np.split(np.maximum(posterior.mean[0], MIN_SHARE), np.cumsum(sizes)[:-1])
    return [mean / mean.sum() for mean in means]


def smooth_tables(
    frequencies: Sequence[TableEstimate | None], sizes: Sequence[int], prior: FloatArray
) -> list[FloatArray]:
    """Return a table P(value | label) for each feature, an (A_i, k) array: the posterior's geometric mean.

    A priori, a class c is a sample of s people from a population in which the value x has the frequency
    P(x). With probability (1 - P(x))^s nobody in the sample has the value, and P(x | c) is zero. Otherwise
    P(x | c) has the distribution beta(s P(x), s (1 - P(x))). The concentration s is one of CONCENTRATIONS.
    How many features have each concentration is learned from all features, and averaged over.

    Given s, the estimate is MIN_SHARE in the first case, and the geometric mean of the posterior in the
    second. The arithmetic mean over both cases and over the feature's posterior of s is normalised to a
    distribution. For each feature, `frequencies` is None if it has no reports, and `sizes` has its number of
    values, A_i. `prior`, (k,), is P(label), above zero.
    """
    tables = [np.full((size, len(prior)), 1 / size) for size in sizes]
    known = {
        index: each
        for index, (each, size) in enumerate(zip(frequencies, sizes, strict=True))
        if each and each.n and size > 1
    }
    averages = _average_over_concentrations(Interaction.from_tables(list(known.values()), prior), prior)
    for index, table in zip(known, averages, strict=True):
        tables[index] = table
    return tables


@dataclass(frozen=True)
class Interaction:
    """The interaction of a feature and the label: how the classes of its table differ.

    The margins of the table, P(label) and P(value), are estimated separately. Only the rest of the table, its
    interaction, is estimated from the feature's own reports.
    """

    shares: FloatArray
    """P(value): the posterior mean for a uniform prior over all distributions. Shape (A,)."""
    value: FloatArray
    noise: FloatArray
    """P(value | label), possibly below 0 or above 1, and its standard error. Shape (A, k)."""

    @classmethod
    def from_tables(cls, tables: Sequence[TableEstimate], prior: FloatArray) -> list[Interaction]:
        shares = estimate_value_shares(tables, len(prior))
        return [cls._from_table(*each, prior) for each in zip(tables, shares, strict=True)]

    @classmethod
    def _from_table(cls, frequencies: TableEstimate, shares: FloatArray, prior: FloatArray) -> Interaction:
        k, covariance = len(prior), frequencies.covariance
        table = _centre(frequencies.raw.reshape(-1, k), prior)
        likely = _centre(covariance.distribution.reshape(-1, k), prior)
        independent = covariance.independent_variance.reshape(-1, k)
        variance = _centred_variance(independent, prior) - covariance.product * likely**2
        noise = np.sqrt(np.maximum(variance, _MIN_VARIANCE)) / prior
        return cls(shares, shares[:, None] + table / prior, noise)


def estimate_value_shares(tables: Sequence[TableEstimate], k: int) -> list[FloatArray]:
    """Return the posterior mean of P(value) of each table, (A,), for uniform priors of distributions."""
    raw = [_value_shares(each, k) for each in tables]
    noises = [np.full(len(shares), np.sqrt(spread)) for shares, spread in raw]
    return _posterior_means([shares for shares, _ in raw], noises)


def _value_shares(frequencies: TableEstimate, k: int) -> tuple[FloatArray, float]:
    """Return P(value), shifted so that it adds up to one, and the mean variance of its entries."""
    covariance, table = frequencies.covariance, frequencies.raw.reshape(-1, k)
    size = len(table)
    independent = covariance.independent_variance.reshape(-1, k).sum(axis=1)
    likely = covariance.distribution.reshape(-1, k).sum(axis=1)
    shares = table.sum(axis=1) + (1 - table.sum()) / size
    variance = (
        (1 - 2 / size) * independent
        + independent.sum() / size**2
        - covariance.product * (likely - 1 / size) ** 2
    )
    return shares, float(np.maximum(variance, _MIN_VARIANCE).mean())


def _centre(table: FloatArray, prior: FloatArray) -> FloatArray:
    """Subtract from each class its mean over the values, then `prior` times the sum of each value."""
    within = table - table.mean(axis=0)
    centred: FloatArray = within - prior * within.sum(axis=1, keepdims=True)
    return centred


def _centred_variance(variance: FloatArray, prior: FloatArray) -> FloatArray:
    """Return the variances of a centred table with independent cells: the squared slopes of `_centre`."""
    size = len(variance)
    within = (1 - 2 / size) * variance + variance.sum(axis=0) / size**2
    centred: FloatArray = (1 - 2 * prior) * within + prior**2 * within.sum(axis=1, keepdims=True)
    return centred


def _average_over_concentrations(interactions: Sequence[Interaction], prior: FloatArray) -> list[FloatArray]:
    if not interactions:
        return []
    k, sizes = len(prior), np.array([len(each.shares) for each in interactions])
    shares = np.concatenate([each.shares for each in interactions])[:, None]
    value = np.concatenate([each.value for each in interactions])
    noise = np.concatenate([each.noise for each in interactions])
    starts = np.cumsum(sizes) - sizes
    # the margins constrain a table's cells: only this share of their evidence is independent
    free = (1 - 1 / k) * (1 - 1 / sizes)
    evidence, geometric_means = _cell_posteriors(shares, value, noise)
    evidences = np.add.reduceat(evidence.sum(axis=2), starts, axis=1) * free
    weights = fit_scale_weights(evidences, PSEUDO_COUNT)
    table = np.einsum("sf,sfc->fc", np.repeat(weights, sizes, axis=1), geometric_means)
    return [part / part.sum(axis=0) for part in np.split(table, starts[1:])]


def _cell_posteriors(
    shares: FloatArray, value: FloatArray, noise: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return log evidence and geometric mean of P(value | label) or zero, (concentrations, values, k)."""
    people = CONCENTRATIONS[:, None, None]
    posterior = beta_posterior(value, noise, people * shares, people * (1 - shares))
    nobody = people * np.log1p(-shares)
    somebody = np.log(-np.expm1(nobody)) + posterior.evidence
    zero = nobody - 0.5 * (value / noise) ** 2
    evidence = np.logaddexp(zero, somebody)
    return evidence, np.exp(zero - evidence) * MIN_SHARE + np.exp(somebody - evidence + posterior.log)


# -- posteriors of shares with beta priors ----------------------------------------------------------


MIN_SHARE = 1e-6
"""A share below a millionth is replaced by a millionth: noise alone never rules out a class."""
_NODE_COUNT = 96
_TAIL_STDERRS = 9.0
_BLOCK_SIZE = 4096


class BetaPosterior(NamedTuple):
    evidence: FloatArray
    """log E[exp(-(share - value)^2 / (2 noise^2))]: the log density of the estimate, up to a constant."""
    mean: FloatArray
    log: FloatArray
    """Posterior means of the share and of its logarithm, where a share below MIN_SHARE counts as that."""


def beta_posterior(value: FloatArray, noise: FloatArray, a: FloatArray, b: FloatArray) -> BetaPosterior:
    """Return the posteriors of shares, given normal estimates of them, for several priors beta(a, b).

    `value` and `noise` are estimates and their standard errors, above zero, of one shape. `a` and `b`,
    (priors, ...), are the parameters of each prior of the shares, above zero.
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


# -- hierarchical shrinkage of class means ----------------------------------------------------------
# With two classes, one feature has only one difference between them, which is not enough to separate signal
# from noise. Many features show how large such differences usually are.


SCALES = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Standard deviations of the classes of one feature around its centre, in the feature's own unit."""
SCALE_PSEUDO_COUNT = 1 / len(SCALES)
"""Number of features added at every scale, together one feature (Perks 1947)."""
_ITERATIONS = 50


def shrink(values: FloatArray, variances: FloatArray, unit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shrink each feature's class values towards their common centre, as far as noise explains their spread.

    The model: a value is normal around its truth with the given variance, the truth is normal around the
    feature's centre with standard deviation scale * unit, and the scale is one of SCALES. How frequent each
    scale is among the features is unknown, and averaged over. The result is averaged over the posterior of
    the feature's scale. The classes of a feature that is only noise become equal. `values` and `variances`,
    (features, k), are NaN and infinite where nothing is known; `unit`, (features,), is the unit of SCALES for
    each feature. Returns the posterior means and variances, (features, k). A feature of which nothing is
    known has centre 0.
    """
    known = np.isfinite(values) & np.isfinite(variances)
    values = np.where(known, values, 0.0)
    information = np.where(known, 1.0 / np.where(known, variances, 1.0), 0.0)
    fits = [_fit_scale(values, information, (scale * unit[:, None]) ** 2) for scale in SCALES]
    likely, means, spreads = (np.stack(parts) for parts in zip(*fits, strict=True))
    weights = fit_scale_weights(likely, SCALE_PSEUDO_COUNT)[:, :, None]
    mean = (weights * means).sum(axis=0)
    return mean, (weights * (spreads + (means - mean) ** 2)).sum(axis=0)


def _fit_scale(
    values: FloatArray, information: FloatArray, between: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log-likelihood (features,), means and variances of the truth, if its variance is `between`."""
    precision = information / (1 + between * information)
    total = precision.sum(axis=1, keepdims=True)
    centre = (precision * values).sum(axis=1, keepdims=True) / np.where(total > 0, total, 1.0)
    off = values - centre
    logs = np.log(np.where(precision > 0, precision, 1.0)).sum(axis=1)
    # the centre is unknown too, so the likelihood is integrated over it (restricted likelihood)
    logs -= np.log(np.where(total > 0, total, 1.0))[:, 0]
    likely = 0.5 * (logs - (precision * off**2).sum(axis=1))
    return likely, centre + between * precision * off, between / (1 + between * information)


def fit_scale_weights(likely: FloatArray, pseudo_count: float) -> FloatArray:
    """Return each feature's probabilities of the scales, (scales, features), from its log-likelihoods.

    The frequencies of the scales among the features are unknown, and a priori have a symmetric Dirichlet
    distribution with parameter `pseudo_count`; with 1 all frequencies are equally probable. They are averaged
    over their posterior: given the scales of the other features, the next feature has each scale with a
    probability proportional to `pseudo_count` plus the number of those that have it. The numbers are replaced
    by their expectations (collapsed variational Bayes of order zero, Asuncion et al. 2009). So a single
    feature's weights are its likelihoods, and many features determine the frequencies.
    """
    odds = np.exp(likely - likely.max(axis=0))
    weights: FloatArray = odds / odds.sum(axis=0)
    for _ in range(_ITERATIONS):
        others = weights.sum(axis=1, keepdims=True) - weights
        weights = odds * (pseudo_count + others)
        weights /= weights.sum(axis=0)
    return weights
