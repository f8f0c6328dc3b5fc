"""Posterior means of the class prior and of tables P(value | label), given noisy estimates of them.

An estimate is normally distributed around the truth (central limit theorem). The truth is a share, so its
prior is a beta distribution. Naive Bayes adds logarithms of P(value | label) and uses their posterior mean.
If a table is mostly noise, its classes become equal, and the feature cannot outvote the prior. With many
reports the posterior is the table of frequencies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.bayes.beta import MIN_SHARE, beta_posterior
from ldp_aggregator.estimation.bayes.shrinkage import fit_scale_weights
from ldp_aggregator.estimation.discrete.covariance import TableEstimate
from ldp_aggregator.estimation.intervals import IntervalEstimate

CONCENTRATIONS = 2.0 ** np.arange(10)
"""Concentrations of P(value | label) around P(value), as prior sample sizes in people."""
PSEUDO_COUNT = 0.5
"""Number of features added at every concentration (Jeffreys' prior of their frequencies)."""
_MIN_VARIANCE = 1e-12


def smooth_prior(raw_prior: IntervalEstimate) -> FloatArray:
    """Return the posterior mean of P(label), shape (k,), for a uniform prior over all distributions.

    Parameters
    ----------
    raw_prior : IntervalEstimate
        (k,); a class with an infinite standard error has no reports.
    """
    if len(raw_prior.value) == 1:
        return np.ones(1)
    known = np.isfinite(raw_prior.stderr)
    return _posterior_mean(np.where(known, raw_prior.value, 0.0), np.where(known, raw_prior.stderr, 1e9))


def _posterior_mean(value: FloatArray, noise: FloatArray) -> FloatArray:
    """Return the posterior mean of a distribution (d,), given estimates and their standard errors."""
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
    distribution.

    Parameters
    ----------
    frequencies : sequence of (TableEstimate or None)
        One per feature; None means that the feature has no reports.
    sizes : sequence of int
        Numbers of values, A_i.
    prior : (k,) array
        P(label), above zero.
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
        """Centre tables along both axes, so that noise shared by all cells cancels."""
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
    """Return each feature's table, averaged over the concentrations; each column adds up to one."""
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
