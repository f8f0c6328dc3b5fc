"""How much a message gives away, measured: a lower bound on epsilon from the bytes alone.

For two people, the event that tells them apart best is chosen on some of their messages and tested on
the others: by Clopper and Pearson's bounds, its probability is at least p for the one and at most q for
the other, so that epsilon is at least ln(p/q). No knowledge of mechanism or wire format goes into it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from ldp_audit.messages import Flags, Messages

CHOOSING = 0.2
"""Share of the messages that choose the event. Choosing needs few; the bound gains from all the others."""

_MOST_BITS = 1024
_QUANTILES = 16
_CAUTION = 5.0
_LOG_CHANCE = 24.0
"""-ln of the chance that an audit of some 40 questions leaves to one bound."""
_MARGIN = 0.3
_MOST_REQUESTS = 1_000

Counts = NDArray[np.int64]
Both = tuple[Messages, Messages]


@dataclass(frozen=True)
class Event:
    """Something that a message may be, such as "byte 57 is 3".

    Attributes
    ----------
    kind : str
        "length", "byte", "bits" or "word".
    where : tuple of int
        Of a byte its place; of two bits theirs; of a word (two bytes) the place of the first.
    what : int
        The length, the byte, the two bits as a number, or the word at the least.
    """

    kind: str
    where: tuple[int, ...]
    what: int

    def __str__(self) -> str:
        if self.kind == "length":
            return f"{self.what} bytes long"
        if self.kind == "byte":
            return f"byte {self.where[0]} is {self.what}"
        if self.kind == "bits":
            return f"bits {self.where[0]} and {self.where[1]} are {self.what >> 1} and {self.what & 1}"
        return f"bytes {self.where[0]} and {self.where[0] + 1} are {self.what} or more"

    def holds(self, messages: Messages) -> Flags:
        """Tell of each message whether the event holds."""
        found: Flags
        if self.kind == "length":
            found = messages.lengths == self.what
        elif self.kind == "byte":
            found = messages.data[:, self.where[0]] == self.what
        elif self.kind == "bits":
            one, other = (_bit(messages, place) for place in self.where)
            found = (one << 1 | other) == self.what
        else:
            found = _words(messages, self.where[0]) >= self.what
        return found


@dataclass(frozen=True)
class Leak:
    """What two people's messages give away.

    Attributes
    ----------
    likelier, other : str
        The people; the event is likelier for the first.
    event : str
    bound : float
        Epsilon is at least this; 0 if nothing was found.
    ceiling : float
        No bound from so few messages could be higher.
    trials : int
        Messages of each.
    """

    likelier: str
    other: str
    event: str
    bound: float
    ceiling: float
    trials: int

    def __str__(self) -> str:
        """Say it in words."""
        people = f"({self.likelier}) and ({self.other})"
        return f"{people} are told apart by {self.event}, at an epsilon of at least {self.bound:.3f}"


def compare(names: tuple[str, str], one: Messages, other: Messages, alpha: float) -> Leak:
    """Bound epsilon from below by two people's messages.

    Parameters
    ----------
    names : tuple of str
    one, other : Messages
        As many of each, all independent.
    alpha : float
        The bound exceeds what the messages really give away with at most this probability.
    """
    width = max(one.data.shape[1], other.data.shape[1])
    one, other = one.padded(width), other.padded(width)
    cut = round(CHOOSING * len(one))
    event, swapped = _choose(one.part(0, cut), other.part(0, cut))
    if swapped:
        one, other, names = other, one, (names[1], names[0])
    often, seldom = (int(event.holds(each.part(cut, len(each))).sum()) for each in (one, other))
    tested = len(one) - cut
    bound, ceiling = (epsilon_at_least(*hits, tested, alpha) for hits in ((often, seldom), (tested, 0)))
    return Leak(*names, str(event), bound, ceiling, len(one))


def epsilon_at_least(often: int, seldom: int, trials: int, alpha: float) -> float:
    """Return ln(p/q), p a lower and q an upper Clopper-Pearson bound, each at alpha/2; at least 0."""
    if often == 0:
        return 0.0
    return max(0.0, math.log(at_least(often, trials, alpha / 2) / at_most(seldom, trials, alpha / 2)))


def requests_for(epsilon: float) -> int:
    """Return how many messages of each person show a certain event at an epsilon, at most 1,000."""
    # p^n and (1 - q)^n are the chance that one bound may be wrong
    tested = _LOG_CHANCE / math.log1p(math.exp(-epsilon - _MARGIN))
    return min(_MOST_REQUESTS, math.ceil(tested / (1 - CHOOSING)))


def at_least(hits: int, trials: int, alpha: float) -> float:
    """Return Clopper and Pearson's lower bound of a probability, too high with at most this chance."""
    return float(beta.ppf(alpha, hits, trials - hits + 1)) if hits else 0.0


def at_most(hits: int, trials: int, alpha: float) -> float:
    """Return Clopper and Pearson's upper bound of a probability, too low with at most this chance."""
    return float(beta.ppf(1 - alpha, hits + 1, trials - hits)) if hits < trials else 1.0


def _choose(one: Messages, other: Messages) -> tuple[Event, bool]:
    """Return the event with the best outlook, and whether it is likelier for the other person."""
    best, chosen = -math.inf, (Event("length", (), 0), False)
    for family in _families(one, other):
        for swapped, counts in ((False, family.counts), (True, family.counts[::-1])):
            outlook = _outlook(*counts)
            place = int(outlook.argmax())
            if outlook[place] > best:
                best, chosen = float(outlook[place]), (family.event(place), swapped)
    return chosen


def _outlook(often: Counts, seldom: Counts) -> NDArray[np.float64]:
    """Return what the test, on more messages than these, may be expected to prove."""
    p, q = often + 0.5, seldom + 0.5
    error = np.sqrt(CHOOSING / (1 - CHOOSING) * (1 / p + 1 / q))
    found: NDArray[np.float64] = np.log(p / q) - _CAUTION * error
    return found


@dataclass(frozen=True)
class _Family:
    """Events of one kind: how many messages of each person they hold for, and which one is at a place."""

    counts: tuple[Counts, Counts]
    event: Callable[[int], Event]


def _families(one: Messages, other: Messages) -> Iterator[_Family]:
    both = (one, other)
    yield _lengths(both)
    varying = np.flatnonzero(_varies(one, one) | _varies(one, other))
    for place in map(int, varying):
        yield _byte(both, place)
        if place + 1 < one.data.shape[1]:
            yield _word(both, place)
    if len(varying):
        yield _pairs_of_bits(both, varying)


def _varies(one: Messages, other: Messages) -> Flags:
    found: Flags = (other.data != one.data[0]).any(axis=0)
    return found


def _lengths(both: Both) -> _Family:
    lengths = sorted({int(length) for each in both for length in np.unique(each.lengths)})
    one, other = (np.array([(each.lengths == length).sum() for length in lengths]) for each in both)
    return _Family((one, other), lambda at: Event("length", (), lengths[at]))


def _byte(both: Both, place: int) -> _Family:
    one, other = (np.bincount(each.data[:, place], minlength=256) for each in both)
    return _Family((one, other), lambda at: Event("byte", (place,), at))


def _word(both: Both, place: int) -> _Family:
    """Return how often a word is some limit or more, the limits being quantiles."""
    words = [np.sort(_words(each, place)) for each in both]
    limits = np.unique(np.quantile(np.concatenate(words), np.arange(1, _QUANTILES) / _QUANTILES).round())
    one, other = (len(word) - np.searchsorted(word, limits) for word in words)
    return _Family((one, other), lambda at: Event("word", (place,), int(limits[at])))


def _pairs_of_bits(both: Both, places: NDArray[np.int64]) -> _Family:
    """Return how often each two bits are 0 and 0, 0 and 1, 1 and 0, 1 and 1."""
    bits = [np.unpackbits(each.data[:, places], axis=1) for each in both]
    shares = [each.mean(axis=0) for each in bits]
    chosen = np.argsort(-np.abs(shares[0] - shares[1]), kind="stable")[:_MOST_BITS]
    names = 8 * places[chosen // 8] + chosen % 8
    one, other = (_joint(each[:, chosen].astype(np.float32)) for each in bits)
    size = len(chosen)

    def event(at: int) -> Event:
        what, pair = divmod(at, size * size)
        return Event("bits", (int(names[pair // size]), int(names[pair % size])), what)

    return _Family((one, other), event)


def _joint(bits: NDArray[np.float32]) -> Counts:
    """Count 00, 01, 10 and 11 of every two columns."""
    both = (bits.T @ bits).astype(np.int64)
    first = np.diag(both)[:, None]
    second = first.T
    return np.stack([len(bits) - first - second + both, second - both, first - both, both]).ravel()


def _bit(messages: Messages, place: int) -> NDArray[np.int64]:
    return (messages.data[:, place // 8] >> (7 - place % 8) & 1).astype(np.int64)


def _words(messages: Messages, place: int) -> NDArray[np.int64]:
    """Read two bytes as a signed little-endian number, which is how noisy numbers travel."""
    pairs = np.ascontiguousarray(messages.data[:, place : place + 2]).view("<i2")
    return pairs[:, 0].astype(np.int64)
