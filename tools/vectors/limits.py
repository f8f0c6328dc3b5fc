"""Random bytes at the exact limits of a mechanism: a port that is off by one, or uses doubles, differs here.

The bytes follow docs/wire-format.md; the client computes the expected report.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, cycle, islice
from typing import Any

from encoders.survey.questions import Question
from tests.support import reference
from tools.vectors.common import WORD, words

G = 1 << 20


def noises(question: Question, value: Any) -> Iterator[bytes]:
    """Yield bytes for a question's mechanism with which `value` just is, or just is not, reported."""
    mechanism, tables = question.mechanism, question.mechanism.parameters
    if question.moment is None:
        yield from oracle(mechanism.name, tables, question.domain, value)
    elif mechanism.name in ("laplace", "sampled-laplace"):
        yield from laplace(question, tables, value if mechanism.multivariate else (value,))
    else:
        u, label = divmod(value, len(question.label.values))
        missing = u > 2 * G
        own = label + len(question.label.values) * missing
        yield from NUMERIC[mechanism.name](question, tables, own, 2 * G if missing else u)


def oracle(name: str, tables: Any, domain: int, value: int) -> Iterator[bytes]:
    if name == "DE":
        keep, first = int(tables["keep"]), _first(min(value, domain - 2), domain - 1)
        yield words(keep - 1, first)
        yield words(keep, first)
        yield words(keep, max(first - 1, 0))
    elif name == "SHE":
        for start in (0, 3):
            yield words(*_cell_ends(tables["weights"], domain, start))
    elif name == "SS":
        keep, size = int(tables["keep"]), int(tables["size"])
        for r, left in ((keep - 1, size - 1), (keep, size)):
            count = math.comb(domain - 1, left)
            for first in sorted({0, count // 2, count - 1}):
                yield from (words(r, s) for s in _around(_first(first, count)))
            yield words(r, WORD - 1)
    else:
        bits, p, q = (int(tables[key]) for key in ("bits", "p", "q"))
        for own in (p - 1, p):
            draws = [own if i == value else q - i % 2 for i in range(domain)]
            yield reference.sliced(draws, bits)


def sign(question: Question, tables: Any, own: int, u: int) -> Iterator[bytes]:
    squares, missing, labels = (
        question.moment == 2,
        question.numeric_domain.missing[0],
        len(question.label.values),
    )
    limit = (u - G) << 44 if squares else u << 43
    for r in _around(limit):
        b = int(r < limit)
        data = next(oracle(tables["oracle"], tables, (2 + missing) * labels, b * labels + own % labels))
        yield words(r) + data


def onebit(question: Question, tables: Any, own: int, u: int) -> Iterator[bytes]:
    slots = question.numeric_domain.slots
    first = _first(own, slots)
    for s in _around(_coin(tables, u)):
        yield words(first, s)
    for s in _around(_coin(tables, G)) if slots > 1 else []:
        yield words(first - 1 if own else _first(1, slots), s)


def sign_vector(question: Question, tables: Any, own: int, u: int) -> Iterator[bytes]:
    width = -(-question.numeric_domain.slots // 8)
    for s in _around(_coin(tables, u)):
        yield b"\xa5" * width + words(s)


def piecewise(question: Question, tables: Any, own: int, u: int) -> Iterator[bytes]:
    near, window = int(tables["near"]), 2 * int(tables["reach"]) + 1
    v = 2 * (u - G) if question.moment == 2 else u
    rounding = _around((v % (1 << 14)) << 50)
    everywhere = question.numeric_domain.slots * (128 + window)
    for r in rounding:
        yield words(r, near - 1, _first(1, window))
    yield words(rounding[0], near - 1, _first(1, window) - 1)
    yield words(rounding[0], near, _first(everywhere - 1, everywhere))
    yield words(rounding[0], near, _first(everywhere - 1, everywhere) - 1)


def laplace(question: Question, tables: Any, values: Sequence[int]) -> Iterator[bytes]:
    bits, labels = 21 - int(tables["steps"]).bit_length(), len(question.label.values)
    codes = [min(value // labels, 2 * G) for value in values]
    limits = [(u % (1 << bits)) << (64 - bits) for u in codes]
    for place, start in ((0, 0), (-1, 3)):
        rounding = [_around(limit)[place] for limit in limits]
        yield words(*rounding, *_cell_ends(tables["weights"], question.numeric_domain.slots, start))


NUMERIC = {"onebit": onebit, "piecewise": piecewise, "sign": sign, "sign-vector": sign_vector}


def _first(index: int, cells: int) -> int:
    """Return the least word w with ``w * cells >> 64 == index``."""
    return -(-index * WORD // cells)


def _around(limit: int) -> list[int]:
    """Return the last word below a limit and the first that is not, if there are such words."""
    return [word for word in (limit - 1, limit) if 0 <= word < WORD]


def _coin(tables: Any, u: int) -> int:
    q = int(tables["q"])
    return q + ((WORD - 2 * q) * u >> 21)


def _cell_ends(weights: Sequence[str], count: int, start: int) -> list[int]:
    """Return words at both ends of the outermost and the middle cells of Laplace's noise."""
    magnitudes = [int(weight) for weight in weights]
    ends = list(accumulate([*reversed(magnitudes[1:]), *magnitudes]))[:-1]
    middle = len(magnitudes) - 1
    limits = {ends[0], ends[middle - 1], ends[middle], ends[-1]}
    edges = [0, *(limit - step for limit in sorted(limits) for step in (1, 0)), WORD - 1]
    return list(islice(cycle(edges[start:] + edges[:start]), count))
