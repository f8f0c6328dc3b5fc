"""The one interface of every mechanism: the device's side, the collector's and the trainer's.

A mechanism randomises one answer. Its payload is a fixed number of bytes, its randomness a fixed number
of bytes, and its probabilities are integers in `tables`, which the plan carries: device, collector and
trainer all compute from the same integers. Frequency oracles ask which of d values holds; mechanisms
for numbers are in numeric.py.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from encoders.errors import Reason, ReportError, SurveyError
from encoders.mechanisms.support_counters import SupportCounters
from encoders.probability_tables import MAX_LAPLACE_WEIGHTS, WORD, require_private
from encoders.randomness import RandomSource

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MechanismParameters = Mapping[str, object]
Number = TypeVar("Number", float, "NDArray[np.float64]")


MAX_DOMAIN = 1 << 16
"""Values of a question; more would hold little but noise."""

_CANONICAL = re.compile(r"0|[1-9][0-9]{0,19}")


class Mechanism(ABC):
    """One way to randomise an answer, both sides of it.

    Attributes
    ----------
    name : str
        As in the literature: DE, SUE, OUE, SHE, THE, SS for frequencies; laplace, onebit, ... for numbers.
    multivariate : bool
        Whether a value is a tuple: one for each of several numbers asked at once.
    tables : Mapping[str, object]
        The integers it runs on, as the plan stores them (decimal strings).
    cells : int
        Number of counters that a report adds to.
    payload_bytes, random_bytes : int
        Exact length of a payload, and of the randomness that one `perturb` consumes.
    ratio : Fraction
        Exact worst likelihood ratio over all inputs and outputs: e^(realised epsilon).
    """

    name: ClassVar[str]
    multivariate: ClassVar[bool] = False
    tables: MechanismParameters
    cells: int
    payload_bytes: int
    random_bytes: int
    ratio: Fraction

    # -- the survey's author ---------------------------------------------------------------

    def prove(self, epsilon: Decimal) -> None:
        """Raise :class:`~encoders.errors.PrivacyError` unless the exact ratio is <= e^epsilon."""
        require_private(self.ratio, epsilon)

    # -- the device ------------------------------------------------------------------------

    @abstractmethod
    def perturb(self, value: Any, rng: RandomSource) -> bytes:
        """Randomise an answer: `payload_bytes` long, no branch on the value.

        What a value is: for a frequency oracle an int below its domain; for a number its code and
        the label's, code * k + c (for several numbers at once, as many of them).
        """

    @abstractmethod
    def describe_output(self, value: Any) -> str:
        """Say in words, with probabilities, what may be sent where `value` is the true answer.

        For the person at the device; it tells of the truth as much as the value does.
        """

    # -- simulated populations -------------------------------------------------------------

    @abstractmethod
    def perturb_many(self, values: NDArray[np.int64], rng: RandomSource) -> NDArray[np.uint8]:
        """Randomise a population, bit-equal to calling `perturb` on each value in turn.

        Parameters
        ----------
        values : int array, shape (m,), or (m, numbers) for several numbers at once
        rng : RandomSource
            ``m * random_bytes`` bytes are taken.

        Returns
        -------
        uint8 array, shape (m, payload_bytes)
            The payloads as they would be sent.
        """

    # -- the collector ---------------------------------------------------------------------

    def check(self, payload: bytes) -> None:
        """Raise :class:`~encoders.errors.ReportError` on anything a device could not have sent."""
        if len(payload) != self.payload_bytes:
            raise ReportError(Reason.BAD_PAYLOAD, f"{self.name} payloads have {self.payload_bytes} bytes")
        if not self._is_valid(payload):
            raise ReportError(Reason.BAD_PAYLOAD, f"no {self.name} device sends this")

    @abstractmethod
    def _is_valid(self, payload: bytes) -> bool:
        """Tell whether a payload of the right length can occur."""

    @abstractmethod
    def are_valid(self, payloads: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Tell for each of many payloads, shape (m, payload_bytes), whether it can occur; shape (m,)."""

    @abstractmethod
    def tally(self, payloads: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Sum checked payloads, shape (m, payload_bytes), to the counters they add, shape (cells,)."""

    @abstractmethod
    def contribution(self, payload: bytes) -> list[int]:
        """Return what one checked payload adds to the counters: its tally, without numpy."""

    @property
    def support_counters(self) -> SupportCounters | None:
        """What is known of a payload of bits, whose support can be tested; None for others."""
        return None

    @abstractmethod
    def contribution_range(
        self, weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how little and how much one payload that passes `check` can add to sums over the counters.

        What a device that lies can do, whatever it answers; exact, and in closed domain.

        Parameters
        ----------
        weights : float array, shape (..., cells)
            Of the counters in each sum.

        Returns
        -------
        least, most : float arrays, shape (...)
        """

    # -- the auditor -----------------------------------------------------------------------

    @property
    @abstractmethod
    def corners(self) -> Sequence[Any]:
        """Values whose laws every other value's law is a mixture of: the worst ratio is among them."""

    @abstractmethod
    def likelihood(self, payload: bytes) -> list[Fraction]:
        """Return P[payload | value] for every one of the `corners`, exactly."""

    # -- helpers ---------------------------------------------------------------------------

    def _integer(self, key: str, low: int, high: int) -> int:
        """Read one integer of the tables, low <= it <= high, written as a decimal string."""
        return read_integer(self.tables.get(key), f"{self.name} table {key!r}", low, high)


class FrequencyOracle(Mechanism):
    """A mechanism over the domain {0, ..., domain-1}, from whose reports frequencies are estimated.

    Attributes
    ----------
    domain : int
        Number of values d, at least 2; also the number of counters.
    on_mean, on_var, off_mean, off_var : float
        Mean and variance of what one report adds to the cell of its owner's value, and to any other
        cell. For pure protocols: p, p(1-p), q, q(1-q).
    constant_sum : bool
        Whether every report adds the same sum over all cells, which binds them; otherwise the cells
        are independent given the value.
    """

    constant_sum: ClassVar[bool] = False
    domain: int
    on_mean: float
    on_var: float
    off_mean: float
    off_var: float

    def __init__(self, domain: int, tables: MechanismParameters) -> None:
        if type(domain) is not int or not 2 <= domain <= MAX_DOMAIN:
            raise SurveyError(f"{self.name} needs a domain of 2 to {MAX_DOMAIN} values")
        self.domain = self.cells = domain
        self.tables = dict(tables)

    def __repr__(self) -> str:
        return f"{self.name}(domain={self.domain})"

    @classmethod
    @abstractmethod
    def design(cls, domain: int, epsilon: Decimal, option: Decimal | None = None) -> Self:
        """Choose the tables that spend at most `epsilon`; `option` is THE's threshold."""

    # -- the trainer -----------------------------------------------------------------------

    def estimate(self, totals: NDArray[np.int64], n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Estimate how many of `n` reporters hold each value.

        Parameters
        ----------
        totals : int array, shape (domain,)
            Sum of the tallies of `n` reports.
        n : int

        Returns
        -------
        counts, stderr : float arrays, shape (domain,)
            Unbiased counts, (c_v - n q)/(p - q) for pure protocols (Yilmaz et al. 2019, section 2.2.1),
            possibly negative, and their standard errors at the estimated frequencies.
        """
        import numpy as np

        slope = self.on_mean - self.off_mean
        counts = np.asarray((totals - n * self.off_mean) / slope, dtype=np.float64)
        share: NDArray[np.float64] = np.clip(counts / max(n, 1), 0.0, 1.0)
        stderr: NDArray[np.float64] = np.sqrt(n * self.variance(share))
        return counts, stderr

    def variance(self, frequency: Number, size: int = 1) -> Number:
        """Return the variance that one report has as an estimate of a cell's true frequency.

        The reporter is drawn at random from the population, so sampling counts too; for pure
        protocols P(1-P)/(p-q)^2 with P = q + (p-q) f (Wang et al. 2017, equation 4). Takes a float or
        a float array; `size` cells may be taken for one, see `sums`.
        """
        on, off, _, _ = self.sums(size)
        return frequency * (1 - frequency) + frequency * on + (1 - frequency) * off

    def covariance(self, one: Number, other: Number, size: int = 1) -> Number:
        """Return the covariance that one report has as an estimate of two cells' true frequencies."""
        _, _, shared, slope = self.sums(size)
        return shared + slope * (one + other) - one * other

    def sums(self, size: int = 1) -> tuple[float, float, float, float]:
        """Return the noise of sums over `size` cells each, given the reporter's value, in frequencies.

        Returns
        -------
        on, off : float
            Variances of the sum with the reporter's own cell, and of one without.
        shared, slope : float
            The covariance of two sums without it, and what it adds if one of them has it.
        """
        unit = (self.on_mean - self.off_mean) ** 2
        on, off, (shared, slope) = self.on_var / unit, self.off_var / unit, self.pair_covariances
        without = size * off + size * (size - 1) * shared
        own = on - off + 2 * (size - 1) * slope
        return without + own, without, size * size * shared, size * slope

    @cached_property
    def pair_covariances(self) -> tuple[float, float]:
        """Covariance of two cells of neither's owner, and what owning one of them adds to it.

        In units of a frequency, given the value. Independent cells have none. If every report adds
        the same sum, the covariances with that sum vanish, which fixes both.
        """
        if not self.constant_sum:
            return 0.0, 0.0
        others, unit = self.domain - 1, (self.on_mean - self.off_mean) ** 2
        on_off = -self.on_var / others
        off_off = -(self.off_var + on_off) / (others - 1) if others > 1 else 0.0
        return off_off / unit, (on_off - off_off) / unit

    def uniform_variance(self, parts: int) -> float:
        """Return the variance of one report's estimate of a share of 1/parts: of domain/parts values."""
        return self.variance(1 / parts, self.domain // parts)

    # -- the auditor -----------------------------------------------------------------------

    @property
    def corners(self) -> range:
        """Every value of the domain."""
        return range(self.domain)

    # -- helpers ---------------------------------------------------------------------------

    @property
    @abstractmethod
    def cell_range(self) -> tuple[int, int]:
        """Least and most that one report can add to a counter."""

    def contribution_range(
        self, weights: NDArray[np.float64], times: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what one payload can add to sums; see :meth:`Mechanism.contribution_range`.

        Here for counters that reach their range independently. Counters are alike, so `times` may say
        that a weight stands for as many of them.
        """
        import numpy as np

        low, high = self.cell_range
        ends = np.stack([weights * low, weights * high])
        if times is not None:
            ends = ends * times
        return ends.min(axis=0).sum(axis=-1), ends.max(axis=0).sum(axis=-1)

    def _set_moments(self, on: tuple[Fraction, Fraction], off: tuple[Fraction, Fraction]) -> None:
        """Set the moments from exact (mean, variance) pairs."""
        self.on_mean, self.on_var = float(on[0]), float(on[1])
        self.off_mean, self.off_var = float(off[0]), float(off[1])
        if self.on_mean <= self.off_mean:
            raise SurveyError(f"these {self.name} tables say nothing: the truth must be the likeliest")

    def _set_probabilities(self, p: Fraction, q: Fraction) -> None:
        """Set the moments of a pure protocol."""
        self._set_moments((p, p * (1 - p)), (q, q * (1 - q)))


def read_integer(text: object, what: str, low: int, high: int) -> int:
    """Read a canonical decimal string (no sign, no leading zero) within [low, high]."""
    if not (isinstance(text, str) and _CANONICAL.fullmatch(text)):
        raise SurveyError(f"{what} must be a decimal string")
    if not low <= int(text) <= high:
        raise SurveyError(f"{what} is out of range")
    return int(text)


def read_weights(texts: object, what: str) -> tuple[int, ...]:
    """Read a table of the weights of 0, 1, ..., K, which add up to 2^64 with each sign of 1, ..., K."""
    if not (isinstance(texts, (list, tuple)) and 2 <= len(texts) <= MAX_LAPLACE_WEIGHTS):
        raise SurveyError(f"{what} must be a list of at least two decimal strings")
    if set(map(type, texts)) != {str}:
        raise SurveyError(f"{what} must be a decimal string")
    return _parse_weights(tuple(texts), what)


@lru_cache(maxsize=8)
def _parse_weights(texts: tuple[str, ...], what: str) -> tuple[int, ...]:
    """Parse once what many questions of a plan share: a plan may come from a stranger."""
    weights = tuple(read_integer(text, what, 1, WORD - 1) for text in texts)
    if weights[0] + 2 * sum(weights[1:]) != WORD:
        raise SurveyError(f"{what} does not add up to 2^64")
    return weights


def check_keys(tables: MechanismParameters, keys: set[str], name: str) -> None:
    """Refuse tables with other keys than the mechanism reads."""
    if set(tables) != keys:
        raise SurveyError(f"{name} tables need exactly the keys {sorted(keys)}")


def index_bytes(domain: int) -> int:
    """Return how many bytes hold an index of the domain: 1 or 2."""
    return 1 if domain <= 256 else 2


def unpack_indices(payloads: NDArray[np.uint8]) -> NDArray[Any]:
    """Read payloads of one little-endian number each, shape (m, bytes), as numbers, shape (m,)."""
    import numpy as np

    return np.ascontiguousarray(payloads).view(f"<u{payloads.shape[1]}").ravel()
