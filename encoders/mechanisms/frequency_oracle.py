"""Frequency oracles: mechanisms over d values whose reports estimate the frequency of each value."""

from __future__ import annotations

from abc import abstractmethod
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from encoders.errors import SurveyError
from encoders.lazy_numpy import ByteArray, FloatArray, IntArray, np
from encoders.mechanisms.base import BitsPayload, Mechanism, MechanismParameters, Number
from encoders.randomness import RandomSource

MAX_DOMAIN = 1 << 16
"""Largest domain of a question; the estimates of a larger one would be noise."""


class FrequencyOracle(Mechanism):
    """A mechanism over the domain {0, ..., domain-1} whose reports estimate frequencies."""

    constant_sum: ClassVar[bool] = False
    """Whether every report adds the same sum over all counters. If not, what it adds to one counter is
    independent of what it adds to the others, given the true value."""
    domain: int
    """Number of values d, at least 2; also the number of counters."""
    on_mean: float
    on_var: float
    off_mean: float
    off_var: float
    """`on_mean`, `on_var`, `off_mean` and `off_var`: mean and variance of what one report adds to the
    counter of the true value (on), and to any other counter (off). For pure protocols: p, p(1-p), q,
    q(1-q)."""

    def __init__(self, domain: int, tables: MechanismParameters) -> None:
        if type(domain) is not int or not 2 <= domain <= MAX_DOMAIN:
            raise SurveyError(f"{self.name} needs a domain of 2 to {MAX_DOMAIN} values")
        self.domain = self.cells = domain
        self.parameters = dict(tables)

    def __repr__(self) -> str:
        return f"{self.name}(domain={self.domain})"

    @classmethod
    @abstractmethod
    def design(cls, domain: int, epsilon: Decimal, option: Decimal | None = None) -> Self:
        """Return the mechanism with tables that spend at most `epsilon`; `option` is THE's threshold."""

    # -- the trainer -----------------------------------------------------------------------

    def estimate(self, totals: IntArray, n: int) -> tuple[FloatArray, FloatArray]:
        """Estimate how many of `n` people hold each value, (domain,), and the standard errors.

        `totals`, (domain,), is the sum of the tallies of their reports. The counts are unbiased, (c_v - n
        q)/(p - q) for pure protocols (Yilmaz et al. 2019, section 2.2.1), and possibly negative.
        """
        slope = self.on_mean - self.off_mean
        counts = np.asarray((totals - n * self.off_mean) / slope, dtype=np.float64)
        share: FloatArray = np.clip(counts / max(n, 1), 0.0, 1.0)
        stderr: FloatArray = np.sqrt(n * self.variance(share))
        return counts, stderr

    def variance(self, frequency: Number, size: int = 1) -> Number:
        """Return the variance of one report's estimate of a value's frequency.

        It includes sampling, because the person is drawn at random from the population. For pure protocols
        it is P(1-P)/(p-q)^2 with P = q + (p-q) f (Wang et al. 2017, equation 4). Takes a float or a float
        array. With `size` above 1, the estimate is of the sum of that many frequencies, see `sums`.
        """
        on, off, _, _ = self.sums(size)
        return frequency * (1 - frequency) + frequency * on + (1 - frequency) * off

    def covariance(self, one: Number, other: Number, size: int = 1) -> Number:
        """Return the covariance of one report's estimates of the frequencies of two values."""
        _, _, shared, slope = self.sums(size)
        return shared + slope * (one + other) - one * other

    def sums(self, size: int = 1) -> tuple[float, float, float, float]:
        """Return (on, off, shared, slope): the noise of sums of `size` frequencies, in units of a frequency.

        on and off are the variances of a sum that includes the true value's frequency, and of one that does
        not. shared is the covariance of two sums without it, and slope its change if one sum includes it.
        """
        unit = (self.on_mean - self.off_mean) ** 2
        on, off, (shared, slope) = self.on_var / unit, self.off_var / unit, self.pair_covariances
        without = size * off + size * (size - 1) * shared
        own = on - off + 2 * (size - 1) * slope
        return without + own, without, size * size * shared, size * slope

    @cached_property
    def pair_covariances(self) -> tuple[float, float]:
        """Covariance of the frequencies of two values that are not true, and its change if one of them is.

        In units of a frequency, given the true value. Both are 0 for independent counters. If every report
        adds the same sum, the covariances with that sum are 0, which determines both.
        """
        if not self.constant_sum:
            return 0.0, 0.0
        others, unit = self.domain - 1, (self.on_mean - self.off_mean) ** 2
        on_off = -self.on_var / others
        off_off = -(self.off_var + on_off) / (others - 1) if others > 1 else 0.0
        return off_off / unit, (on_off - off_off) / unit

    @property
    def independent_variance(self) -> float:
        """The part of the variance of one report's estimate of a frequency 1/d that no other value shares."""
        on, off, shared, slope = self.sums()
        return off - shared + (1 + on - off - 2 * slope) / self.domain

    def uniform_variance(self, parts: int) -> float:
        """Return the variance of one report's estimate of the frequency 1/parts of domain/parts values."""
        return self.variance(1 / parts, self.domain // parts)

    # -- the auditor -----------------------------------------------------------------------

    @property
    def corners(self) -> range:
        return range(self.domain)

    # -- helpers ---------------------------------------------------------------------------

    @property
    @abstractmethod
    def cell_range(self) -> tuple[int, int]:
        """The least and the greatest number that one report can add to a counter."""

    def contribution_range(
        self, weights: FloatArray, times: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the range for independent counters; `times` is how many each weight represents."""
        low, high = self.cell_range
        ends = np.stack([weights * low, weights * high])
        if times is not None:
            ends = ends * times
        return ends.min(axis=0).sum(axis=-1), ends.max(axis=0).sum(axis=-1)

    def _set_moments(self, on: tuple[Fraction, Fraction], off: tuple[Fraction, Fraction]) -> None:
        self.on_mean, self.on_var = float(on[0]), float(on[1])
        self.off_mean, self.off_var = float(off[0]), float(off[1])
        if self.on_mean <= self.off_mean:
            raise SurveyError(
                f"these {self.name} tables are not informative: the true value must be likeliest"
            )

    def _set_probabilities(self, p: Fraction, q: Fraction) -> None:
        self._set_moments((p, p * (1 - p)), (q, q * (1 - q)))


_BLOCK_ROWS = 4096
"""Number of reports that are randomised at a time, so that their draws stay in the processor's cache."""


class BitVector(BitsPayload, FrequencyOracle):
    """An oracle whose payload has one bit for each value of the domain."""

    cell_range = (0, 1)

    def __init__(self, domain: int, parameters: MechanismParameters) -> None:
        super().__init__(domain, parameters)
        self._set_length(domain)

    def perturb_many(self, values: IntArray, rng: RandomSource) -> ByteArray:
        values = np.asarray(values, dtype=np.int64)
        payloads = np.empty((len(values), self.payload_bytes), dtype=np.uint8)
        for start in range(0, len(values), _BLOCK_ROWS):
            block = slice(start, start + _BLOCK_ROWS)
            payloads[block] = self._perturb_block(values[block], rng)
        return payloads

    @abstractmethod
    def _perturb_block(self, values: IntArray, rng: RandomSource) -> ByteArray:
        """Randomise one block of values."""
