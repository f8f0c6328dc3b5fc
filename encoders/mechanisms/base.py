"""The one interface of every mechanism: the device's side, the collector's and the trainer's.

A mechanism randomises one answer. Its payload is a fixed number of bytes, its randomness a fixed number
of bytes, and its probabilities are integers in `parameters`, which the plan carries: device, collector and
trainer all compute from the same integers. Frequency oracles ask which of d values holds; mechanisms
for numbers are in numeric_base.py.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

from encoders.arrays import BoolArray, ByteArray, FloatArray, IntArray, NDArray, np
from encoders.epsilon_proof import require_private
from encoders.errors import Reason, ReportError
from encoders.mechanisms.parameters import MechanismParameters, read_integer
from encoders.mechanisms.support_counters import SupportCounters
from encoders.randomness import RandomSource

Number = TypeVar("Number", float, "FloatArray")


class Mechanism(ABC):
    """One way to randomise an answer, both sides of it.

    Attributes
    ----------
    name : str
        As in the literature: DE, SUE, OUE, SHE, THE, SS for frequencies; laplace, onebit, ... for numbers.
    multivariate : bool
        Whether a value is a tuple: one for each of several numbers asked at once.
    parameters : Mapping[str, object]
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
    parameters: MechanismParameters
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

        For the person at the device; it reveals the truth as much as the value does.
        """

    # -- simulated populations -------------------------------------------------------------

    @abstractmethod
    def perturb_many(self, values: IntArray, rng: RandomSource) -> ByteArray:
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
        """Return whether a payload of the right length can occur."""

    @abstractmethod
    def are_valid(self, payloads: ByteArray) -> BoolArray:
        """Return for each of many payloads, shape (m, payload_bytes), whether it can occur; shape (m,)."""

    @abstractmethod
    def tally(self, payloads: ByteArray) -> IntArray:
        """Sum checked payloads, shape (m, payload_bytes), to the counters they add, shape (cells,)."""

    @abstractmethod
    def contribution(self, payload: bytes) -> list[int]:
        """Return what one checked payload adds to the counters: its tally, without numpy."""

    @property
    def support_counters(self) -> SupportCounters | None:
        """What is known of a payload of bits, whose support can be tested; None for others."""
        return None

    @abstractmethod
    def contribution_range(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
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
        return read_integer(self.parameters.get(key), f"{self.name} table {key!r}", low, high)


class IndexPayload(Mechanism):
    """A mechanism whose payload is one index below `indices`, little-endian in `payload_bytes` bytes."""

    indices: int

    def _is_valid(self, payload: bytes) -> bool:
        return int.from_bytes(payload, "little") < self.indices

    def are_valid(self, payloads: ByteArray) -> BoolArray:
        """Return which payloads can occur; see :meth:`Mechanism.are_valid`."""
        return unpack_indices(payloads) < self.indices


class IntegerVectorPayload(Mechanism):
    """A mechanism whose payload is a vector of 16-bit integers within `component_range`, one per counter."""

    component_range: tuple[int, int]

    def _is_valid(self, payload: bytes) -> bool:
        low, high = self.component_range
        vector = self.contribution(payload)
        return low <= min(vector) and max(vector) <= high

    def are_valid(self, payloads: ByteArray) -> BoolArray:
        """Return which payloads can occur; see :meth:`Mechanism.are_valid`."""
        low, high = self.component_range
        vectors = np.ascontiguousarray(payloads).view("<i2")
        return np.asarray(((low <= vectors) & (vectors <= high)).all(axis=1))

    def tally(self, payloads: ByteArray) -> IntArray:
        """Sum the components; see :meth:`Mechanism.tally`."""
        return np.asarray(np.ascontiguousarray(payloads).view("<i2").sum(axis=0, dtype=np.int64))

    def contribution(self, payload: bytes) -> list[int]:
        """List the components; see :meth:`Mechanism.contribution`."""
        return list(struct.unpack(f"<{self.cells}h", payload))


def index_bytes(domain: int) -> int:
    """Return how many bytes hold an index of the domain: 1 or 2."""
    return 1 if domain <= 256 else 2


def unpack_indices(payloads: ByteArray) -> NDArray[Any]:
    """Read payloads of one little-endian number each, shape (m, bytes), as numbers, shape (m,)."""
    return np.ascontiguousarray(payloads).view(f"<u{payloads.shape[1]}").ravel()
