"""Computes the law of a function that draws, by running it along every path of its draws."""

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import count

import pytest


class _NewBranch(Exception):
    def __init__(self, weights: Sequence[Fraction | float]) -> None:
        self.weights = weights


class Paths:
    """The draws of one run: known choices first, then a new branch."""

    def __init__(self) -> None:
        self._known: tuple[int, ...] = ()
        self._next = 0

    def choose(self, weights: Sequence[Fraction | float]) -> int:
        if len(weights) == 1:
            return 0
        if self._next == len(self._known):
            raise _NewBranch(weights)
        self._next += 1
        return self._known[self._next - 1]

    def draw_below(self, bound: int, source: object) -> int:
        """Stand in for `encoders.exact_samplers.draw_below`."""
        return self.choose([Fraction(1, bound)] * bound)

    def draw_bernoulli_exp(self, top: int, bottom: int, source: object) -> bool:
        """Stand in for `encoders.exact_samplers.draw_bernoulli_exp`, whose own law is tested separately."""
        rate = top / bottom
        if rate > 700:  # the float would be zero; no test may rest on that
            return self.choose([1e-300, 1.0]) == 0
        return top == 0 or self.choose([math.exp(-rate), -math.expm1(-rate)]) == 0

    def law(
        self, run: Callable[[], Hashable], runs: int = 20_000
    ) -> tuple[dict[Hashable, Fraction | float], Fraction | float]:
        """Return the probability of each outcome, and that of the paths that were left after `runs` runs.

        The likeliest path is followed first, until the others have a probability below 1e-9.
        """
        found: dict[Hashable, Fraction | float] = defaultdict(int)
        order = count()
        waiting: list[tuple[float, int, Fraction | float, tuple[int, ...]]] = [(-1.0, 0, Fraction(1), ())]
        left = 1.0
        for _ in range(runs):
            if not waiting or left < 1e-9:
                break
            _, _, mass, self._known = heapq.heappop(waiting)
            self._next = 0
            try:
                found[run()] += mass
                left -= float(mass)
            except _NewBranch as branch:
                for choice, weight in enumerate(branch.weights):
                    part = mass * weight
                    entry = (-float(part), next(order), part, (*self._known, choice))
                    heapq.heappush(waiting, entry)
        return dict(found), sum((each[2] for each in waiting), Fraction(0))


@contextmanager
def enumerated(*modules: str) -> Iterator[Paths]:
    """Replace the elementary draws that some modules import."""
    paths = Paths()
    with pytest.MonkeyPatch.context() as patch:
        for module in modules:
            for name in ("draw_below", "draw_bernoulli_exp"):
                patch.setattr(f"{module}.{name}", getattr(paths, name), raising=False)
        yield paths


def realised_epsilon(one: dict[Hashable, float], other: dict[Hashable, float]) -> float:
    """Return the greatest |log ratio| of two laws; infinite if an outcome is possible in one only."""
    if one.keys() != other.keys():
        return math.inf
    return max((abs(math.log(float(one[key]) / float(other[key]))) for key in one), default=0.0)
