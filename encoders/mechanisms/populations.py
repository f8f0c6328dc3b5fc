"""Randomises the answers of whole populations, for simulations; a device never does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from encoders.lazy_numpy import ByteArray, IntArray, NDArray, np
from encoders.randomness import GivenBytes, RandomSource

if TYPE_CHECKING:
    Words = NDArray[np.uint64]
    Table = tuple[tuple[int, ...], ...]

_Way = Callable[[Any, IntArray, RandomSource], ByteArray]
_GRID_BITS = 21
_GRID = 1 << _GRID_BITS - 1
_POSITION_BITS = _GRID_BITS - 7
"""As in numeric_base.py and piecewise.py, which cannot be imported here."""
_BLOCK_ROWS, _HISTOGRAM_ROWS = 4096, 2048
"""Number of reports that are randomised at a time, so that their draws stay in the processor's cache."""
_MAX_LISTED_SETS = 1 << 16
"""Largest number of sets that are listed in a table."""


def perturb_many(mechanism: Any, values: IntArray, rng: RandomSource) -> ByteArray:
    """Return the payloads of a population; see :meth:`Mechanism.perturb_many`."""
    kinds = (each.__name__ for each in type(mechanism).__mro__)
    return next(_WAYS[kind] for kind in kinds if kind in _WAYS)(mechanism, values, rng)


def multiply_shift(draws: NDArray[np.uint64], cells: int) -> NDArray[np.uint64]:
    """Return (draw * cells) >> 64 exactly, in 32-bit halves (cells < 2^32)."""
    half, low_mask, factor = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(cells)
    carry = ((draws & low_mask) * factor) >> half
    return ((draws >> half) * factor + carry) >> half


def split_value_array(values: IntArray, labels: int) -> tuple[IntArray, IntArray]:
    """Return the arrays of slots and codes of an array of values, see :func:`split_value`."""
    code, label = values // labels, values % labels
    absent = (code > 2 * _GRID).astype(values.dtype)
    return label + labels * absent, code - absent


def _direct(mechanism: Any, values: IntArray, rng: RandomSource) -> ByteArray:
    values = np.asarray(values, dtype=np.int64)
    draws = np.frombuffer(rng.take(16 * len(values)), "<u8").reshape(-1, 2)
    other = multiply_shift(draws[:, 1], mechanism._others).astype(np.int64)
    other += other >= values
    reported = np.where(draws[:, 0] < np.uint64(mechanism._keep), values, other)
    return reported.astype(f"<u{mechanism.payload_bytes}").view(np.uint8).reshape(-1, mechanism.payload_bytes)


def _by_block(randomise: _Way, mechanism: Any, values: IntArray, rng: RandomSource) -> ByteArray:
    values = np.asarray(values, dtype=np.int64)
    payloads = np.empty((len(values), mechanism.payload_bytes), dtype=np.uint8)
    for start in range(0, len(values), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        payloads[block] = randomise(mechanism, values[block], rng)
    return payloads


def _unary(mechanism: Any, values: IntArray, rng: RandomSource) -> ByteArray:
    rows, width = np.arange(len(values)), mechanism.payload_bytes
    draws = np.frombuffer(rng.take(len(values) * mechanism.random_bytes), np.uint8)
    word = next(size for size in (8, 4, 2, 1) if width % size == 0)
    slices = list(~np.moveaxis(draws.reshape(-1, mechanism._bits, width).view(f"<u{word}"), 1, 0))
    ones = _below_each(slices, mechanism._steps_p).view(np.uint8)
    payloads = _below_each(slices, mechanism._steps_q).view(np.uint8)
    byte, own = values >> 3, (1 << (values & 7)).astype(np.uint8)
    payloads[rows, byte] = (payloads[rows, byte] & ~own) | (ones[rows, byte] & own)
    payloads[:, -1] &= mechanism._mask >> 8 * (width - 1)
    return payloads


def _below_each(flipped: list[Words], steps: Sequence[tuple[int, int, int]]) -> Words:
    """Compare the draws of a population, one array of words per slice; see :func:`_below`."""
    (first, _, _), *rest = steps
    below = flipped[first]
    for j, _, bit in rest:
        below = below | flipped[j] if bit else below & flipped[j]
    return below


def _sets(mechanism: Any, values: IntArray, rng: RandomSource) -> ByteArray:
    draws = np.frombuffer(rng.take(16 * len(values)), "<u8").reshape(-1, 2)
    own = draws[:, 0] < np.uint64(mechanism._keep)
    without, within = (multiply_shift(draws[:, 1], count) for count in mechanism._combination_counts)
    ranks = np.where(own, within + np.uint64(mechanism._combination_counts[0]), without)
    one_value = _one_value(mechanism.domain)
    words = np.zeros((len(values), one_value.shape[1]), dtype=np.uint64)
    for member in _members(mechanism, ranks):
        words |= one_value.take(values + 1 + member, axis=0)
    return words.astype("<u8", copy=False).view(np.uint8)[:, : mechanism.payload_bytes]


def _members(mechanism: Any, ranks: Words) -> Iterable[IntArray | ByteArray]:
    """Return each member of the sets with these numbers, from a table if there are few sets."""
    sets = sum(mechanism._combination_counts)
    if sets > _MAX_LISTED_SETS:
        return _unrank(mechanism.binomials, ranks)
    return _listed_members(mechanism.binomials, sets).take(ranks.astype(np.intp), axis=1)


@lru_cache(maxsize=16)
def _listed_members(table: Table, sets: int) -> ByteArray:
    """Return the members of all sets, in order; shape (size, sets)."""
    return np.stack(list(_unrank(table, np.arange(sets, dtype=np.uint64)))).astype(np.uint8)


@lru_cache(maxsize=16)
def _one_value(domain: int) -> Words:
    """Return the sets of one value, for the values 0, ..., d - 1 and again; shape (2 d, words)."""
    bits = np.eye(domain, -(-domain // 64) * 64, dtype=np.uint8)
    return np.tile(np.packbits(bits, axis=1, bitorder="little").view("<u8"), (2, 1))


def _unrank(table: Table, ranks: Words) -> Iterator[IntArray]:
    """Yield the members of the sets with these numbers, the last member first."""
    columns = np.array(table, dtype=np.uint64).T
    for column in columns[:0:-1]:
        member = np.searchsorted(column, ranks, side="right") - 1
        ranks = ranks - column.take(member)
        yield member


def _histograms(mechanism: Any, values: IntArray, rng: RandomSource) -> ByteArray:
    values = np.asarray(values, dtype=np.int64)
    ends, clamped = np.array(mechanism._ends, dtype=np.uint64), np.array(mechanism._clamped, dtype="<i2")
    payloads = np.empty((len(values), mechanism.domain), dtype="<i2")
    for start in range(0, len(values), _HISTOGRAM_ROWS):
        block = values[start : start + _HISTOGRAM_ROWS]
        draws = np.frombuffer(rng.take(len(block) * mechanism.random_bytes), "<u8")
        index = np.searchsorted(ends, draws, side="right").reshape(-1, mechanism.domain)
        index[np.arange(len(block)), block] += 1
        payloads[start : start + _HISTOGRAM_ROWS] = clamped[index]
    return payloads.view(np.uint8)


def _laplace(mechanism: Any, values: IntArray, rng: RandomSource) -> ByteArray:
    numbers, slots = len(mechanism.domain.missing), mechanism.domain.slots
    values = np.asarray(values, dtype=np.int64).reshape(-1, numbers)
    draws = np.frombuffer(rng.take(len(values) * mechanism.random_bytes), "<u8").reshape(-1, numbers + slots)
    own, code = split_value_array(values, mechanism.domain.labels)
    rest = (draws[:, :numbers] >> np.uint64(64 - mechanism._fraction_bits)).astype(np.int64)
    up = rest < (code & (1 << mechanism._fraction_bits) - 1)
    vectors = np.searchsorted(np.array(mechanism._ends, dtype=np.uint64), draws[:, numbers:], side="right")
    vectors -= len(mechanism._weights) - 1
    rows = np.arange(len(values))[:, None]
    vectors[rows, own + np.array(mechanism._slot_starts)] += (
        (code >> mechanism._fraction_bits) + up - mechanism._steps_per_unit
    )
    clamped = np.clip(vectors, -mechanism._max_output, mechanism._max_output).astype("<i2")
    return clamped.view(np.uint8).reshape(-1, mechanism.payload_bytes)


def _one_bit(mechanism: Any, values: IntArray, rng: RandomSource) -> ByteArray:
    own, codes = split_value_array(np.asarray(values, dtype=np.int64), mechanism.domain.labels)
    draws = np.frombuffer(rng.take(16 * len(own)), "<u8").reshape(-1, 2)
    slots = multiply_shift(draws[:, 0], mechanism.domain.slots).astype(np.int64)
    bits = draws[:, 1] < _threshold_array(mechanism, np.where(slots == own, codes, _GRID))
    reported = (2 * slots + bits).astype(f"<u{mechanism.payload_bytes}")
    return reported.view(np.uint8).reshape(-1, mechanism.payload_bytes)


def _sign_vectors(mechanism: Any, values: IntArray, rng: RandomSource) -> ByteArray:
    own, codes = split_value_array(np.asarray(values, dtype=np.int64), mechanism.domain.labels)
    draws = np.frombuffer(rng.take(mechanism.random_bytes * len(own)), np.uint8).reshape(
        -1, mechanism.random_bytes
    )
    bits = np.ascontiguousarray(draws[:, -8:]).view("<u8").ravel() < _threshold_array(mechanism, codes)
    vectors, rows = draws[:, :-8].copy(), np.arange(len(own))
    vectors[:, -1] &= mechanism._mask >> 8 * (mechanism.payload_bytes - 1)
    byte, index = own >> 3, (own & 7).astype(np.uint8)
    kept = vectors[rows, byte] & ~(np.uint8(1) << index)
    vectors[rows, byte] = kept | bits.astype(np.uint8) << index
    return vectors


def _threshold_array(mechanism: Any, codes: IntArray) -> NDArray[np.uint64]:
    """Return the thresholds of an array of codes; the product is computed in two halves of 32 bits."""
    high, low = np.uint64(mechanism._span >> 32), np.uint64(mechanism._span & 0xFFFFFFFF)
    code, shift = codes.astype(np.uint64), np.uint64(_GRID_BITS)
    scaled = (high * code << np.uint64(32 - _GRID_BITS)) + (low * code >> shift)
    return np.uint64(mechanism._q) + scaled


def _piecewise(mechanism: Any, values: IntArray, rng: RandomSource) -> ByteArray:
    slot, code = split_value_array(np.asarray(values, dtype=np.int64), mechanism.domain.labels)
    code = code - mechanism._lowest_code << mechanism._doubled
    draws = np.frombuffer(rng.take(24 * len(slot)), "<u8").reshape(-1, 3)
    rest = (draws[:, 0] >> np.uint64(64 - _POSITION_BITS)).astype(np.int64)
    up = rest < (code & (1 << _POSITION_BITS) - 1)
    near = multiply_shift(draws[:, 2], mechanism._window_points).astype(np.int64)
    near += slot * mechanism._line_points + (code >> _POSITION_BITS) + up
    anywhere = multiply_shift(draws[:, 2], mechanism.indices).astype(np.int64)
    reported = np.where(draws[:, 1] < np.uint64(mechanism._near), near, anywhere)
    return reported.astype("<u2").view(np.uint8).reshape(-1, 2)


def _sign(mechanism: Any, values: IntArray, rng: RandomSource) -> ByteArray:
    code, label = np.divmod(np.asarray(values, dtype=np.int64), mechanism.domain.labels)
    draws = np.frombuffer(rng.take(mechanism.random_bytes * len(code)), np.uint8).reshape(
        -1, mechanism.random_bytes
    )
    rounding = np.ascontiguousarray(draws[:, :8]).view("<u8").ravel() >> np.uint64(mechanism._shift)
    sign = (rounding.astype(np.int64) < code - mechanism._lowest_code).astype(np.int64) + (code > 2 * _GRID)
    rest = GivenBytes(np.ascontiguousarray(draws[:, 8:]).tobytes())
    return perturb_many(mechanism.oracle, sign * mechanism.domain.labels + label, rest)


_WAYS: dict[str, _Way] = {
    "DE": _direct,
    "Unary": partial(_by_block, _unary),
    "SS": partial(_by_block, _sets),
    "SHE": _histograms,
    "Laplace": _laplace,
    "OneBit": _one_bit,
    "SignVector": _sign_vectors,
    "Piecewise": _piecewise,
    "Sign": _sign,
}
"""By the name of a mechanism's class, or of a base of it."""
