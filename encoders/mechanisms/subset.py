"""Subset selection (SS): a set of omega values that contains the true value with a higher probability."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import repeat
from math import comb
from operator import add
from typing import TYPE_CHECKING, ClassVar, Self

from encoders.errors import SurveyError
from encoders.lazy_numpy import BoolArray, ByteArray, FloatArray, IntArray, NDArray, np
from encoders.mechanisms.base import TABLE_DESIGN, BitsLaw, MechanismParameters
from encoders.mechanisms.direct import cell_size, multiply_shift
from encoders.mechanisms.frequency_oracle import BitVector
from encoders.mechanisms.probability_text import percent
from encoders.probability_tables import WORD
from encoders.randomness import RandomSource

if TYPE_CHECKING:
    Words = NDArray[np.uint64]

MAX_SUBSET_DOMAIN = 256
"""Largest domain: a set is at most 32 bytes of a report. Sets of up to 4 out of 256 values are allowed."""
MAX_COMBINATIONS = 1 << 32
"""Largest number of combinations: the numbers of draws per combination differ by at most a share of 2^-32."""

_DRAWS = struct.Struct("<QQ")
_MAX_LISTED_SETS = 1 << 16
"""Largest number of sets that are listed in a table, to randomise a population."""


class SS(BitVector):
    """Reports a set of omega values that contains the true value with probability p, any other with q.

    p = omega e^eps/(omega e^eps + d - omega) (Ye and Barg 2018; Wang et al. 2016), as an integer out of 2^64.
    There are two 64-bit draws. If the first is below ``parameters["keep"]``, the true value is in the set.
    The second selects the other members, omega - 1 or omega of the d - 1 other values, as the number of a
    combination by multiply-shift. Nothing is redrawn, and the steps do not depend on the draws. omega = 1 is
    DE.

    The other values of v are numbered from v + 1 on, around the domain, and combinations are in
    colexicographic order. So omega consecutive values are the first combination of their first value, and the
    last combination of the value after them. Therefore some set has the most draws for one true value and the
    fewest for another, and `ratio` is attained for all d and omega. With v as the last number, d - 1, the
    sets are in this order too: first all without v, then all with v.

    The payload is the set, see :class:`BitVector`.
    """

    name: ClassVar[str] = "SS"
    constant_sum: ClassVar[bool] = True
    random_bytes = 16

    def __init__(self, domain: int, parameters: MechanismParameters) -> None:
        super().__init__(domain, parameters)
        if domain > MAX_SUBSET_DOMAIN:
            most = f"SS asks for at most {MAX_SUBSET_DOMAIN} values, not {domain}"
            raise SurveyError(f'{most}: choose "auto" or OUE, or ask for fewer')
        self._require_keys("keep", "size")
        self._keep = self._integer("keep", 1, WORD - 1)
        self._size = size = self._integer("size", 1, domain - 1)
        self._combination_counts = comb(domain - 1, size), comb(domain - 1, size - 1)
        if max(self._combination_counts) > MAX_COMBINATIONS:
            raise SurveyError(f"sets of {size} out of {domain} values are too many: 2^32 are allowed")
        kept, left = Fraction(self._keep, WORD), Fraction(WORD - self._keep, WORD)
        outputs = [
            chance * words
            for chance, count in ((left, self._combination_counts[0]), (kept, self._combination_counts[1]))
            for words in (WORD // count, -(-WORD // count))
        ]
        self.ratio = max(outputs) / min(outputs)
        self._set_probabilities(kept, (size - kept) / (domain - 1))

    @classmethod
    def design(cls, domain: int, epsilon: Decimal, option: Decimal | None = None) -> Self:
        """Return the mechanism with the least variance of a frequency of 1/d, over all sizes of the set."""
        keep_threshold = TABLE_DESIGN.load().keep_threshold
        candidates = [
            cls(domain, {"keep": str(keep_threshold(domain, epsilon, size)), "size": str(size)})
            for size in range(1, domain)
            if max(comb(domain - 1, size), comb(domain - 1, size - 1)) <= MAX_COMBINATIONS
        ]
        return min(candidates, key=lambda each: each.variance(1 / domain))

    def perturb(self, value: int, rng: RandomSource) -> bytes:
        """Randomise one value; both draws are always used, and every position is computed."""
        keep_draw, draw = _DRAWS.unpack(rng.take(16))
        own: bool = keep_draw < self._keep
        rank = (draw * self._combination_counts[own] >> 64) + own * self._combination_counts[0]
        left, members = self._size, 0
        for row in reversed(_binomials(self.domain, left)):
            chosen = rank >= row[left]
            rank -= row[left] * chosen
            left -= chosen
            members += members + chosen
        value = int(value)
        around = members << (value + 1) | members >> (self.domain - 1 - value)
        return (around & self._mask).to_bytes(self.payload_bytes, "little")

    def describe_output(self, value: int) -> str:
        kept = Fraction(self._keep, WORD)
        other = percent((self._size - kept) / (self.domain - 1))
        true = f"the true answer is among them with probability {percent(kept)}"
        return f"{self._size} of the {self.domain} possible answers; {true}, every other with {other}"

    def _perturb_block(self, values: IntArray, rng: RandomSource) -> ByteArray:
        draws = np.frombuffer(rng.take(16 * len(values)), "<u8").reshape(-1, 2)
        own = draws[:, 0] < np.uint64(self._keep)
        without, within = (multiply_shift(draws[:, 1], count) for count in self._combination_counts)
        ranks = np.where(own, within + np.uint64(self._combination_counts[0]), without)
        words = np.zeros((len(values), self._one_value.shape[1]), dtype=np.uint64)
        for member in self._members(ranks):
            words |= self._one_value.take(values + 1 + member, axis=0)
        return words.astype("<u8", copy=False).view(np.uint8)[:, : self.payload_bytes]

    def _members(self, ranks: Words) -> Iterable[IntArray | ByteArray]:
        """Return each member of the sets with these numbers, from a table if there are few sets."""
        if sum(self._combination_counts) > _MAX_LISTED_SETS:
            return _unrank(self.domain, self._size, ranks)
        return self._listed_members.take(ranks.astype(np.intp), axis=1)

    @cached_property
    def _listed_members(self) -> ByteArray:
        ranks = np.arange(sum(self._combination_counts), dtype=np.uint64)
        return np.stack(list(_unrank(self.domain, self._size, ranks))).astype(np.uint8)

    @cached_property
    def _one_value(self) -> Words:
        """The sets of one value, for the values 0, ..., d - 1 and again; shape (2 d, 64-bit words)."""
        bits = np.eye(self.domain, -(-self.domain // 64) * 64, dtype=np.uint8)
        return np.tile(np.packbits(bits, axis=1, bitorder="little").view("<u8"), (2, 1))

    def _is_valid(self, payload: bytes) -> bool:
        return super()._is_valid(payload) and int.from_bytes(payload, "little").bit_count() == self._size

    def are_valid(self, payloads: ByteArray) -> BoolArray:
        ones = np.array([byte.bit_count() for byte in range(256)], dtype=np.uint8)
        sizes = sum(ones[column] for column in payloads.T)  # much faster than unpacking the bits
        return np.asarray((sizes == self._size) & super().are_valid(payloads))

    def _describe_bits(self) -> BitsLaw | None:
        kept = Fraction(self._keep, WORD)
        if not 1 < self._size < self.domain - 1:
            return None
        return self.domain, (self._size - kept) / (self.domain - 1), (kept, kept), self._size

    def contribution_range(
        self, weights: FloatArray, times: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        times = np.ones(self.domain, dtype=np.int64) if times is None else np.asarray(times)
        order = np.argsort(weights, axis=-1)
        ends = []
        for way in (order, order[..., ::-1]):
            taken = np.diff(np.minimum(np.cumsum(times[way], axis=-1), self._size), prepend=0, axis=-1)
            ends.append((np.take_along_axis(weights, way, axis=-1) * taken).sum(axis=-1))
        return ends[0], ends[1]

    def likelihood(self, payload: bytes) -> list[Fraction]:
        """Return P[payload | v] for every v, from the exact cell sizes of multiply-shift."""
        chosen, found = int.from_bytes(payload, "little"), []
        for value in range(self.domain):
            seen = (chosen << self.domain | chosen) >> value & self._mask  # from v on, around the domain
            own = seen & 1
            words = (self._keep if own else WORD - self._keep) * cell_size(
                _rank(seen >> 1), self._combination_counts[own]
            )
            found.append(Fraction(words, WORD * WORD))
        return found


@lru_cache(maxsize=64)
def _binomials(domain: int, size: int) -> tuple[tuple[int, ...], ...]:
    """Return C(i, 0), ..., C(i, size) for i = 0, ..., d - 1, or a number that exceeds every rank."""
    rows: list[tuple[int, ...]] = [(1, *[0] * size)]
    while len(rows) < domain:
        rows.append((1, *map(min, map(add, rows[-1], rows[-1][1:]), repeat(2 * MAX_COMBINATIONS))))
    return tuple(rows)


def _unrank(domain: int, size: int, ranks: Words) -> Iterator[IntArray]:
    """Yield the members of the sets with these numbers, the last member first."""
    columns = np.array(_binomials(domain, size), dtype=np.uint64).T
    for column in columns[:0:-1]:
        member = np.searchsorted(column, ranks, side="right") - 1
        ranks = ranks - column.take(member)
        yield member


def _rank(others: int) -> int:
    """Return the number of a combination: the sum of C(c_j, j) over its members c_1 < c_2 < ..."""
    members = [index for index in range(others.bit_length()) if others >> index & 1]
    return sum(comb(index, j) for j, index in enumerate(members, 1))
