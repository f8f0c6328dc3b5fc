"""The mechanisms once more, slowly, from docs/wire-format.md alone: what the tests compare with.

Plain integers and loops, nothing shared with the code under test, nothing clever.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from fractions import Fraction
from itertools import accumulate
from typing import Any

WORD = 1 << 64
Tables = Mapping[str, Any]


def e_to_the(x: Fraction) -> tuple[Fraction, Fraction]:
    """Bracket e^x for x >= 0: Taylor's series at y = x/n <= 1/2, then n-fold multiplication.

    After the term y^N/N! the remainder is below 2 y^(N+1)/(N+1)! (a geometric tail of ratio <= 1/2).
    """
    parts = max(1, math.ceil(2 * x))
    y, total, term = x / parts, Fraction(1), Fraction(1)
    for n in range(1, 50):
        term = term * y / n
        total += term
    low, high = total, total + 2 * term * y / 50
    return low**parts, high**parts


def perturb(name: str, tables: Tables, domain: int, value: int, data: bytes) -> bytes:
    """Return the payload that follows from a value and its random bytes."""
    if name == "DE":
        return _direct(int(tables["keep"]), domain, value, data)
    if name == "SHE":
        return _histogram([int(weight) for weight in tables["weights"]], domain, value, data)
    return _unary(int(tables["bits"]), int(tables["p"]), int(tables["q"]), domain, value, data)


def _direct(keep: int, domain: int, value: int, data: bytes) -> bytes:
    r, s = int.from_bytes(data[:8], "little"), int.from_bytes(data[8:16], "little")
    others = [other for other in range(domain) if other != value]
    reported = value if r < keep else others[s * (domain - 1) // WORD]
    return reported.to_bytes(1 if domain <= 256 else 2, "little")


def draw_of(data: bytes, bits: int, width: int, position: int) -> int:
    """Put together the draw of one position from its bit in every slice."""
    draw = 0
    for j in range(bits):
        byte = data[j * width + position // 8]
        draw |= (byte >> position % 8 & 1) << j
    return draw


def sliced(draws: list[int], bits: int) -> bytes:
    """Lay out the draws of all positions as slices: the inverse of draw_of."""
    width = -(-len(draws) // 8)
    data = bytearray(bits * width)
    for position, draw in enumerate(draws):
        for j in range(bits):
            data[j * width + position // 8] |= (draw >> j & 1) << position % 8
    return bytes(data)


def _unary(bits: int, p: int, q: int, domain: int, value: int, data: bytes) -> bytes:
    width = -(-domain // 8)
    payload = bytearray(width)
    for i in range(domain):
        one = draw_of(data, bits, width, i) < (p if i == value else q)
        payload[i // 8] |= one << i % 8
    return bytes(payload)


def _histogram(weights: list[int], domain: int, value: int, data: bytes) -> bytes:
    steps = len(weights) - 1
    ends = list(accumulate(weights[abs(z)] for z in range(-steps, steps + 1)))[:-1]
    payload = b""
    for i in range(domain):
        z = bisect_right(ends, int.from_bytes(data[8 * i : 8 * i + 8], "little")) - steps
        payload += min(max(z + (i == value), 1 - steps), steps).to_bytes(2, "little", signed=True)
    return payload


def contribution(name: str, domain: int, payload: bytes) -> list[int]:
    """Return what one payload adds to the counters."""
    if name == "DE":
        return [int(int.from_bytes(payload, "little") == v) for v in range(domain)]
    if name == "SHE":
        return [int.from_bytes(payload[2 * v : 2 * v + 2], "little", signed=True) for v in range(domain)]
    return [payload[v // 8] >> v % 8 & 1 for v in range(domain)]
