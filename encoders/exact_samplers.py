"""Exact sampling for trusted curators and silos: integers and fractions only, because float noise leaks.

The samplers of discrete noise are those of Canonne, Kamath and Steinke (2020), sections 5.1 and 5.2; the
choice is permute-and-flip of McKenna and Sheldon (2020). See docs/results/replication.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from encoders.randomness import RandomSource


def draw_below(bound: int, source: RandomSource) -> int:
    """Return a uniform integer of 0, ..., bound - 1, by rejection."""
    bits = (bound - 1).bit_length()
    size = (bits + 7) // 8
    while True:
        drawn = int.from_bytes(source.take(size), "little") >> 8 * size - bits
        if drawn < bound:
            return drawn


def draw_bernoulli_exp(top: int, bottom: int, source: RandomSource) -> bool:
    """Return True with probability e^(-top / bottom), for top >= 0 and bottom >= 1."""
    while top > bottom:
        if not _draw_short_exp(1, 1, source):
            return False
        top -= bottom
    return _draw_short_exp(top, bottom, source)


def _draw_short_exp(top: int, bottom: int, source: RandomSource) -> bool:
    count = 1
    while draw_below(bottom * count, source) < top:
        count += 1
    return count % 2 == 1


def draw_laplace(scale: Fraction, source: RandomSource) -> int:
    """Return discrete Laplace noise: P[z] is proportional to e^(-|z| / scale) on all integers."""
    t, u = scale.numerator, scale.denominator
    while True:
        rest = draw_below(t, source)
        if not _draw_short_exp(rest, t, source):
            continue
        whole = 0
        while _draw_short_exp(1, 1, source):
            whole += 1
        size = (rest + t * whole) // u
        negative = draw_below(2, source)
        if size or not negative:
            return -size if negative else size


def permute_and_flip(scores: Sequence[Fraction | int], rate: Fraction, source: RandomSource) -> int:
    """Return the index of one of the best scores, chosen with permute-and-flip.

    `rate` is epsilon / (2 s) for scores of sensitivity s. It is epsilon / s if adding a row never lowers any
    score, or never raises any.
    """
    best = max(scores)
    order = list(range(len(scores)))
    while True:  # ends within one round: the best is accepted surely
        place = draw_below(len(order), source)
        order[place], order[-1] = order[-1], order[place]
        index = order.pop()
        loss = rate * (best - scores[index])
        if draw_bernoulli_exp(loss.numerator, loss.denominator, source):
            return index
