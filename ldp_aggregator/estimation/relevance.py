"""How much of the label a feature explains, between 0 and 1.

Of a table it is Pearson's mean square contingency phi^2 = sum (P(x, c) - P(x) P(c))^2 / (P(x) P(c)), of a
number the part of its variance that lies between the labels, eta^2. Both add up squared canonical
correlations with the label, of which there are at most k - 1: relevance is their sum over k - 1. With two
labels it is the R^2 of the label given the feature.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.bayes.posterior import Interaction
from ldp_aggregator.estimation.discrete.frequencies import Frequencies
from ldp_aggregator.estimation.intervals import IntervalEstimate, ratios, unknown
from ldp_aggregator.estimation.numeric.gaussians import Gaussian


@dataclass(frozen=True)
class Relevance:
    """A feature's relevance as raw reports tell it.

    Attributes
    ----------
    estimate : IntervalEstimate
        Of shape (). Noise is taken off, so that the value may be below 0.
    noise : float
        What was taken off: what noise alone adds up to, on average. Infinite where nothing is known.
    """

    estimate: IntervalEstimate
    noise: float

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; what is unknown or infinite becomes None."""
        return {**self.estimate.as_dict(), "noise": self.noise if math.isfinite(self.noise) else None}


_UNKNOWN = Relevance(unknown(()), math.inf)


def compute_relevance(conditional: FloatArray | Gaussian, prior: FloatArray) -> float:
    """Return how much of the label a feature explains as the classifier sees it.

    By its table, (A, k), or its normal distributions: there what may be noise is drawn to nothing. That a
    number can be missing counts as a feature of its own, added to it.
    """
    if not isinstance(conditional, Gaussian):
        return _phi_square(conditional, prior) / (len(prior) - 1)
    within = float(prior @ conditional.variance)
    between = float(prior @ (conditional.mean - prior @ conditional.mean) ** 2)
    missing = conditional.missing
    absent = 0.0 if missing is None else _phi_square(np.stack([missing, 1 - missing]), prior)
    return min(between / (between + within) + absent, 1.0) / (len(prior) - 1)


def _phi_square(table: FloatArray, prior: FloatArray) -> float:
    shares = (table @ prior)[:, None]
    off = np.divide((table - shares) ** 2, shares, out=np.zeros_like(table), where=shares > 0)
    return float((off * prior).sum())


def table_relevance(heard: Frequencies | None, prior: FloatArray) -> Relevance:
    """Return a discrete feature's relevance as raw reports tell it.

    The value is unbiased but for P(x) and P(c), which it is divided by; so it may be below 0. The interval
    is of Wilson's kind: all r that are within 1.96 of the standard errors that there would be if r were the
    truth.
    """
    k = len(prior)
    if heard is None:
        return _UNKNOWN
    table, own = heard.raw.reshape(-1, k), heard.noise.own.reshape(-1, k)
    size = len(table)
    if heard.n == 0 or size < 2:
        return _UNKNOWN
    # f is centred in both directions, then squared over P(x) P(c): along x by P'UP with P = 1 - 11'/A
    weights = 1 / Interaction.from_frequencies(heard, prior).shares
    shared = (weights.mean() / 2 - weights) / size
    across = (np.eye(k) - prior[:, None]).T / np.sqrt(prior)
    square = _square(table, own, weights, shared, across @ across.T)
    figure = _within(square, 1.0, 0.0, most=(min(size, k) - 1) / (k - 1), of=k - 1)
    return Relevance(figure, square.chance / (k - 1))


def number_relevance(
    means: IntervalEstimate, variances: IntervalEstimate, missing: IntervalEstimate | None, prior: FloatArray
) -> Relevance:
    """Return a number's relevance as raw reports tell it.

    Its interval is that of the variance between the labels over the one within them, both with their noise.
    That a number can be missing counts as a feature of its own, added to it.

    Parameters
    ----------
    means, variances : IntervalEstimate
        (k,) of each class.
    missing : IntervalEstimate or None
        (k,) shares of missing values, if it can be missing.
    prior : (k,) array
        P(label), above zero.
    """
    k = len(prior)
    if not (np.isfinite(means.stderr).all() and np.isfinite(variances.stderr).all()):
        return _UNKNOWN
    own, none = means.stderr[None] ** 2, np.zeros(1)
    between = _square(means.value[None], own, none + 1, none, np.diag(prior) - np.outer(prior, prior))
    within, doubt = float(prior @ variances.value), float(prior**2 @ variances.stderr**2)
    ratio = _within(between, within, doubt, most=math.inf, of=1)

    def part(of: FloatArray) -> FloatArray:
        return np.asarray((1 - 1 / (1 + np.maximum(of, 0)) + np.minimum(of, 0)) / (k - 1))

    stderr = ratio.stderr / (1 + np.maximum(ratio.value, 0)) ** 2 / (k - 1)
    ends = (ratio.low, ratio.high, ratio.simultaneous_low, ratio.simultaneous_high)
    noise = between.chance / max(within, math.sqrt(doubt)) / (k - 1)
    there = Relevance(IntervalEstimate(part(ratio.value), np.asarray(stderr), *map(part, ends)), noise)
    return there if missing is None else _sum(there, _absence(missing, prior), 1 / (k - 1))


def _absence(missing: IntervalEstimate, prior: FloatArray) -> Relevance:
    """Return what it explains of the label whether a number is missing."""
    k = len(prior)
    if not np.isfinite(missing.stderr).all():
        return _UNKNOWN
    doubt = float(np.sqrt(prior**2 @ missing.stderr**2))
    share = float(np.clip(prior @ missing.value, min(doubt, 0.5), 1 - min(doubt, 0.5)))
    columns = (np.diag(prior) - np.outer(prior, prior)) / (share * (1 - share))
    square = _square(missing.value[None], missing.stderr[None] ** 2, np.ones(1), np.zeros(1), columns)
    return Relevance(_within(square, 1.0, 0.0, most=1 / (k - 1), of=k - 1), square.chance / (k - 1))


def _sum(one: Relevance, other: Relevance, most: float) -> Relevance:
    """Return a sum of two; how far its interval's ends are off is the root of the sum of theirs squared."""
    if not (math.isfinite(one.noise) and math.isfinite(other.noise)):
        return _UNKNOWN
    figures = (one.estimate, other.estimate)
    inside = [np.clip(each.value, each.low, each.high) for each in figures]
    below = np.hypot(*(at - each.low for at, each in zip(inside, figures, strict=True)))
    above = np.hypot(*(each.high - at for at, each in zip(inside, figures, strict=True)))
    low, high = (np.asarray(np.clip(end, 0.0, most)) for end in (sum(inside) - below, sum(inside) + above))
    value = np.asarray(one.estimate.value + other.estimate.value)
    stderr = np.asarray(np.hypot(one.estimate.stderr, other.estimate.stderr))
    return Relevance(IntervalEstimate(value, stderr, low, high, low, high), one.noise + other.noise)


def format_relevance(value: float | None, low: float, high: float) -> str:
    """Return a relevance for people, with its interval and inside it; nothing if that is all there can be."""
    if value is None or (low <= 0 and high >= 1):
        return ""
    return f"{min(max(value, low), high):.2f} [{low:.2f}, {high:.2f}]"


class _Square(NamedTuple):
    """An unbiased square of noisy cells, cleared of `chance`, what noise alone adds up to on average.

    Its variance is `noise`, and more the larger it is, by `slope`.
    """

    value: float
    chance: float
    noise: float
    slope: float


def _square(
    value: FloatArray, own: FloatArray, weights: FloatArray, shared: FloatArray, columns: FloatArray
) -> _Square:
    """Return v'(rows x columns)v for the truth of v, rows being diag(weights) + shared 1' + 1 shared'.

    The cells of v, (A, k), are unbiased and independent with variances `own`; what noise alone adds up to
    is taken off. The slope is that of the gradient at v.
    """
    applied = (weights[:, None] * value + np.outer(shared, value.sum(axis=0)) + shared @ value) @ columns
    total = float((value * applied).sum())
    diagonal = weights + 2 * shared
    chance = float(diagonal @ own @ np.diag(columns))
    # the squares of the rows' entries: (s_i + s_j)^2, but on the diagonal (w_i + 2 s_i)^2
    squared = np.outer(shared**2, own.sum(axis=0)) + 2 * np.outer(shared, shared @ own) + shared**2 @ own
    squared += (diagonal**2 - 4 * shared**2)[:, None] * own
    noise = 2 * float((own * (squared @ columns**2)).sum())
    slope = 4 * float((own * applied**2).sum()) / total if total > 0 else 0.0
    return _Square(total - chance, chance, noise, slope)


def _within(square: _Square, whole: float, doubt: float, *, most: float, of: int) -> IntervalEstimate:
    """Return the figure of a square over a whole, whose variance is `doubt`, and over `of`."""
    top, bottom, none = np.asarray(square.value / of), np.asarray(whole), np.asarray(0.0)
    spread = np.asarray(square.noise / of**2), np.asarray(square.slope * whole / of), none + doubt
    ends = ratios(top, bottom, *spread, together=1, bounds=(0.0, most))
    whole = max(whole, math.sqrt(doubt))  # it cannot be told to be less than its own doubt
    value = top / whole
    variance = square.noise / of**2 + square.slope / of * max(float(top), 0.0) + float(value) ** 2 * doubt
    return IntervalEstimate(np.asarray(value), np.asarray(math.sqrt(variance) / whole), *ends)
