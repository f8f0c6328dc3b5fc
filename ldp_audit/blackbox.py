"""How much a message gives away, measured: a lower bound on epsilon from the bytes alone.

For two people, the event that tells them apart best is chosen on some of their messages and tested on
the others: by Clopper and Pearson's bounds, its probability is at least p for the one and at most q for
the other, so that epsilon is at least ln(p/q). No knowledge of mechanism or wire format goes into it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from ldp_audit.messages import Flags, Messages

CHOOSING = 0.2
"""Share of the messages that choose the event. Choosing needs few; the bound gains from all the others."""

_TELLING_BITS = 24
_QUANTILES = 16
_CAUTION = 5.0


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
    trials : int
        Messages of each.
    """

    likelier: str
    other: str
    event: str
    bound: float
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
    bound = epsilon_at_least(often, seldom, len(one) - cut, alpha)
    return Leak(*names, str(event), bound, len(one))


def epsilon_at_least(often: int, seldom: int, trials: int, alpha: float) -> float:
    """Return ln(p/q), p a lower and q an upper Clopper-Pearson bound, each at alpha/2; at least 0."""
    if often == 0:
        return 0.0
    low = float(beta.ppf(alpha / 2, often, trials - often + 1))
    high = float(beta.ppf(1 - alpha / 2, seldom + 1, trials - seldom)) if seldom < trials else 1.0
    return max(0.0, math.log(low / high))


def _choose(one: Messages, other: Messages) -> tuple[Event, bool]:
    """Return the event with the best outlook, and whether it is likelier for the other person."""
    best, chosen = -math.inf, (Event("length", (), 0), False)
    for events, counts in _counted(one, other):
        for swapped in (False, True):
            often, seldom = counts[::-1] if swapped else counts
            outlook = _outlook(often, seldom)
            place = int(outlook.argmax())
            if outlook[place] > best:
                best, chosen = float(outlook[place]), (events[place], swapped)
    return chosen


def _outlook(often: NDArray[np.int64], seldom: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what the test, on more messages than these, may be expected to prove."""
    p, q = often + 0.5, seldom + 0.5
    error = np.sqrt(CHOOSING / (1 - CHOOSING) * (1 / p + 1 / q))
    found: NDArray[np.float64] = np.log(p / q) - _CAUTION * error
    return found


def _counted(one: Messages, other: Messages) -> Iterator[tuple[list[Event], list[NDArray[np.int64]]]]:
    """Yield families of events, and how many messages of each person they hold for."""
    both = (one, other)
    lengths = sorted({int(length) for each in both for length in np.unique(each.lengths)})
    yield (
        [Event("length", (), length) for length in lengths],
        [np.array([(each.lengths == length).sum() for length in lengths]) for each in both],
    )
    varying = [int(place) for place in np.flatnonzero(_varies(one, one) | _varies(one, other))]
    for place in varying:
        events = [Event("byte", (place,), value) for value in range(256)]
        yield events, [np.bincount(each.data[:, place], minlength=256) for each in both]
    if varying:
        yield from _pairs_of_bits(both, varying)
    for place in varying:
        if place + 1 < one.data.shape[1]:
            yield _limits(both, place)


def _varies(one: Messages, other: Messages) -> Flags:
    found: Flags = (other.data != one.data[0]).any(axis=0)
    return found


def _limits(both: tuple[Messages, Messages], place: int) -> tuple[list[Event], list[NDArray[np.int64]]]:
    """Return how often a word is some limit or more, the limits being quantiles."""
    words = [np.sort(_words(each, place)) for each in both]
    limits = np.unique(np.quantile(np.concatenate(words), np.arange(1, _QUANTILES) / _QUANTILES).round())
    events = [Event("word", (place,), int(limit)) for limit in limits]
    return events, [len(word) - np.searchsorted(word, limits) for word in words]


def _pairs_of_bits(
    both: tuple[Messages, Messages], places: Sequence[int]
) -> Iterator[tuple[list[Event], list[NDArray[np.int64]]]]:
    """Yield the pairs among those bits that tell the two people apart best by themselves."""
    bits = [np.unpackbits(each.data[:, places], axis=1) for each in both]
    shares = [each.mean(axis=0) for each in bits]
    telling = np.argsort(-np.abs(shares[0] - shares[1]), kind="stable")[:_TELLING_BITS]
    chosen = [each[:, telling].astype(np.float32) for each in bits]
    joint = [each.T @ each for each in chosen]
    names = [8 * places[bit // 8] + int(bit) % 8 for bit in telling]
    for one, two in combinations(range(len(telling)), 2):
        events = [Event("bits", (names[one], names[two]), value) for value in range(4)]
        yield events, [_four(each, one, two, len(bits[0])) for each in joint]


def _four(joint: NDArray[np.float32], one: int, two: int, count: int) -> NDArray[np.int64]:
    """Count 00, 01, 10 and 11 of two bits, from the counts of ones."""
    both, first, second = joint[one, two], joint[one, one], joint[two, two]
    return np.array([count - first - second + both, second - both, first - both, both]).astype(np.int64)


def _bit(messages: Messages, place: int) -> NDArray[np.int64]:
    return (messages.data[:, place // 8] >> (7 - place % 8) & 1).astype(np.int64)


def _words(messages: Messages, place: int) -> NDArray[np.int64]:
    """Read two bytes as a signed little-endian number, which is how noisy numbers travel."""
    pairs = np.ascontiguousarray(messages.data[:, place : place + 2]).view("<i2")
    return pairs[:, 0].astype(np.int64)
