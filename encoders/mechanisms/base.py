"""The one interface of every mechanism: the device's side, the collector's and the trainer's.

A mechanism randomises one value of a finite domain {0, ..., d-1}. Its payload is a fixed number of
bytes, its randomness a fixed number of bytes, and its probabilities are integers in `tables`, which
the plan carries: device, collector and trainer all compute from the same integers.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

from encoders.errors import Reason, ReportError, SurveyError
from encoders.randomness import RandomSource
from encoders.tables import require_private

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Tables = Mapping[str, object]
Number = TypeVar("Number", float, "NDArray[np.float64]")


MAX_DOMAIN = 1 << 16
"""Values of a question; more would hold little but noise."""

_CANONICAL = re.compile(r"0|[1-9][0-9]{0,19}")


class Mechanism(ABC):
    """A frequency oracle over the domain {0, ..., domain-1}.

    Attributes
    ----------
    name : str
        As in the literature: DE, SUE, OUE, SHE, THE.
    domain : int
        Number of values d, at least 2.
    tables : Mapping[str, object]
        The integers it runs on, as the plan stores them (decimal strings).
    payload_bytes, random_bytes : int
        Exact length of a payload, and of the randomness that one `perturb` consumes.
    ratio : Fraction
        Exact worst likelihood ratio over all inputs and outputs: e^(realised epsilon).
    on_mean, on_var, off_mean, off_var : float
        Mean and variance of what one report adds to the cell of its owner's value, and to any other
        cell. For pure protocols: p, p(1-p), q, q(1-q).
    constant_sum : bool
        Whether every report adds the same sum over all cells, which binds them; otherwise the cells
        are independent given the value.
    """

    name: ClassVar[str]
    constant_sum: ClassVar[bool] = False
    domain: int
    tables: Tables
    payload_bytes: int
    random_bytes: int
    ratio: Fraction
    on_mean: float
    on_var: float
    off_mean: float
    off_var: float

    def __init__(self, domain: int, tables: Tables) -> None:
        if type(domain) is not int or not 2 <= domain <= MAX_DOMAIN:
            raise SurveyError(f"{self.name} needs a domain of 2 to {MAX_DOMAIN} values")
        self.domain, self.tables = domain, dict(tables)

    def __repr__(self) -> str:
        return f"{self.name}(domain={self.domain})"

    # -- the survey's author ---------------------------------------------------------------

    @classmethod
    @abstractmethod
    def design(cls, domain: int, epsilon: Decimal, option: Decimal | None = None) -> Self:
        """Choose the tables that spend at most `epsilon`; `option` is THE's threshold."""

    def prove(self, epsilon: Decimal) -> None:
        """Raise :class:`~encoders.errors.PrivacyError` unless the exact ratio is <= e^epsilon."""
        require_private(self.ratio, epsilon)

    # -- the device ------------------------------------------------------------------------

    @abstractmethod
    def perturb(self, value: int, rng: RandomSource) -> bytes:
        """Randomise `value` (0 <= value < domain): `payload_bytes` long, no branch on the value."""

    # -- simulated populations -------------------------------------------------------------

    @abstractmethod
    def perturb_many(self, values: NDArray[np.int64], rng: RandomSource) -> NDArray[np.uint8]:
        """Randomise a population, bit-equal to calling `perturb` on each value in turn.

        Parameters
        ----------
        values : int array, shape (m,)
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
        if not self._possible(payload):
            raise ReportError(Reason.BAD_PAYLOAD, f"no {self.name} device sends this")

    @abstractmethod
    def _possible(self, payload: bytes) -> bool:
        """Tell whether a payload of the right length can occur."""

    @abstractmethod
    def tally(self, payloads: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Sum checked payloads, shape (m, payload_bytes), to the counters they add, shape (domain,)."""

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
            Unbiased counts, (c_v - n q)/(p - q) for pure protocols (001, section 2.2.1), possibly
            negative, and their standard errors at the estimated frequencies.
        """
        import numpy as np

        slope = self.on_mean - self.off_mean
        counts = np.asarray((totals - n * self.off_mean) / slope, dtype=np.float64)
        share: NDArray[np.float64] = np.clip(counts / max(n, 1), 0.0, 1.0)
        stderr: NDArray[np.float64] = np.sqrt(n * self.variance(share))
        return counts, stderr

    def variance(self, frequency: Number) -> Number:
        """Return the variance that one report has as an estimate of a cell's true frequency.

        The reporter is drawn at random from the population, so sampling counts too; for pure
        protocols P(1-P)/(p-q)^2 with P = q + (p-q) f (Wang et al. 2017, equation 4). Takes a float or
        a float array.
        """
        slope = self.on_mean - self.off_mean
        within = frequency * self.on_var + (1 - frequency) * self.off_var
        return frequency * (1 - frequency) + within / (slope * slope)

    # -- the auditor -----------------------------------------------------------------------

    @abstractmethod
    def likelihood(self, payload: bytes) -> list[Fraction]:
        """Return P[payload | value] for every value of the domain, exactly."""

    # -- helpers ---------------------------------------------------------------------------

    def _set_moments(self, on: tuple[Fraction, Fraction], off: tuple[Fraction, Fraction]) -> None:
        """Set the moments from exact (mean, variance) pairs."""
        self.on_mean, self.on_var = float(on[0]), float(on[1])
        self.off_mean, self.off_var = float(off[0]), float(off[1])
        if self.on_mean <= self.off_mean:
            raise SurveyError(f"these {self.name} tables say nothing: the truth must be the likeliest")

    def _set_probabilities(self, p: Fraction, q: Fraction) -> None:
        """Set the moments of a pure protocol."""
        self._set_moments((p, p * (1 - p)), (q, q * (1 - q)))

    def _integer(self, key: str, low: int, high: int) -> int:
        """Read one integer of the tables, low <= it <= high, written as a decimal string."""
        return read_integer(self.tables.get(key), f"{self.name} table {key!r}", low, high)


def read_integer(text: object, what: str, low: int, high: int) -> int:
    """Read a canonical decimal string (no sign, no leading zero) within [low, high]."""
    if not (isinstance(text, str) and _CANONICAL.fullmatch(text)):
        raise SurveyError(f"{what} must be a decimal string")
    if not low <= int(text) <= high:
        raise SurveyError(f"{what} is out of range")
    return int(text)


def check_keys(tables: Tables, keys: set[str], name: str) -> None:
    """Refuse tables with other keys than the mechanism reads."""
    if set(tables) != keys:
        raise SurveyError(f"{name} tables need exactly the keys {sorted(keys)}")


def width_of(domain: int) -> int:
    """Return how many bytes hold an index of the domain: 1 or 2."""
    return 1 if domain <= 256 else 2
