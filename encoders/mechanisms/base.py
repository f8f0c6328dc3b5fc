"""What all mechanisms share: the interface of their users, and the readers of their parameters.

A mechanism randomises one answer. The lengths of its payload and of its randomness are fixed. Its
probabilities are integers in `parameters`, which are part of the plan: device, collector and trainer compute
from the same integers.
"""

from __future__ import annotations

import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from encoders.composition import Message, round_up
from encoders.epsilon_proof import require_private
from encoders.errors import Reason, ReportError, SurveyError
from encoders.late_imports import LateImport
from encoders.lazy_numpy import BoolArray, ByteArray, FloatArray, IntArray, NDArray, np
from encoders.probability_tables import MAX_LAPLACE_WEIGHTS, WORD
from encoders.randomness import RandomSource

if TYPE_CHECKING:
    from encoders.mechanisms.support_counters import SupportCounters

TABLE_DESIGN = LateImport("encoders.table_design")  # for authors
_SUPPORT_COUNTERS = LateImport("encoders.mechanisms.support_counters:SupportCounters")  # for collectors
MechanismParameters = Mapping[str, object]
"""Parameters of a mechanism as a plan stores them: integers and lists of integers, as decimal strings."""
BitsLaw = tuple[int, Fraction, tuple[Fraction, Fraction], int | None]
"""The fields of :class:`~encoders.mechanisms.support_counters.SupportCounters`."""
_CANONICAL_INTEGER = re.compile(r"0|[1-9][0-9]{0,19}")


def read_integer(text: object, what: str, low: int, high: int) -> int:
    """Parse an integer without sign and leading zeros; raise SurveyError unless it is in [low, high]."""
    if not (isinstance(text, str) and _CANONICAL_INTEGER.fullmatch(text)):
        raise SurveyError(f"{what} must be a decimal string")
    if not low <= int(text) <= high:
        raise SurveyError(f"{what} must be from {low} to {high}")
    return int(text)


def read_weights(texts: object, what: str) -> tuple[int, ...]:
    """Return the weights of the magnitudes 0, 1, ..., K; over both signs of 1, ..., K they add up to 2^64."""
    if not (isinstance(texts, (list, tuple)) and 2 <= len(texts) <= MAX_LAPLACE_WEIGHTS):
        raise SurveyError(f"{what} must be a list of 2 to {MAX_LAPLACE_WEIGHTS:,} decimal strings")
    if set(map(type, texts)) != {str}:
        raise SurveyError(f"{what} must be a decimal string")
    return _parse_weights(tuple(texts), what)


@lru_cache(maxsize=8)
def _parse_weights(texts: tuple[str, ...], what: str) -> tuple[int, ...]:
    """Parse weights once for all questions that share them, because an untrusted plan may be large."""
    weights = tuple(read_integer(text, what, 1, WORD - 1) for text in texts)
    if weights[0] + 2 * sum(weights[1:]) != WORD:
        raise SurveyError(f"{what} does not add up to 2^64")
    return weights


Number = TypeVar("Number", float, "FloatArray")


class CountedMechanism(ABC):
    """What a collector and a trainer use of a mechanism: it checks payloads and adds them to counters."""

    name: ClassVar[str]
    """As in the literature: DE, SUE, OUE, SHE, THE, SS for frequencies; laplace, onebit, ... for numbers;
    count_table for the message of a silo."""
    cells: int
    payload_bytes: int

    def check(self, payload: bytes) -> None:
        if len(payload) != self.payload_bytes:
            why = f"{self.name} payloads have {self.payload_bytes} bytes: send the client's bytes"
            raise ReportError(Reason.BAD_PAYLOAD, why)
        if not self._is_valid(payload):
            raise ReportError(Reason.BAD_PAYLOAD, self.refusal)

    @property
    def refusal(self) -> str:
        """Why a payload of the right length is refused, without anything from the payload."""
        return f"no {self.name} device sends this"

    @abstractmethod
    def _is_valid(self, payload: bytes) -> bool:
        """Return whether a payload of the right length can occur."""

    @abstractmethod
    def are_valid(self, payloads: ByteArray) -> BoolArray:
        """Return whether each of the payloads, shape (m, payload_bytes), can occur; shape (m,)."""

    @abstractmethod
    def tally(self, payloads: ByteArray) -> IntArray:
        """Return the sum of the tallies of checked payloads (m, payload_bytes), shape (cells,)."""

    @abstractmethod
    def contribution(self, payload: bytes) -> list[int]:
        """Return the tally of one checked payload, which is added to the counters; without numpy."""

    @property
    def support_counters(self) -> SupportCounters | None:
        """The support counters of a payload of bits; None for other payloads."""
        described = self._describe_bits()
        found: SupportCounters | None = _SUPPORT_COUNTERS.load()(*described) if described else None
        return found

    def _describe_bits(self) -> BitsLaw | None:
        return None

    @abstractmethod
    def contribution_range(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least and the greatest amount that one payload can add to weighted sums of counters.

        This is the effect of a dishonest device, whose payload must pass `check`: exact and in closed form.
        `weights` has the shape (..., cells). The least and the most have the shape (...).
        """


class Mechanism(CountedMechanism):
    """A mechanism of people's answers: randomises one answer, and computes exact likelihoods."""

    multivariate: ClassVar[bool] = False
    """Whether a value is a tuple with one entry for each of several numbers."""
    parameters: MechanismParameters
    """The integers of the mechanism's tables, as decimal strings, as the plan stores them."""
    random_bytes: int
    """Exact length of the randomness that one `perturb` takes."""
    ratio: Fraction
    """Exact worst likelihood ratio over all inputs and outputs: e^(realised epsilon)."""

    # -- the survey's author ---------------------------------------------------------------

    def prove(self, epsilon: Decimal) -> None:
        require_private(self.ratio, epsilon)

    @property
    def message(self) -> Message:
        """What a relay's promise needs to know of one report; see :mod:`encoders.composition`."""
        return Message(round_up(self.ratio))

    # -- the device ------------------------------------------------------------------------

    @abstractmethod
    def perturb(self, value: Any, rng: RandomSource) -> bytes:
        """Randomise an answer, without a branch on the value; return the payload.

        For a frequency oracle, `value` is an index below its domain. For a number, it is code * k + c, where
        c is the label's code; for several numbers at once, a tuple of these. `random_bytes` bytes are taken.
        """

    @abstractmethod
    def describe_output(self, value: Any) -> str:
        """Describe in words what may be sent for `value`; only the person may see it."""

    # -- simulated populations -------------------------------------------------------------

    @abstractmethod
    def perturb_many(self, values: IntArray, rng: RandomSource) -> ByteArray:
        """Randomise m answers, (m,) or (m, numbers), as `perturb` does; return uint8 (m, payload_bytes)."""

    # -- the auditor -----------------------------------------------------------------------

    @property
    @abstractmethod
    def corners(self) -> Sequence[Any]:
        """Values of whose distributions that of any other value is a mixture; two have the worst ratio."""

    @abstractmethod
    def likelihood(self, payload: bytes) -> list[Fraction]:
        """Return P[payload | value] exactly, for each of the `corners`."""

    # -- helpers ---------------------------------------------------------------------------

    def _require_keys(self, *keys: str) -> None:
        if set(self.parameters) != set(keys):
            raise SurveyError(f"{self.name} tables need exactly the keys {sorted(keys)}")

    def _integer(self, key: str, low: int, high: int) -> int:
        return read_integer(self.parameters.get(key), f"{self.name} table {key!r}", low, high)


class IndexPayload(Mechanism):
    """A mechanism whose payload is one index below `indices`, little-endian in `payload_bytes` bytes."""

    indices: int

    def _is_valid(self, payload: bytes) -> bool:
        return int.from_bytes(payload, "little") < self.indices

    def are_valid(self, payloads: ByteArray) -> BoolArray:
        return self._unpack(payloads) < self.indices

    def _set_indices(self, indices: int) -> None:
        self.indices = indices
        self.payload_bytes = 1 if indices <= 256 else 2

    def _unpack(self, payloads: ByteArray) -> NDArray[Any]:
        return np.ascontiguousarray(payloads).view(f"<u{self.payload_bytes}").ravel()


class BitsPayload(Mechanism):
    """A mechanism whose payload is `cells` bits: bit i % 8 of byte i // 8; unused bits are 0."""

    def _set_length(self, length: int) -> None:
        self.cells = length
        self.payload_bytes = (length + 7) // 8
        self._mask = (1 << length) - 1

    def _is_valid(self, payload: bytes) -> bool:
        return int.from_bytes(payload, "little") <= self._mask

    def are_valid(self, payloads: ByteArray) -> BoolArray:
        return payloads[:, -1] <= self._mask >> 8 * (self.payload_bytes - 1)

    def tally(self, payloads: ByteArray) -> IntArray:
        """Return the number of ones at every position, computed from a histogram of each byte."""
        table = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
        bits_of = table.astype(np.int64)
        columns = [np.bincount(column, minlength=256) @ bits_of for column in payloads.T]
        return np.concatenate(columns)[: self.cells].astype(np.int64, copy=False)

    def contribution(self, payload: bytes) -> list[int]:
        vector = int.from_bytes(payload, "little")
        return [vector >> index & 1 for index in range(self.cells)]


class IntegerVectorPayload(Mechanism):
    """A mechanism whose payload is a vector of 16-bit integers within `component_range`, one per counter."""

    component_range: tuple[int, int]

    def _read_weights(self) -> tuple[int, ...]:
        return read_weights(self.parameters["weights"], f"{self.name} table 'weights'")

    def _is_valid(self, payload: bytes) -> bool:
        low, high = self.component_range
        vector = self.contribution(payload)
        return low <= min(vector) and max(vector) <= high

    def are_valid(self, payloads: ByteArray) -> BoolArray:
        low, high = self.component_range
        vectors = np.ascontiguousarray(payloads).view("<i2")
        return np.asarray(((low <= vectors) & (vectors <= high)).all(axis=1))

    def tally(self, payloads: ByteArray) -> IntArray:
        return np.asarray(np.ascontiguousarray(payloads).view("<i2").sum(axis=0, dtype=np.int64))

    def contribution(self, payload: bytes) -> list[int]:
        return list(struct.unpack(f"<{self.cells}h", payload))
