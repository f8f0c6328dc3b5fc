"""What noisy shares are worth to a classifier: their posterior, all doubt about the estimates counted.

An estimate is normal around its truth, as the central limit theorem has it; the truth is a share, so it
has a beta distribution a priori. Naive Bayes adds up logarithms of P(value | label), so what it is given is
their posterior mean. Where noise drowns a table all labels end up alike, so that the feature cannot outvote
the prior; with many reports it is the table of frequencies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.bayes.beta import LEAST, beta_posterior
from ldp_aggregator.estimation.bayes.shrinkage import mixed_scales
from ldp_aggregator.estimation.discrete.frequencies import Frequencies
from ldp_aggregator.estimation.intervals import IntervalEstimate

CONCENTRATIONS = 2.0 ** np.arange(10)
"""How far P(value | label) may be from P(value): as if so many people had been counted beforehand."""
_TINY = 1e-12


def smooth_prior(figure: IntervalEstimate) -> FloatArray:
    """Return the posterior mean of P(label), (k,), if beforehand all distributions were equally likely.

    Parameters
    ----------
    figure : IntervalEstimate
        (k,) raw prior; a label with an infinite standard error counts as unheard.
    """
    heard = np.isfinite(figure.stderr)
    return _posterior_mean(np.where(heard, figure.value, 0.0), np.where(heard, figure.stderr, 1e9))


def _posterior_mean(value: FloatArray, noise: FloatArray) -> FloatArray:
    """Return a distribution (d,) of which nothing but these estimates, with this noise, is known."""
    size = len(value)
    found = beta_posterior(value, noise, np.ones((1, size)), np.full((1, size), size - 1.0))
    mean = np.maximum(found.mean[0], LEAST)
    share: FloatArray = mean / mean.sum()
    return share


def smooth_tables(
    heard: Sequence[Frequencies | None], sizes: Sequence[int], prior: FloatArray
) -> list[FloatArray]:
    """Return P(value | label) of each feature, an (A_i, k) array: the posterior's geometric mean.

    A priori a label is as if s people had been drawn for it, with P(x) the feature's own share of the value:
    with probability (1 - P(x))^s nobody has the value, and P(x | c) is zero; else it is
    beta(s P(x), s (1 - P(x))). The concentration s is one of CONCENTRATIONS; how often each occurs among the
    features is fitted to all of them (empirical Bayes). Given it, a share is the geometric mean of its
    posterior, or LEAST if it is zero; that is averaged over both and over the feature's own concentrations,
    and made a distribution.

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
        Interaction.from_frequencies(each, prior)
        for (each, _), tells in zip(pairs, told, strict=True)
        if each and tells
    ]
    tables = iter(_believe(contrasts, prior))
    return [
        next(tables) if tells else np.full((size, k), 1 / size)
        for size, tells in zip(sizes, told, strict=True)
    ]


@dataclass(frozen=True)
class Interaction:
    """What the reports of a feature say of how its labels differ, cleared of all that they need not say.

    That a label's shares add up to P(label), and a value's to P(value), is known from all reports
    together; only what is left of the table, its interaction, is taken from the feature's own.

    Attributes
    ----------
    shares : (A,) array
        P(value): the posterior mean, if beforehand all distributions were equally likely.
    value, noise : (A, k) arrays
        P(value | label), possibly impossible, and its standard error.
    """

    shares: FloatArray
    value: FloatArray
    noise: FloatArray

    @classmethod
    def from_frequencies(cls, heard: Frequencies, prior: FloatArray) -> Interaction:
        """Centre a table twice; its noise follows in closed form, what all cells share of it cancels."""
        k = len(prior)
        told = heard.noise
        shares, spread = _shares(heard, k)
        table, likely = (_centre(each.reshape(-1, k), prior) for each in (heard.raw, told.frequencies))
        variance = _centred_variance(told.own.reshape(-1, k), prior) - likely**2 / told.n
        expected = _posterior_mean(shares, np.full(len(shares), np.sqrt(spread)))
        noise = np.sqrt(np.maximum(variance, _TINY)) / prior
        return cls(expected, expected[:, None] + table / prior, noise)


def _shares(heard: Frequencies, k: int) -> tuple[FloatArray, float]:
    """Return P(value), made to add up to one, and the average variance of one."""
    told, table = heard.noise, heard.raw.reshape(-1, k)
    size = len(table)
    own, likely = told.own.reshape(-1, k).sum(axis=1), told.frequencies.reshape(-1, k).sum(axis=1)
    shares = table.sum(axis=1) + (1 - table.sum()) / size
    variance = (1 - 2 / size) * own + own.sum() / size**2 - (likely - 1 / size) ** 2 / told.n
    return shares, float(np.maximum(variance, _TINY).mean())


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


def _believe(contrasts: Sequence[Interaction], prior: FloatArray) -> list[FloatArray]:
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
    evidence, given = _cells(shares, value, noise)
    weights = mixed_scales(np.add.reduceat(evidence.sum(axis=2), starts, axis=1) * free)
    table = np.einsum("sf,sfc->fc", np.repeat(weights, sizes, axis=1), given)
    return [part / part.sum(axis=0) for part in np.split(table, starts[1:])]


def _cells(shares: FloatArray, value: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return, for each concentration, the log-evidence of cells and what they count as; they may be zero."""
    people = CONCENTRATIONS[:, None, None]
    found = beta_posterior(value, noise, people * shares, people * (1 - shares))
    nobody = people * np.log1p(-shares)
    somebody = np.log(-np.expm1(nobody)) + found.evidence
    zero = nobody - 0.5 * (value / noise) ** 2
    evidence = np.logaddexp(zero, somebody)
    return evidence, np.exp(zero - evidence) * LEAST + np.exp(somebody - evidence + found.log)
