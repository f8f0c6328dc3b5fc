"""The promise of a relay for authors: its limits, and how epsilon is divided among a person's answers.

Devices do not load this module. Searches compute the exact bound only a few times, because a *rough* bound
tells them where: the messages of n people hide a person about as well as normal noise at the distance mu,
where n mu^2 is the sum of a cost of each message. The mean margin of all questions is minimised under two
limits: the sum of the parts is at most the survey's epsilon, and the rough bound keeps the promise. The exact
bound then decides.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR, Decimal
from functools import lru_cache
from itertools import pairwise, starmap
from operator import mul, sub
from typing import Any, NamedTuple, Self

from encoders.composition import Message
from encoders.epsilon_proof import MAX_EPSILON, MIN_EPSILON
from encoders.errors import PrivacyError
from encoders.mechanisms import FrequencyOracle, Mechanism, NumericMechanism
from encoders.shuffling import MAX_REPORTS, shuffled_delta
from encoders.survey.plan_checks import MAX_EACH, MAX_SUM
from encoders.survey.questions import Question
from encoders.survey.relay import Relay

_MARGIN = 0.999
"""An author's promise keeps this part of delta, so that no rounding makes two readers disagree."""
_EPSILON_ACCURACY = 1e-4
_STEP = Decimal("0.000001")
"""Parts of epsilon are rounded down to this."""
_WORST_CROWD = 1.09
"""Measured: for answers yes and no, the worst crowd costs so many times as much as the average one."""
_LEAST_DELTA = 1e-300
"""Stands for 0 where a logarithm is needed."""


def require_author_promise(relay: Relay, mechanisms: Sequence[Mechanism]) -> None:
    """Raise PrivacyError, with what would keep the promise, unless it holds with a margin."""
    try:
        relay.require_promise([each.message for each in mechanisms], part=_MARGIN)
    except PrivacyError as error:
        largest, batch = largest_epsilon(relay, mechanisms), smallest_batch(relay, mechanisms)
        remedies = [f"lower survey.epsilon to {largest}"] if largest else []
        remedies += [f"raise batch to {batch:,}"] if batch else []
        raise PrivacyError(f"{error.why}: {', or '.join(remedies)}", error.field) from error


def keeps_promise(relay: Relay, mechanisms: Iterable[Mechanism]) -> bool:
    """Return whether an author's promise holds with the mechanisms of a person's messages."""
    return _excess(relay, [each.message for each in mechanisms]) <= 0


def largest_epsilon(relay: Relay, mechanisms: Sequence[Mechanism]) -> Decimal:
    """Return the largest survey.epsilon that keeps the promise, rounded down to hundredths.

    If a person answers one question, it does not depend on the mechanisms, and is at least the promised
    epsilon. If they answer all, it is the sum of equal parts for these mechanisms; 0 if there is none.
    """
    least, most, messages = relay.epsilon, MAX_EPSILON, [Message(math.e)]
    if relay.asks_all:
        messages = [each.message for each in mechanisms]
        least, most = MIN_EPSILON * len(messages), min(MAX_SUM, MAX_EACH * len(messages))

    def excess(step: int) -> float:
        if relay.asks_all:
            changed = redesign_equally(mechanisms, Decimal(step) / 100)
            return _excess(relay, [each.message for each in changed])
        return _excess(relay, [Message(math.exp(step / 100))])

    def roughly(step: int) -> float:
        ratio = math.exp(step / 100 / len(messages))
        return _rough_excess(relay, sum(rough_cost(each, ratio) for each in messages))

    low = math.ceil(least * 100) - 1 if relay.asks_all else math.floor(least * 100)
    found = Decimal(_last(excess, roughly, low, int(most * 100) + 1)) / 100
    return found if found >= least or not relay.asks_all else Decimal(0)


def smallest_batch(relay: Relay, mechanisms: Sequence[Mechanism]) -> int | None:
    """Return the smallest batch that keeps the promise with these mechanisms; None if no batch does."""
    messages = [each.message for each in mechanisms]
    cost = sum(rough_cost(each, each.ratio) for each in messages)
    found = _last(
        lambda batch: -_excess(replace(relay, batch=batch), messages),
        lambda batch: -_rough_excess(replace(relay, batch=batch), cost),
        1,
        MAX_REPORTS + 1,
    )
    return found + 1 if found < MAX_REPORTS else None


def _excess(relay: Relay, messages: Sequence[Message]) -> float:
    """Return the logarithm of the part of delta that is too much; above 0 if the promise does not hold."""
    delta = relay.attained_delta(messages) if relay.honest_reports else 1.0
    return math.log(max(delta, _LEAST_DELTA)) - math.log(_MARGIN * float(relay.delta))


def _last(excess: Callable[[int], float], roughly: Callable[[int], float], least: int, most: int) -> int:
    """Return the last whole number for which a rising function is at most 0.

    The function is assumed to be at most 0 at `least`, and above 0 at `most`. `roughly` is cheap and similar:
    a straight line through the last two values corrects it.
    """
    slope, shift, stride = 1.0, 0.0, 1
    before: tuple[float, float] | None = None
    while most - least > 1:
        place, high = least, most
        while high - place > 1:
            middle = (place + high) // 2
            place, high = (middle, high) if slope * roughly(middle) + shift <= 0 else (place, middle)
        if place == least or high == most:  # the value there is known
            place = min(least + stride, most - 1) if place == least else max(most - stride, least + 1)
            stride *= 2
        value, rough = excess(place), roughly(place)
        least, most = (place, most) if value <= 0 else (least, place)
        if before and (value - before[1]) * (rough - before[0]) > 0:
            slope = (value - before[1]) / (rough - before[0])
        shift, before = value - slope * rough, (rough, value)
    return least


# -- the rough bound -----------------------------------------------------------------------------


def rough_cost(message: Message, ratio: float) -> float:
    """Return the cost of a message whose largest ratio is changed: the square of what a person's row moves.

    It is in units of the variance of what n = 1 other person sends.
    """
    if message.is_yes_no:
        return _WORST_CROWD * (ratio - 1) ** 2 / ratio
    return 2 * (ratio - 1) ** 2 / (ratio + effective_size(message) - 1)


def effective_size(message: Message) -> float:
    """Return k: direct encoding of as many values hides as well as this message."""
    return 2.0 if message.is_yes_no else (message.ratio + 1) / message.move - message.ratio + 1


def rough_budget(relay: Relay) -> float:
    """Return the sum of the costs of all messages with which the rough bound equals the promise."""
    low, high = 0.0, 1.0
    while _rough_excess(relay, high) < 0:
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if _rough_excess(relay, middle) > 0 else (middle, high)
    return low


def _rough_excess(relay: Relay, cost: float) -> float:
    """Return what :func:`_excess` returns, with delta of normal noise (Balle and Wang 2018, theorem 8)."""
    mu, epsilon = math.sqrt(cost / max(relay.honest_reports, 1)), float(relay.epsilon)
    delta = _normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * _normal(-mu / 2 - epsilon / mu)
    return math.log(max(delta, _LEAST_DELTA)) - math.log(_MARGIN * float(relay.delta))


def _normal(value: float) -> float:
    return math.erfc(-value / math.sqrt(2)) / 2


# -- parts of epsilon ----------------------------------------------------------------------------


def equal_part(epsilon: Decimal, count: int) -> Decimal:
    return round_part(epsilon / count)


def round_part(part: Decimal | float) -> Decimal:
    return Decimal(part).quantize(_STEP, ROUND_FLOOR)


def redesign(mechanism: Any, epsilon: Decimal) -> Any:
    theta = mechanism.parameters.get("theta")
    return type(mechanism).design(mechanism.domain, epsilon, *([] if theta is None else [Decimal(theta)]))


def redesign_equally(mechanisms: Sequence[Any], epsilon: Decimal) -> list[Any]:
    each = equal_part(epsilon, len(mechanisms))
    kinds = {(type(it), it.domain): it for it in mechanisms}
    made = {kind: redesign(it, each) for kind, it in kinds.items()}
    return [made[type(it), it.domain] for it in mechanisms]


@lru_cache(maxsize=8)  # a training states it in its file and in its summary
def shuffled_epsilon(ratio: float, reports: int, delta: float) -> float:
    """Return the epsilon of a shuffled report at a delta, rounded up to 1e-4; it is at most ln(ratio)."""
    local = math.log(ratio)
    low, high = 0, math.ceil(local / _EPSILON_ACCURACY)
    while reports and high - low > 1:
        middle = (low + high) // 2
        if shuffled_delta(ratio, reports, middle * _EPSILON_ACCURACY) <= delta:
            high = middle
        else:
            low = middle
    return min(local, high * _EPSILON_ACCURACY)


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
        size, ratios = effective_size(kind.message), [math.exp(n / _PER_UNIT) for n in _PARTS]
        scale = kind.margin / (1 + size / (kind.message.ratio - 1))
        margins = [scale * (1 + size / (p - 1)) for p in ratios]
        costs = [rough_cost(kind.message, p) for p in ratios]
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
        rough_budget(relay),
        sum(rough_cost(each.message, each.message.ratio) for each in kinds),
    )
    best = dict(zip(counts, _find_parts(counts, epsilon, budget), strict=True))
    equal = float(epsilon) / len(questions)

    def divide(weight: float) -> list[Question]:
        parts = [round_part(equal + weight * (best[kind] - equal)) for kind in kinds]
        pairs = zip(questions, parts, strict=True)
        return [replace(each, mechanism=redesign(each.mechanism, part)) for each, part in pairs]

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
    return keeps_promise(relay, [each.mechanism for each in questions])


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
