"""Raw frequencies of each value of one question, with their covariance.

The reports of one question add up to a vector of totals, and a linear map turns it into unbiased
frequencies F. Their covariance matrix follows in closed form from the mechanism's moments. So every estimate
that is derived from them (class totals, ratios) has a standard error without resampling.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.survey import Question
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.negative_estimates import project_simplex
from ldp_aggregator.snapshot import Total

UNIFORM_SHARE = 0.1
"""Covariances are evaluated at 0.9 simplex(F) + 0.1/d, so never at a frequency of exactly zero. Where F
exceeds its noise, this share is smaller: a tenth would change a rare cell by more than the error of F."""


@dataclass(frozen=True)
class FrequencyCovariance:
    """Covariance of the estimated frequencies: diag(independent) + shared 11' + slope (f1' + 1f') - ff'/n.

    A report adds to each cell an amount with mean `on` at the reporter's value and `off` elsewhere.
    Given the value, two cells are independent (unary, histogram) or bound by a constant sum (direct
    encoding, subset selection), so two pair covariances describe each of our mechanisms. The same holds
    for cells that are sums of equally many counters, as for one feature of a question about several.

    Attributes
    ----------
    distribution : (d,) array
        Frequencies at which the noise is evaluated.
    n : int
        Number of reports.
    variance : (d,) array
        The diagonal of the covariance matrix.
    floor, growth : float
        A cell's independent variance is floor + growth f, at frequency f.
    shared, slope : float
        Coefficients of the formula above.
    """

    distribution: FloatArray
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
        """Return the covariance for n reports at true `frequencies`, each a sum of as many counters."""
        if n == 0:
            unknown = np.full(frequencies.shape, math.inf)
            return cls(frequencies, n, unknown, floor=math.inf, growth=0.0, shared=0.0, slope=0.0)
        size = mechanism.domain // len(frequencies)
        on, off, shared, slope = (each / n for each in mechanism.sums(size))
        return cls(
            distribution=frequencies,
            n=n,
            variance=np.asarray(mechanism.variance(frequencies, size), dtype=np.float64) / n,
            floor=off - shared,
            growth=1 / n + on - off - 2 * slope,
            shared=shared,
            slope=slope,
        )

    @property
    def independent_variance(self) -> FloatArray:
        """The part of each cell's variance, (d,), that no other cell shares."""
        return self.floor + self.growth * self.distribution

    def cell_variance_coefficients(self) -> tuple[float, float, float]:
        """Return c0, c1, c2 of Var(F[a]) = c0 + c1 f + c2 f^2, with f the true frequency of the cell."""
        return self.floor + self.shared, self.growth + 2 * self.slope, -1 / self.n

    def ratio_variance_coefficients(
        self, mass: FloatArray, size: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return c0, c1, c2 of Var(F[a, c] - r G[c]) = c0 + c1 r + c2 r^2 if r is the true F[a, c] / G[c].

        `mass` is P(c), shape (k,), and `size` the number A of values. The covariances are at f = r P(c).
        """
        own = self.growth * mass
        mean = self.floor + self.shared * size
        return np.full_like(mass, self.floor + self.shared), own - 2 * mean, size * mean - own

    def class_covariances(self, k: int) -> tuple[FloatArray, FloatArray]:
        """Return Cov(F[a, c], G[c]) as (A, k) and Var(G[c]) as (k,), with G[c] = sum over a of F[a, c]."""
        cells = self.distribution.reshape(-1, k)
        own, size = self.independent_variance.reshape(-1, k), len(cells)
        if self.n == 0:
            return own, own[0]
        mass = cells.sum(axis=0)
        cell_with_class = (
            own + self.shared * size + self.slope * (size * cells + mass) - cells * mass / self.n
        )
        class_variance = (
            own.sum(axis=0) + self.shared * size**2 + 2 * self.slope * size * mass - mass**2 / self.n
        )
        return cell_with_class, class_variance


class TableEstimate(Protocol):
    """Noisy frequencies of the cells (value, label) of a feature, from reports or from a curator's counts."""

    @property
    def n(self) -> int:
        """Number of people."""
        ...

    @property
    def raw(self) -> FloatArray:
        """Unbiased frequencies, (A k,)."""
        ...

    @property
    def covariance(self) -> FrequencyCovariance:
        """The covariance of `raw`."""
        ...


@dataclass(frozen=True)
class Frequencies:
    """Raw frequencies of one question.

    Attributes
    ----------
    question : Question
    n : int
        Number of reports.
    raw : (d,) array
        Unbiased frequencies, possibly negative; NaN without reports. For one feature of a question about
        several features, summed over the values of the others.
    covariance : FrequencyCovariance
    """

    question: Question
    n: int
    raw: FloatArray
    covariance: FrequencyCovariance

    def marginal(self, place: int) -> Frequencies:
        """Return the frequencies of one of the question's features, by its index in the question."""
        if len(self.question.feature_indices) < 2:
            return self
        shape = self.question.shape
        others = tuple(axis for axis in range(len(shape) - 1) if axis != place)
        raw = self.raw.reshape(shape).sum(axis=others).ravel()
        return _frequencies(self.question, self.n, raw)

    @property
    def counters_per_cell(self) -> int:
        """Number of counters of the question that are summed to one frequency."""
        return self.question.domain // len(self.raw)

    @property
    def stderr(self) -> FloatArray:
        """Standard errors of `raw`; infinite without reports."""
        return np.sqrt(self.covariance.variance)


def estimate_frequencies(question: Question, total: Total) -> Frequencies:
    """Return F = (totals/n - off) / (on - off), unbiased for every mechanism.

    Yilmaz et al. 2019, section 2.2.1.

    Parameters
    ----------
    question : Question
        The question, with its mechanism.
    total : Total
        Number of reports and their (d,) counters.
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
        raise TypeError(f"{question.name} is not a question about the label or about a coupled value")
    return mechanism
