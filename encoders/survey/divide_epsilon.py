"""Divides a survey's epsilon among the questions that each person answers, so that margins are small.

The mean margin of all questions is minimised under two limits: the sum of the parts is at most the survey's
epsilon, and the rough bound of :mod:`encoders.survey.relay_promise` keeps the promise. The exact bound then
decides.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise, starmap
from operator import mul, sub
from typing import NamedTuple, Self

from encoders.composition import Message
from encoders.epsilon_proof import MIN_EPSILON
from encoders.mechanisms import FrequencyOracle, NumericMechanism
from encoders.survey import relay_promise
from encoders.survey.plan_checks import MAX_EACH
from encoders.survey.questions import Question
from encoders.survey.relay import Relay

EQUAL, MARGINS = "equal", "margins"
_TRIES = 4
"""How often the distance to equal parts is halved, if the exact bound refuses."""
_ROUNDS = 40
_LARGEST_PRICE = 1e9
_PER_UNIT = 1000
_PARTS = range(int(MIN_EPSILON * _PER_UNIT), int(MAX_EACH * _PER_UNIT) + 1)
"""The parts that are tried, in thousandths."""


class _Kind(NamedTuple):
    """What matters of a question."""

    message: Message
    margin: float
    """With the ratio p of the message; it is proportional to 1 + k/(p - 1)."""


class _Curve(NamedTuple):
    """What each thousandth of epsilon changes for one kind of question."""

    costs: list[float]
    gains: list[float]
    rises: list[float]
    """Of the cost."""

    @classmethod
    def from_kind(cls, kind: _Kind) -> Self:
        size, ratios = relay_promise.effective_size(kind.message), [math.exp(n / _PER_UNIT) for n in _PARTS]
        scale = kind.margin / (1 + size / (kind.message.ratio - 1))
        margins = [scale * (1 + size / (p - 1)) for p in ratios]
        costs = [relay_promise.rough_cost(kind.message, p) for p in ratios]
        return cls(costs, list(starmap(sub, pairwise(margins))), [b - a for a, b in pairwise(costs)])

    def find(self, price: float, price_of_cost: float) -> int:
        """Return the index of the first part that no longer gains as much as another thousandth costs."""
        return bisect_left(
            range(len(self.gains)), True, key=lambda n: self.gains[n] <= price + price_of_cost * self.rises[n]
        )


def divide_by_margins(relay: Relay, epsilon: Decimal, questions: Sequence[Question]) -> Sequence[Question]:
    """Return the questions with parts of epsilon for which the mean of their margins is small.

    The parts add up to at most `epsilon`, and keep the relay's promise if the given equal parts do.
    """
    kinds = [_Kind(each.mechanism.message, typical_error(each)) for each in questions]
    counts = Counter(kinds)
    budget = max(
        relay_promise.rough_budget(relay),
        sum(relay_promise.rough_cost(each.message, each.message.ratio) for each in kinds),
    )
    best = dict(zip(counts, _find_parts(counts, epsilon, budget), strict=True))
    equal = float(epsilon) / len(questions)

    def divide(weight: float) -> list[Question]:
        parts = [relay_promise.round_part(equal + weight * (best[kind] - equal)) for kind in kinds]
        pairs = zip(questions, parts, strict=True)
        return [replace(each, mechanism=relay_promise.redesign(each.mechanism, part)) for each, part in pairs]

    found, low, high = questions, 0.0, 1.0
    if not _holds(relay, questions):
        return questions
    if _holds(relay, most := divide(1.0)):
        return most
    for _ in range(_TRIES):
        tried = divide((low + high) / 2)
        if _holds(relay, tried):
            found, low = tried, (low + high) / 2
        else:
            high = (low + high) / 2
    return found


def _holds(relay: Relay, questions: Sequence[Question]) -> bool:
    return relay_promise.keeps_promise(relay, [each.mechanism for each in questions])


def typical_error(question: Question) -> float:
    """Return the standard error of a typical share, or mean as a share of the range, from one report."""
    mechanism, labels = question.mechanism, len(question.label.values)
    if isinstance(mechanism, FrequencyOracle):
        return labels * math.sqrt(mechanism.variance(1 / mechanism.domain))
    assert isinstance(mechanism, NumericMechanism)
    return labels * math.sqrt(mechanism.reference_variance) / 2


def _find_parts(kinds: Counter[_Kind], epsilon: Decimal, budget: float) -> list[float]:
    """Return the parts with the least mean margin, for a sum of epsilon and a budget of the rough bound."""
    curves, limit = list(map(_Curve.from_kind, kinds)), epsilon * _PER_UNIT

    def total(values: Iterable[float]) -> float:
        return math.fsum(map(mul, kinds.values(), values))

    def divide(price_of_cost: float) -> list[int]:
        def find(price: float) -> list[int]:
            return [curve.find(price, price_of_cost) for curve in curves]

        return find(_lowest_price(lambda price: total(_PARTS[n] for n in find(price)) <= limit))

    def fits(price_of_cost: float) -> bool:
        places = zip(curves, divide(price_of_cost), strict=True)
        return total(curve.costs[n] for curve, n in places) <= budget

    return [_PARTS[n] / _PER_UNIT for n in divide(_lowest_price(fits))]


def _lowest_price(is_enough: Callable[[float], bool]) -> float:
    """Return the lowest price that is enough, from above; 0 if none is needed."""
    if is_enough(0.0):
        return 0.0
    low, high = -math.log(_LARGEST_PRICE), math.log(_LARGEST_PRICE)
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(math.exp(middle)) else (middle, high)
    return math.exp(high)
