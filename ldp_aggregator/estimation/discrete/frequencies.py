"""How often each value of one question occurs, and how far off that may be.

The reports of one question add up to a vector of totals; a linear map turns it into unbiased
frequencies F. Their covariance matrix is known in closed form from the mechanism's moments, so every
later figure (class totals, ratios) carries a standard error without resampling.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.survey import Question
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.negative_estimates import project_simplex
from ldp_aggregator.snapshot import Total

UNIFORM_SHARE = 0.1
"""Noise is evaluated at .9 simplex(F) + .1/d: never at a frequency of exactly zero. Where F stands out of its
noise the tenth is less: it would add more to a rare cell than F can be off."""


@dataclass(frozen=True)
class FrequencyCovariance:
    """Covariance of the estimated frequencies: diag(own) + shared 11' + slope (f1' + 1f') - ff'/n.

    A report adds to each cell an amount with mean `on` at the reporter's value and `off` elsewhere.
    Given the value, two cells are independent (unary, histogram) or bound by a constant sum (direct
    encoding, subset selection), so two pair covariances describe each of our mechanisms. The same goes
    for sums of as many counters each, which a question about several features has for one of them.

    Attributes
    ----------
    frequencies : (d,) array
        Distribution at which the noise is evaluated.
    n : int
        Number of reports.
    variance : (d,) array
        The whole diagonal.
    floor, growth : float
        A cell's own noise is floor + growth f, whatever its frequency f.
    shared, slope : float
        See above.
    """

    frequencies: FloatArray
    n: int
    variance: FloatArray
    floor: float
    growth: float
    shared: float
    slope: float

    @classmethod
    def from_mechanism(
        cls, mechanism: FrequencyOracle, frequencies: FloatArray, n: int
    ) -> FrequencyCovariance:
        """Return the noise of n reports when the truth is `frequencies`, each a sum of as many counters'."""
        if n == 0:
            unknown = np.full(frequencies.shape, math.inf)
            return cls(frequencies, 0, unknown, math.inf, 0.0, 0.0, 0.0)
        size = mechanism.domain // len(frequencies)
        on, off, shared, slope = (each / n for each in mechanism.sums(size))
        variance = np.asarray(mechanism.variance(frequencies, size), dtype=np.float64) / n
        floor, growth = off - shared, 1 / n + on - off - 2 * slope
        return cls(frequencies, n, variance, floor, growth, shared, slope)

    @property
    def own(self) -> FloatArray:
        """The cells' own noise (d,)."""
        return self.floor + self.growth * self.frequencies

    def if_cell_is(self) -> tuple[float, float, float]:
        """Return c of Var(F[a]) = c0 + c1 f + c2 f^2, were f the truth of the cell."""
        return self.floor + self.shared, self.growth + 2 * self.slope, -1 / self.n

    def if_ratio_is(self, mass: FloatArray, size: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return c of Var(F[a, c] - r G[c]) = c0 + c1 r + c2 r^2, were r the truth of F[a, c] / G[c].

        `mass` is P(c), shape (k,), and `size` the number A of values. Put f = r P(c) in the covariances.
        """
        own = self.growth * mass
        mean = self.floor + self.shared * size
        return np.full_like(mass, self.floor + self.shared), own - 2 * mean, size * mean - own

    def against_classes(self, k: int) -> tuple[FloatArray, FloatArray]:
        """Return Cov(F[a, c], G[c]) as (A, k) and Var(G[c]) as (k,), with G[c] = sum over a of F[a, c]."""
        cells = self.frequencies.reshape(-1, k)
        own, size = self.own.reshape(-1, k), len(cells)
        if self.n == 0:
            return own, own[0]
        mass = cells.sum(axis=0)
        with_class = own + self.shared * size + self.slope * (size * cells + mass) - cells * mass / self.n
        of_class = own.sum(axis=0) + self.shared * size**2 + 2 * self.slope * size * mass - mass**2 / self.n
        return with_class, of_class


@dataclass(frozen=True)
class Frequencies:
    """What the reports of one question say.

    Attributes
    ----------
    question : Question
    n : int
        Number of reports.
    raw : (d,) array
        Unbiased frequencies, possibly negative; NaN without reports. Of one of several features that are
        asked about together: sums over the values of the others.
    noise : FrequencyCovariance
        Their covariance.
    """

    question: Question
    n: int
    raw: FloatArray
    noise: FrequencyCovariance

    def of_feature(self, place: int) -> Frequencies:
        """Return the frequencies of one of the features that the question asks about, by its place in it."""
        if len(self.question.feature_indices) < 2:
            return self
        shape = self.question.shape
        others = tuple(axis for axis in range(len(shape) - 1) if axis != place)
        raw = self.raw.reshape(shape).sum(axis=others).ravel()
        return _frequencies(self.question, self.n, raw)

    @property
    def cells(self) -> int:
        """How many counters of the question make up one of the frequencies."""
        return self.question.domain // len(self.raw)

    @property
    def stderr(self) -> FloatArray:
        """Standard errors of `raw`; infinite without reports."""
        return np.sqrt(self.noise.variance)


def estimate_frequencies(question: Question, total: Total) -> Frequencies:
    """Return F = (totals/n - off) / (on - off), unbiased for every mechanism.

    Yilmaz et al. 2019, section 2.2.1.

    Parameters
    ----------
    question : Question
        What was asked, with its mechanism.
    total : Total
        Number of reports and the (d,) sums of what they support.
    """
    oracle, n = oracle_of(question), total.n
    if n == 0:
        return _frequencies(question, 0, np.full(oracle.domain, math.nan))
    counts, _ = oracle.estimate(total.cells, n)
    return _frequencies(question, n, np.asarray(counts, dtype=np.float64) / n)


def _frequencies(question: Question, n: int, raw: FloatArray) -> Frequencies:
    oracle, d = oracle_of(question), len(raw)
    likely = uniform = np.full(d, 1.0 / d)
    if n:
        share = UNIFORM_SHARE * min(1.0, d * math.sqrt(oracle.uniform_variance(d) / n))
        likely = (1 - share) * project_simplex(raw) + share * uniform
    return Frequencies(question, n, raw, FrequencyCovariance.from_mechanism(oracle, likely, n))


def oracle_of(question: Question) -> FrequencyOracle:
    """Return the mechanism of a label or coupled question."""
    mechanism = question.mechanism
    if not isinstance(mechanism, FrequencyOracle):
        raise TypeError(f"{question.name} is no question of the label or of a coupled value")
    return mechanism
