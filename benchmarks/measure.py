"""Time two implementations in turns, so that disturbances affect both."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

Timer = Callable[[], float]
"""Does the work once and returns the seconds per unit (a report, a post)."""


@dataclass(frozen=True)
class Goal:
    """The required ratio: a gain is peer/ours, a price is ours/peer, an extra is ours - peer (seconds)."""

    bound: float
    kind: Literal["gain", "price", "extra"]

    def ratio(self, ours: float, peer: float) -> float:
        return {"gain": peer / ours, "price": ours / peer, "extra": ours - peer}[self.kind]

    def reached(self, ratio: float) -> bool:
        return ratio >= self.bound if self.kind == "gain" else ratio <= self.bound

    def show(self, ratio: float) -> str:
        return f"{ratio * 1e3:.1f} ms" if self.kind == "extra" else f"{ratio:.3g}x"

    def __str__(self) -> str:
        return f"{'>=' if self.kind == 'gain' else '<='} {self.show(self.bound)}"


@dataclass(frozen=True)
class Row:
    """One line of the table: the median seconds of both, and the median of the repeats' ratios."""

    what: str
    ours: float
    peer: float
    against: str
    ratio: float
    goal: Goal


def gain(bound: float) -> Goal:
    """Return the goal that ours is at least `bound` times faster than the peer."""
    return Goal(bound, "gain")


def price(bound: float) -> Goal:
    """Return the goal that ours takes at most `bound` times as long as the peer."""
    return Goal(bound, "price")


def extra(seconds: float) -> Goal:
    """Return the goal that ours takes at most `seconds` longer than the peer."""
    return Goal(seconds, "extra")


def each(work: Callable[[], object], units: int) -> Timer:
    """Return a timer of `work`, which does `units` units."""

    def timed() -> float:
        gc.disable()
        try:
            start = perf_counter()
            work()
            return (perf_counter() - start) / units
        finally:
            gc.enable()

    return timed


def compare(what: str, ours: Timer, peers: Mapping[str, Timer], goal: Goal, repeats: int = 15) -> Row:
    """Time ours and the fastest peer in turns, and return a row with the median ratio."""
    ours()  # unmeasured, as in `_fastest`: the first round compiles, allocates and fills caches
    against = _fastest(peers)
    peer = peers[against]
    pairs = [(ours(), peer()) if turn % 2 else (peer(), ours())[::-1] for turn in range(repeats)]
    ratio = statistics.median(goal.ratio(*pair) for pair in pairs)
    mine, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    return Row(what, mine, theirs, against, ratio, goal)


def _fastest(peers: Mapping[str, Timer]) -> str:
    for peer in peers.values():
        peer()
    return min(peers, key=lambda name: statistics.median(peers[name]() for _ in range(3)))
