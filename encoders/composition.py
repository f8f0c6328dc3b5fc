"""The privacy of a person who answers every question through a relay: an upper bound on delta.

The n honest messages of each question are shuffled by themselves. For each question, a pair of distributions
(P, P') dominates what a pair of rows can change. Then (proof: docs/shuffling.md)

    delta(epsilon) <= sum over all losses l > epsilon of P(l) (1 - e^(epsilon - l)),

where the *loss* l is the sum of ln(P/P') over the questions. A pair is its own mirror image, so only its
right half is kept: the masses of P at the losses 0, 0.01, 0.02, ...; half of the mass at 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import mul
from typing import NamedTuple, SupportsFloat

from encoders.errors import SurveyError
from encoders.shuffling import binomial

_STEPS = 100
_CROWDS = 64
_CLONES = 4000
"""At most so many clones are expected; more people are left out, which never lowers delta."""
_NEGLIGIBLE = 1e-24
"""Probabilities of sums of steps below this are left out."""
_TRIMMED = 1e-18
_LEFT_OUT = 1e-17
"""More than all probabilities that are left out from one pair."""
_RELATIVE_ERROR = 1e-6
_ABSOLUTE_ERROR = 1e-14
_CURVE_ERROR = 1e-12
"""More than the error of a curve, whose values are differences of rounded numbers."""


_Losses = tuple[int, list[float], float]
"""The least loss in steps, the masses of P from there on, and the mass that was cut off at the top."""


class Message(NamedTuple):
    """What the bound needs to know about the message of one question."""

    ratio: float
    """p, above 1: at least the largest ratio of the probabilities of one message for any two answers."""
    move: float = 1.0
    """h: 1 is valid for every mechanism, (p + 1)/(p + k - 1) for direct encoding of k values.

    A value below 1 needs R(x, y) + R(x', y) <= (p + 1) min_z R(z, y) for all rows of the probabilities R, and
    is (p + 1)/(p - 1) times the largest distance of two rows in total variation.
    """
    is_yes_no: bool = False
    """Whether the answer has two values; the bound is then smaller, and does not use `move`."""


def composed_delta(messages: Sequence[Message], people: int, epsilon: float) -> float:
    """Return an upper bound on the delta of a person who sends one message for every question.

    `people` is the number of honest people in the batch including the person, and `epsilon` is that after
    shuffling. Raises SurveyError if `people` is below 1, or if there are no messages or impossible ones.
    """
    if people < 1:
        raise SurveyError("must be at least 1", "people")
    if not messages or not all(each.ratio > 1 and each.move > 0 for each in messages):
        raise SurveyError("needs at least one message, ratios above 1 and moves above 0", "messages")
    low, masses, lost = _sum_of_losses(tuple(messages), people)
    above = (mass * max(0.0, 1 - math.exp(epsilon - k / _STEPS)) for k, mass in enumerate(masses, low))
    error = _ABSOLUTE_ERROR + _CURVE_ERROR * sum(message.is_yes_no for message in messages)
    return min(1.0, math.fsum([lost, *above]) * (1 + _RELATIVE_ERROR) + error)


def round_up(value: SupportsFloat) -> float:
    """Return a number that is larger by more than the rounding of a fraction to a float."""
    return float(value) * (1 + 1e-12)


def _sum_of_losses(messages: tuple[Message, ...], people: int) -> _Losses:
    """Return the least sum of the losses of all questions, in steps, its masses, and all that was cut off."""
    low, masses, lost = 0, [1.0], 0.0
    known: dict[Message, _Losses] = {}
    for message in messages:
        if message not in known:
            known[message] = _trim(*_message_losses(message, people))
        first, losses, cut = known[message]
        lost += cut + _LEFT_OUT
        low, masses, cut = _trim(low + first, _convolve(masses, losses))
        lost += cut
    return low, masses, lost


def _message_losses(message: Message, people: int) -> tuple[int, list[float]]:
    """Return the least loss of one question, in steps, and the masses of P from there on."""
    people = min(people, int(_CLONES / 2 * (message.ratio + 1)))
    powers = [math.exp(k / _STEPS) for k in range(int(math.log(message.ratio) * _STEPS) + 3)]
    half = _yes_no_half if message.is_yes_no else _walk_half
    right = half(message, people, powers)
    left = [mass / power for mass, power in zip(right, powers, strict=True)]
    return 1 - len(right), [*left[:0:-1], 2 * right[0], *right[1:]]


# -- every mechanism: a walk of lazy steps ------------------------------------------------------


def _walk_half(message: Message, people: int, powers: Sequence[float]) -> list[float]:
    """Return the right half of the pair for every mechanism, and for direct encoding.

    Each clone, and the person, makes a step of +1 or -1, or stays. The collector sees N and the sum s of the
    N steps. P and P' are b(s) (1 + x) and b(s) (1 - x) with x = (p - 1)/(p + 1) s/N, where b(s) is the
    probability of s if no step depends on a row.
    """
    ratio, move = message.ratio, min(1.0, message.move)
    least, weights = binomial(people - 1, 2 / (ratio + 1))
    width = max(1, int(math.sqrt(2 * people * (ratio - 1)) / (ratio + 1) / 8))
    # the loss is at least k steps if s is at least edges[k] N
    edges = [math.tanh(k / 2 / _STEPS) * (ratio + 1) / (ratio - 1) for k in range(len(powers) - 1)]
    first, second = [0.0] * len(powers), [0.0] * len(powers)
    ends = _walk(least + 1, move)
    for start in range(0, len(weights), width):
        size = least + start + 1  # of all sizes of this group, the least: fewer clones never hide better
        for _ in range(width if start else 0):
            ends = _step(ends, move)
        scale = math.fsum(weights[start : start + width]) / ((ratio + 1) * size)
        begin = 0
        for k in range(len(edges)):
            end = math.ceil(edges[k + 1] * size) if k + 1 < len(edges) else len(ends)
            part = ends[begin:end]
            if k == 0:
                part[0] /= 2
            minus = sum(map(mul, part, range(size - begin, 0, -1)))
            plus = 2 * size * sum(part) - minus
            first[k] += scale * (ratio * plus + minus)
            second[k] += scale * (ratio * minus + plus)
            begin += len(part)
            if begin == len(ends):
                break
    return _split(first, second, powers)


def _walk(steps: int, move: float) -> list[float]:
    """Return the probabilities that lazy steps end at 0, 1, 2, ...: each is +1 or -1 with move/2, else 0."""
    stay, side = 1 - move, move / 2
    ends = [1.0]  # proportional to the probabilities at -steps, 1 - steps, ..., 0
    before = 0.0
    for j in range(steps):
        following = (stay * (steps - j) * ends[-1] + side * (2 * steps - j + 1) * before) / (side * (j + 1))
        before = ends[-1]
        ends.append(following)
        if following > 1e200:
            before *= 1e-200
            ends = [each * 1e-200 for each in ends]
    ends.reverse()
    total = 2 * math.fsum(ends) - ends[0]
    return [each / total for each in ends]


def _step(ends: Sequence[float], move: float) -> list[float]:
    stay, side = 1 - move, move / 2
    inner = zip(ends, ends[1:], [*ends[2:], 0.0], strict=False)
    after = [stay * ends[0] + move * ends[1]]
    after += [stay * here + side * (below + above) for below, here, above in inner]
    after.append(side * ends[-1])
    while len(after) > 2 and after[-1] < _NEGLIGIBLE:
        after.pop()
    return after


def _split(first: Sequence[float], second: Sequence[float], powers: Sequence[float]) -> list[float]:
    """Return masses of P on the grid, from masses of P and P' with losses between k steps and k + 1.

    Both masses are kept, so only the spread of P/P' grows.
    """
    right = [0.0] * len(first)
    for k, (one, other) in enumerate(zip(first, second, strict=True)):
        if one:
            up = min(one, max(0.0, (one - other * powers[k]) / (1 - 1 / powers[1])))
            right[k] += one - up
            right[k + 1] += up
    return right


# -- answers with two values: the sum of all messages -------------------------------------------


def _yes_no_half(message: Message, people: int, powers: Sequence[float]) -> list[float]:
    """Return the right half of the pair whose curve sum max(0, P - q P') is the largest of all crowds.

    Each group of crowds is replaced by its fewest noes and fewest yeses. Between the grid's q, the curve is a
    straight line, which is above the true, convex curve.
    """
    group = max(1, people // _CROWDS)
    curve = [0.0] * len(powers)
    for noes in range(0, people, group):
        crowd = _crowd_curve(message.ratio, noes, max(0, people - group - noes), powers)
        curve = list(map(max, curve, crowd))
    pairs = zip(curve, curve[1:], powers, powers[1:], strict=False)
    slopes = [*((after - here) / (q - p) for here, after, p, q in pairs), 0.0]
    bends = [max(0.0, b - a) * q for a, b, q in zip(slopes, slopes[1:], powers[1:], strict=False)]
    return [max(0.0, slopes[0] + (1 - curve[0]) / 2), *bends]


def _crowd_curve(ratio: float, noes: int, yeses: int, powers: Iterable[float]) -> list[float]:
    """Return sum max(0, P - q P') of the number of messages that say yes, for each q of at least 1.

    With f for the number of yeses of the other people, which is log-concave, it is the largest value of
    (p - q)/(p + 1) f(t - 1) - (q - 1) f(t or more) over t, and t rises with q.
    """
    wrong = 1 / (ratio + 1)
    centre = int(noes * wrong + yeses * (1 - wrong))
    others = _sum_of_binomials(noes, yeses, wrong, max(0, centre - 1))
    tails = [0.0]
    for each in reversed(others):
        tails.append(tails[-1] + each)
    tails.reverse()
    curve, i = [], 1
    for q in powers:
        gain, loss = (ratio - q) * wrong, (ratio * q - 1) * wrong
        while i < len(others) and gain * others[i - 1] < loss * others[i]:
            i += 1
        curve.append(max(0.0, gain * others[i - 1] - (q - 1) * tails[i]))
    return curve


def _sum_of_binomials(noes: int, yeses: int, wrong: float, start: int) -> list[float]:
    least_no, from_noes = binomial(noes, wrong)
    least_yes, from_yeses = binomial(yeses, 1 - wrong)
    backwards = from_yeses[::-1]
    shift = start - least_no - least_yes - len(backwards) + 1
    return [
        sum(map(mul, from_noes[max(0, d) :], backwards[max(0, -d) :])) for d in range(shift, len(from_noes))
    ]


# -- the grid -----------------------------------------------------------------------------------


def _trim(low: int, masses: list[float]) -> _Losses:
    small = cut = 0.0
    first = 0
    while small + masses[first] < _TRIMMED:
        small += masses[first]
        first += 1
    kept = masses[first:]
    kept[0] += small
    while cut + kept[-1] < _TRIMMED:
        cut += kept.pop()
    return low + first, kept, cut


def _convolve(one: Sequence[float], other: Sequence[float]) -> list[float]:
    sums = [0.0] * (len(one) + len(other) - 1)
    for j, factor in enumerate(other):
        if not factor:
            continue
        here = sums[j : j + len(one)]
        sums[j : j + len(one)] = [each + factor * mass for each, mass in zip(here, one, strict=True)]
    return sums
