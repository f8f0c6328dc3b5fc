"""The influence of fake reports on an estimate: how far any payloads in them can change it.

An estimate is (nearly) linear in the mean of what reports add to the counters, with known slopes w. If m of
n reports are fake, the estimate from all reports differs from the estimate without them by
m/(n - m) (w.x - w.t). Here t is the mean over all n reports, and x the mean over the fake ones. The
change is largest if all fake reports have the payload with the greatest or the least w.x, which every
mechanism computes in closed form (`contribution_range`). This is exact for frequencies, priors and
E[x 1(label)]. For ratios it is a first-order approximation, as their standard errors are. Estimates are not
corrected, since it is unknown which reports are fake.

If each person answers all questions, a fake message has a fake report to every question: the influences of
all questions on one estimate add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.survey.questions import MEAN
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.codec import Infinite
from ldp_aggregator.estimation.discrete.frequencies import Frequencies, oracle_of
from ldp_aggregator.estimation.intervals import IntervalEstimate
from ldp_aggregator.estimation.numeric.moments import Moments, Quantity, mechanism_of
from ldp_aggregator.snapshot import Total

FAKE_SHARE = 0.01
"""The influence is computed for this share of fake reports, and for a single report."""


@dataclass(frozen=True)
class Influence:
    """How far fake reports can move the entries of an estimate, up or down: to one question, or to all."""

    estimate: str
    """One of "frequencies", "conditionals", "prior", "means", "variances" or "missing"; of a question about
    several features, followed by " of " and the name of the feature. Of a question without the label,
    "shares" instead of the first three."""
    one: Infinite
    """How far one report can move each entry; infinite if it is the only one."""
    one_percent: Infinite
    """How far FAKE_SHARE of the reports can move each entry."""
    one_percent_in_stderrs: FloatArray
    """The same in standard errors of the entry; NaN where that is 0 or unknown."""

    @classmethod
    def from_step(cls, estimate: str, n: int, step: FloatArray, stderr: FloatArray) -> Influence:
        """Return the influence of reports among n, where m of them move the entries by step m/(n - m)."""
        known = np.isfinite(stderr) & (stderr > 0)
        share = step * (FAKE_SHARE / (1 - FAKE_SHARE))
        return cls(
            estimate=estimate,
            one=step / (n - 1) if n > 1 else np.full(step.shape, np.inf),
            one_percent=share,
            one_percent_in_stderrs=np.where(known, share / np.where(known, stderr, 1.0), np.nan),
        )

    def weigh(self, weight: float, variance: float) -> Influence:
        """Return the influence on an average in which the estimate has this weight.

        The variance of the average is `variance` times that of the estimate.
        """
        return Influence(
            self.estimate,
            weight * self.one,
            weight * self.one_percent,
            weight / math.sqrt(variance) * self.one_percent_in_stderrs,
        )

    def add(self, other: Influence) -> Influence:
        """Return the influence of the reports to both questions on one estimate."""
        return Influence(
            self.estimate,
            self.one + other.one,
            self.one_percent + other.one_percent,
            self.one_percent_in_stderrs + other.one_percent_in_stderrs,
        )

    @property
    def largest(self) -> float | None:
        """The largest move by FAKE_SHARE, in standard errors; None if all are unknown."""
        known = self.one_percent_in_stderrs[np.isfinite(self.one_percent_in_stderrs)]
        return float(known.max()) if known.size else None


def frequency_influence(frequencies: Frequencies, intervals: IntervalEstimate, name: str) -> Influence:
    """Return the influence on the frequencies F = (t - off)/(on - off), in the shape of `intervals`."""
    shares = frequencies.raw.reshape(intervals.value.shape)
    step = _furthest_shares(oracle_of(frequencies.question), frequencies.counters_per_cell, shares)
    return Influence.from_step(name, frequencies.n, step, intervals.stderr)


def conditional_influence(
    frequencies: Frequencies, intervals: IntervalEstimate, suffix: str = ""
) -> Influence:
    """Return the influence on conditionals R = F[a, c]/G[c], with slopes (1(own cell) - R 1(own label))/G."""
    oracle, (size, k) = oracle_of(frequencies.question), intervals.value.shape
    joint = frequencies.raw.reshape(size, k)
    mass = np.where(joint.sum(axis=0) > 0, joint.sum(axis=0), np.nan)
    scale = 1 / ((oracle.on_mean - oracle.off_mean) * mass)
    ratio = joint / mass
    weights = np.stack([(1 - ratio) * scale, -ratio * scale, np.zeros_like(ratio)], axis=-1)
    times = frequencies.counters_per_cell * np.array([1, size - 1, (k - 1) * size])
    # F - R G is zero at the estimates themselves
    now = frequencies.counters_per_cell * oracle.off_mean * (1 - size * ratio) * scale
    return Influence.from_step(
        f"conditionals{suffix}", frequencies.n, _furthest(oracle, weights, times, now), intervals.stderr
    )


def prior_influence(frequencies: Frequencies, intervals: IntervalEstimate, weight: float) -> Influence:
    """Return the influence on the pooled prior, to which a discrete question contributes G with `weight`."""
    oracle, k = oracle_of(frequencies.question), len(intervals.value)
    step = weight * _furthest_shares(oracle, oracle.domain // k, frequencies.raw.reshape(-1, k).sum(axis=0))
    return Influence.from_step("prior", frequencies.n, step, intervals.stderr)


def _furthest_shares(oracle: FrequencyOracle, size: int, shares: FloatArray) -> FloatArray:
    """Return the largest moves of shares, each estimated from the sum of `size` counters."""
    slope = oracle.on_mean - oracle.off_mean
    weights, times = np.array([1.0, 0.0]) / slope, np.array([size, oracle.domain - size])
    return _furthest(oracle, weights, times, shares + size * oracle.off_mean / slope)


def _furthest(oracle: FrequencyOracle, weights: FloatArray, times: Any, now: FloatArray) -> FloatArray:
    least, most = oracle.contribution_range(weights, times)
    return np.maximum(most - now, now - least)


# -- numbers --------------------------------------------------------------------------------------


def moment_influence(
    name: str, ratio: Quantity, moments: Moments, total: Total, intervals: IntervalEstimate, unit: float
) -> Influence:
    """Return the influence of one question about a number on a ratio per label, for example E[x | c].

    Parameters
    ----------
    name : str
        Name of the estimate.
    ratio : Quantity
        The ratio, with its slopes with respect to the questions' moments in the order of `ClassMoments`.
    moments, total : Moments and Total
        Moments and total of the question whose reports are fake.
    intervals : IntervalEstimate
        The ratio in its own unit, for its standard error.
    unit : float
        One unit of `ratio` in the unit of `intervals`.
    """
    index = 0 if moments.question.moment == MEAN else 3
    slopes = ratio.slopes[index : index + 3] * unit
    return Influence.from_step(name, moments.n, _furthest_moments(moments, total, slopes), intervals.stderr)


def moment_prior_influence(
    moments: Moments, total: Total, prior: IntervalEstimate, weight: float
) -> Influence:
    """Return the influence on the pooled prior, to which a question about a number contributes."""
    slopes = np.zeros((3, len(prior.value)))
    slopes[2] = weight
    return Influence.from_step("prior", moments.n, _furthest_moments(moments, total, slopes), prior.stderr)


def _furthest_moments(moments: Moments, total: Total, slopes: FloatArray) -> FloatArray:
    """Return for each class the largest move of the sum of slopes (3, k) times the moments of a question."""
    mechanism, k = mechanism_of(moments.question), slopes.shape[1]
    counters = _counter_slopes(moments)  # (3, k, blocks)
    mean = total.cells / total.n
    furthest = np.full(k, np.nan)
    for label in range(k):
        own = slopes[:, label] @ counters[:, label]
        if np.isfinite(own).all():
            weights = np.zeros((len(own), k))
            weights[:, label] = own
            least, most = mechanism.contribution_range(weights.ravel())
            now = weights.ravel() @ mean
            furthest[label] = max(most - now, now - least)
    return furthest


def _counter_slopes(moments: Moments) -> FloatArray:
    """Return d(s, M, G of a label)/d(the label's counter in each block of k counters), (3, k, blocks).

    Moments are affine in the counters, and those of a label depend only on the label's own counters.
    """
    mechanism = mechanism_of(moments.question)
    k, cells = mechanism.domain.labels, mechanism.cells
    zero = mechanism.moments(np.zeros(cells, dtype=np.int64), 1)
    columns = []
    for block in range(cells // k):
        ones = np.zeros(cells, dtype=np.int64)
        ones[block * k : block * k + k] = 1
        columns.append((mechanism.moments(ones, 1) - zero)[moments.place])
    slopes: FloatArray = np.nan_to_num(np.stack(columns, axis=-1))
    return slopes
