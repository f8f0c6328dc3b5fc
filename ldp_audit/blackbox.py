"""The black-box layer: computes a lower bound on epsilon from the bytes of messages alone.

For two people, the event that distinguishes them best is selected on some of their messages and tested on
the others. By Clopper and Pearson's bounds, its probability is at least p for one person and at most q for
the other. So epsilon is at least ln(p/q). The test does not use the mechanism or the wire format.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainccinv, betaincinv

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Messages:
    """Messages as one array."""

    data: NDArray[np.uint8]
    """One message per row, followed by zeros. Shape (n, longest)."""
    lengths: NDArray[np.int64]
    """Shape (n,)."""

    @classmethod
    def from_bytes(cls, messages: Sequence[bytes]) -> Messages:
        lengths = np.fromiter(map(len, messages), np.int64, len(messages))
        width = int(lengths.max(initial=0))
        joined = b"".join(each.ljust(width, b"\0") for each in messages)
        return cls(np.frombuffer(joined, np.uint8).reshape(len(messages), width), lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def slice(self, start: int, end: int) -> Messages:
        return Messages(self.data[start:end], self.lengths[start:end])

    def pad(self, width: int) -> Messages:
        """Return the messages as an array of at least `width` columns; added columns are zero."""
        more = max(0, width - self.data.shape[1])
        return Messages(np.pad(self.data, ((0, 0), (0, more))), self.lengths) if more else self

    def first(self, count: int) -> list[bytes]:
        pairs = zip(self.data[:count], self.lengths[:count], strict=True)
        return [row.tobytes()[:length] for row, length in pairs]


MessagesByPerson = dict[str, Messages]


ALPHA = 1e-6
"""The probability that any bound of an audit is too high, or that any of its tests raises a false alarm."""
SELECTION_SHARE = 0.2
"""Share of the messages that select the event. Few suffice; all others improve the bound."""

_MAX_BITS = 1024
_QUANTILES = 16
_STANDARD_ERRORS = 5.0
_NEGATIVE_LOG_ALPHA = 24.0
"""-ln of the error probability of one bound in an audit of about 40 questions."""
_EPSILON_MARGIN = 0.3
_MAX_REQUIRED_REQUESTS = 1_000

Counts = NDArray[np.int64]
Positions = NDArray[np.int64]
MessagePair = tuple[Messages, Messages]


@dataclass(frozen=True)
class Event:
    text: str
    """Such as "byte 57 is 3"."""
    holds: Callable[[Messages], Flags]


EventFamily = tuple[Counts, Counts, Callable[[int], Event]]
"""Events of one kind: for each person the number of messages with each event; the event at an index."""


@dataclass(frozen=True)
class Leak:
    """How well the messages of two people can be distinguished."""

    likelier_person: str
    other_person: str
    """The names of the two people; the event is more probable for `likelier_person`."""
    event: str
    epsilon_lower_bound: float
    """The true epsilon is at least this; 0 if nothing was detected."""
    max_detectable_epsilon: float
    """The greatest lower bound that this number of messages can give."""
    trials: int

    def __str__(self) -> str:
        return (
            f"({self.likelier_person}) and ({self.other_person}) can be distinguished by {self.event}, which "
            f"shows an epsilon of at least {self.epsilon_lower_bound:.3f}"
        )


def compare(names: tuple[str, str], one: Messages, other: Messages, alpha: float) -> Leak:
    """Return a lower bound on epsilon, valid with 1 - `alpha`, from equally many messages of two people."""
    width = max(one.data.shape[1], other.data.shape[1])
    one, other = one.pad(width), other.pad(width)
    selecting = round(SELECTION_SHARE * len(one))
    event, swapped = _select_event(one.slice(0, selecting), other.slice(0, selecting))
    if swapped:
        one, other, names = other, one, (names[1], names[0])
    tested = len(one) - selecting
    hits, other_hits = (int(event.holds(each.slice(selecting, len(each))).sum()) for each in (one, other))
    return Leak(
        likelier_person=names[0],
        other_person=names[1],
        event=event.text,
        epsilon_lower_bound=epsilon_lower_bound(hits, other_hits, tested, alpha),
        max_detectable_epsilon=epsilon_lower_bound(tested, 0, tested, alpha),
        trials=len(one),
    )


def epsilon_lower_bound(hits: int, other_hits: int, trials: int, alpha: float) -> float:
    """Return max(0, ln(p/q)) of the lower and the upper Clopper-Pearson bound p and q, each at alpha/2."""
    if hits == 0:
        return 0.0
    p = clopper_pearson_lower(hits, trials, alpha / 2)
    q = clopper_pearson_upper(other_hits, trials, alpha / 2)
    return max(0.0, math.log(p / q))


def required_requests(epsilon: float) -> int:
    """Return the number of messages per person that detects an answer in the clear, at most 1,000."""
    # p^n and (1 - q)^n are the error probability of one bound
    tested = _NEGATIVE_LOG_ALPHA / math.log1p(math.exp(-epsilon - _EPSILON_MARGIN))
    return min(_MAX_REQUIRED_REQUESTS, math.ceil(tested / (1 - SELECTION_SHARE)))


def clopper_pearson_lower(hits: int, trials: int, alpha: float) -> float:
    """Return Clopper and Pearson's lower bound of a probability; it is too high with probability `alpha`."""
    return float(betaincinv(hits, trials - hits + 1, alpha)) if hits else 0.0


def clopper_pearson_upper(hits: int, trials: int, alpha: float) -> float:
    """Return Clopper and Pearson's upper bound of a probability; it is too low with probability `alpha`."""
    return float(betainccinv(hits + 1, trials - hits, alpha)) if hits < trials else 1.0


def _select_event(one: Messages, other: Messages) -> tuple[Event, bool]:
    """Return the event that distinguishes two people best, and whether it is likelier for the other."""
    best = []
    for counts, other_counts, event in _list_families((one, other)):
        bounds = _expected_bounds(counts, other_counts)
        index = int(bounds.argmax())
        best.append((float(bounds[index]), event(index), bool(counts[index] < other_counts[index])))
    _, found, swapped = max(best, key=itemgetter(0))
    return found, swapped


def _expected_bounds(counts: Counts, other_counts: Counts) -> NDArray[np.float64]:
    """Return the bound expected for each event, for the person for whom the event is likelier."""
    shifted = np.arange(max(counts.max(), other_counts.max()) + 1) + 0.5
    logarithms, inverses = np.log(shifted), SELECTION_SHARE / (1 - SELECTION_SHARE) / shifted
    bounds: NDArray[np.float64] = np.abs(logarithms[counts] - logarithms[other_counts])
    bounds -= _STANDARD_ERRORS * np.sqrt(inverses[counts] + inverses[other_counts])
    return bounds


def _list_families(pair: MessagePair) -> Iterator[EventFamily]:
    yield _length_events(pair)
    first = pair[0].data[0]
    varying = np.flatnonzero(np.any([(each.data != first).any(axis=0) for each in pair], axis=0))
    if len(varying):
        yield _byte_events(pair, varying)
        yield _bit_pair_events(pair, varying)
    words = varying[varying + 1 < len(first)]
    if len(words):
        yield _word_events(pair, words)


def _length_events(pair: MessagePair) -> EventFamily:
    lengths = sorted({int(length) for each in pair for length in np.unique(each.lengths)})
    one, other = (np.array([(each.lengths == length).sum() for length in lengths]) for each in pair)

    def event(index: int) -> Event:
        length = lengths[index]
        return Event(f"{length} bytes long", lambda messages: messages.lengths == length)

    return one, other, event


def _byte_events(pair: MessagePair, positions: Positions) -> EventFamily:
    offsets = 256 * np.arange(len(positions))
    one, other = (
        np.bincount((each.data[:, positions] + offsets).ravel(), minlength=256 * len(positions))
        for each in pair
    )

    def event(index: int) -> Event:
        position, value = int(positions[index // 256]), index % 256
        return Event(f"byte {position} is {value}", lambda messages: messages.data[:, position] == value)

    return one, other, event


def _word_events(pair: MessagePair, positions: Positions) -> EventFamily:
    words = [_read_words(each, positions) for each in pair]
    ordered = np.sort(np.concatenate(words), axis=0)
    limits = ordered[np.arange(1, _QUANTILES) * len(ordered) // _QUANTILES]
    one, other = (np.array([(word >= limit).sum(axis=0) for limit in limits]).ravel() for word in words)

    def event(index: int) -> Event:
        quantile, column = divmod(index, len(positions))
        position, least = positions[column], int(limits[quantile, column])
        text = f"bytes {position} and {position + 1} are {least} or more"
        return Event(text, lambda messages: _read_words(messages, position[None])[:, 0] >= least)

    return one, other, event


def _bit_pair_events(pair: MessagePair, positions: Positions) -> EventFamily:
    bits = [np.unpackbits(each.data[:, positions], axis=1) for each in pair]
    distinct = _distinct_columns(np.concatenate(bits))
    differences = np.abs(bits[0][:, distinct].mean(axis=0) - bits[1][:, distinct].mean(axis=0))
    selected = distinct[np.argsort(-differences, kind="stable")[:_MAX_BITS]]
    bit_positions = 8 * positions[selected // 8] + selected % 8
    one, other = (_count_bit_pairs(each[:, selected].astype(np.float32)) for each in bits)
    size = len(selected)

    def event(index: int) -> Event:
        value, columns = divmod(index, size * size)
        first, second = (int(bit_positions[each]) for each in divmod(columns, size))
        text = f"bits {first} and {second} are {value >> 1} and {value & 1}"
        return Event(text, lambda messages: _read_bits(messages, first, second) == value)

    return one, other, event


def _distinct_columns(bits: NDArray[np.uint8]) -> Positions:
    """Return the first of equal columns: in requests, most bits repeat the length of the body."""
    columns = np.ascontiguousarray(np.packbits(bits, axis=0).T)
    _, first = np.unique(columns.view(np.dtype((np.void, columns.shape[1]))), return_index=True)
    return np.sort(first)


def _count_bit_pairs(bits: NDArray[np.float32]) -> Counts:
    both = (bits.T @ bits).astype(np.int64)
    first = np.diag(both)[:, None]
    second = first.T
    return np.stack([len(bits) - first - second + both, second - both, first - both, both]).ravel()


def _read_bits(messages: Messages, *positions: int) -> NDArray[Any]:
    one, other = (messages.data[:, each // 8] >> (7 - each % 8) & 1 for each in positions)
    return one << 1 | other


def _read_words(messages: Messages, positions: Positions) -> NDArray[np.int16]:
    """Read two bytes at each position as signed little-endian numbers, which is how noisy numbers travel."""
    low, high = (messages.data[:, positions + index].astype(np.uint16) for index in (0, 1))
    return (low | high << 8).view(np.int16)
