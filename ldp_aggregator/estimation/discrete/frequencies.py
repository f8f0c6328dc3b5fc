"""Raw frequencies of each value of one question, with their covariance.

The reports of one question add up to a vector of totals, and a linear map turns it into unbiased
frequencies F. Their covariance matrix follows in closed form from the mechanism's moments. So every estimate
that is derived from them (class totals, ratios) has a standard error without resampling.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.survey import Feature, Question
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance
from ldp_aggregator.estimation.discrete.negative_estimates import project_simplex
from ldp_aggregator.snapshot import Total

UNIFORM_SHARE = 0.1
"""Covariances are evaluated at 0.9 simplex(F) + 0.1/d, so never at a frequency of exactly zero. Where F
exceeds its noise, this share is smaller: a tenth would change a rare cell by more than the error of F."""


@dataclass(frozen=True)
class Frequencies:
    """Raw frequencies of one question."""

    question: Question
    n: int
    """Number of reports."""
    raw: FloatArray
    """Unbiased frequencies, possibly negative; NaN without reports. For one feature of a question about
    several features, summed over the values of the others. Shape (d,)."""
    covariance: FrequencyCovariance

    def marginal(self, index: int) -> Frequencies:
        """Return the frequencies of one of the question's features, by its index in the question."""
        if len(self.question.feature_indices) < 2:
            return self
        shape = self.question.shape
        others = tuple(axis for axis in range(len(shape) - 1) if axis != index)
        raw = self.raw.reshape(shape).sum(axis=others).ravel()
        return _frequencies(self.question, self.n, raw)

    @property
    def mechanism(self) -> str:
        """The name of the question's mechanism."""
        return self.question.mechanism.name

    @property
    def asked_features(self) -> tuple[Feature, ...]:
        """The features of the question."""
        return self.question.asked_features

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
    likely = (
        find_likely_frequencies(raw, math.sqrt(oracle.uniform_variance(d) / n)) if n else np.full(d, 1.0 / d)
    )
    return Frequencies(question, n, raw, FrequencyCovariance.from_mechanism(oracle, likely, n))


def find_likely_frequencies(raw: FloatArray, noise: float) -> FloatArray:
    """Return possible frequencies near raw ones, at which covariances are evaluated; see UNIFORM_SHARE.

    Parameters
    ----------
    raw : (d,) array
    noise : float
        The standard error of a frequency.
    """
    share = UNIFORM_SHARE * min(1.0, len(raw) * noise)
    likely: FloatArray = (1 - share) * project_simplex(raw) + share / len(raw)
    return likely


def oracle_of(question: Question) -> FrequencyOracle:
    """Return the mechanism of a label or coupled question."""
    mechanism = question.mechanism
    if not isinstance(mechanism, FrequencyOracle):
        raise TypeError(f"{question.name} is not a question about the label or about a coupled value")
    return mechanism
