"""The mechanisms once more, slowly, from docs/wire-format.md alone: what the tests compare with.

Plain integers and loops, nothing shared with the code under test, nothing clever.
"""

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
    if name == "SS":
        return _subset(int(tables["keep"]), int(tables["size"]), domain, value, data)
    return _unary(int(tables["bits"]), int(tables["p"]), int(tables["q"]), domain, value, data)


def _direct(keep: int, domain: int, value: int, data: bytes) -> bytes:
    r, s = int.from_bytes(data[:8], "little"), int.from_bytes(data[8:16], "little")
    others = [other for other in range(domain) if other != value]
    reported = value if r < keep else others[s * (domain - 1) // WORD]
    return reported.to_bytes(1 if domain <= 256 else 2, "little")


def draw_of(data: bytes, bits: int, width: int, position: int) -> int:
    """Return the draw of one position from its bit in every slice."""
    draw = 0
    for j in range(bits):
        byte = data[j * width + position // 8]
        draw |= (byte >> position % 8 & 1) << j
    return draw


def sliced(draws: list[int], bits: int) -> bytes:
    """Return the slices of the draws of all positions: the inverse of draw_of."""
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


def _subset(keep: int, size: int, domain: int, value: int, data: bytes) -> bytes:
    r, s = _word(data, 0), _word(data, 1)
    chosen = [value] if r < keep else []
    left = size - len(chosen)
    number = s * math.comb(domain - 1, left) // WORD
    for i in range(domain - 2, -1, -1):
        if left and number >= math.comb(i, left):
            number -= math.comb(i, left)
            left -= 1
            chosen.append((value + 1 + i) % domain)
    assert number == left == 0
    return sum(1 << each for each in chosen).to_bytes(-(-domain // 8), "little")


def contribution(name: str, domain: int, payload: bytes) -> list[int]:
    """Return what one payload adds to the counters."""
    if name == "DE":
        return [int(int.from_bytes(payload, "little") == v) for v in range(domain)]
    if name == "SHE":
        return [int.from_bytes(payload[2 * v : 2 * v + 2], "little", signed=True) for v in range(domain)]
    return [payload[v // 8] >> v % 8 & 1 for v in range(domain)]


# -- numbers -----------------------------------------------------------------------------------

G = 1 << 20


def number_code(low: str, high: str, missing: str, x: float | None) -> int:
    """Return the code of a double, or of None for what is missing, in a numeric feature."""
    if x is None:
        assert missing == "category"
        return 2 * G + 1
    least, most = float(low), float(high)
    return math.floor((min(max(x, least), most) - least) / (most - least) * 2097152 + 0.5)


def component(weights: list[str], offset: str, codes: list[int]) -> float | None:
    """Return the number that a projection makes of its inputs' codes."""
    if 2 * G + 1 in codes:
        return None
    millionths = [int(Fraction(text) * 1000000) for text in (*weights, offset)]
    total = millionths[-1] * G
    for weight, code in zip(millionths, codes, strict=False):
        total += weight * (code - G)
    assert abs(total) < 1 << 53
    return float(total) / float(1000000 * G)


def square_of(u: int) -> int:
    """Return the code of a number's square."""
    return u if u == 2 * G + 1 else G + ((u - G) ** 2 + 524288) // G


def features_of(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the features of a plan or a model: a yes/no feature for each choice of an entry."""
    return [
        feature
        for entry in plan["features"]
        for feature in (
            [entry | {"kind": "categorical", "values": ["no", "yes"]}] * len(entry["values"])
            if entry["kind"] == "choices"
            else [entry]
        )
    ]


def scores_of(model: Mapping[str, Any], codes: list[int], top: int) -> list[int]:
    """Return each label's score by the first `top` features of a validated model's order."""
    scores, features = list(model["prior"]), features_of(model)
    for place in model["order"][:top]:
        is_number = features[place]["kind"] == "numeric"
        cell = codes[place] * 64 // 2097153 if is_number else codes[place]
        for label in range(len(scores)):
            scores[label] += model["scores"][place][cell][label]
    return scores


def outcomes(model: Mapping[str, Any], codes: list[int], label: int) -> tuple[list[int], int]:
    """Return the codes of a validation's features and of its label."""
    found = []
    for top in (*model["tops"], len(model["order"])):
        scores = scores_of(model, codes, top)
        guess = 0
        for other in range(len(scores)):
            if scores[other] > scores[guess]:
                guess = other
        found.append(1 if guess == label else 0)
    return found[:-1], found[-1]


def slots_of(labels: int, missing: tuple[bool, ...]) -> int:
    """Return how many slots hide the class."""
    return sum(2 * labels if absent else labels for absent in missing)


def perturb_numbers(
    name: str,
    tables: Tables,
    labels: int,
    missing: tuple[bool, ...],
    squares: bool,
    values: list[int],
    data: bytes,
) -> bytes:
    """Return the payload that follows from one value per number, u k + c, and the random bytes."""
    if name == "sign":
        return _sign(tables, labels, missing[0], squares, values[0], data)
    if name in ("laplace", "sampled-laplace"):
        return _noisy_slots(tables, labels, missing, values, data)
    own, u = _own_slot(labels, values[0])
    slots = slots_of(labels, missing)
    if name == "sign-vector":
        width = -(-slots // 8)
        bits = [data[i // 8] >> i % 8 & 1 for i in range(slots)]
        bits[own] = int(_word(data[width:], 0) < _coin(tables, u))
        return bytes(sum(bits[i] << i % 8 for i in range(slots) if i // 8 == j) for j in range(width))
    if name == "onebit":
        slot = _word(data, 0) * slots // WORD
        bit = _word(data, 1) < _coin(tables, u if slot == own else G)
        return (2 * slot + bit).to_bytes(1 if 2 * slots <= 256 else 2, "little")
    assert name == "piecewise"
    reach = int(tables["reach"])
    line, v = 129 + 2 * reach, 2 * (u - G) if squares else u
    position = v // 2**14 + (_word(data, 0) // 2**50 < v % 2**14)
    if _word(data, 1) < int(tables["near"]):
        cell = own * line + position + _word(data, 2) * (2 * reach + 1) // WORD
    else:
        cell = _word(data, 2) * (slots * line) // WORD
    return cell.to_bytes(2, "little")


def _word(data: bytes, index: int) -> int:
    return int.from_bytes(data[8 * index : 8 * index + 8], "little")


def _own_slot(labels: int, value: int) -> tuple[int, int]:
    u, label = divmod(value, labels)
    return (labels + label, 2 * G) if u == 2 * G + 1 else (label, u)


def _coin(tables: Tables, u: int) -> int:
    q = int(tables["q"])
    return q + (WORD - 2 * q) * u // 2**21


def _sign(tables: Tables, labels: int, absent: bool, squares: bool, value: int, data: bytes) -> bytes:
    u, label = divmod(value, labels)
    if u == 2 * G + 1:
        sign = 2
    elif squares:
        sign = int(_word(data, 0) // 2**44 < u - G)
    else:
        sign = int(_word(data, 0) // 2**43 < u)
    domain = 3 * labels if absent else 2 * labels
    return perturb(tables["oracle"], tables, domain, sign * labels + label, data[8:])


def _noisy_slots(
    tables: Tables, labels: int, missing: tuple[bool, ...], values: list[int], data: bytes
) -> bytes:
    steps = int(tables["steps"])
    bits = 20 - steps.bit_length() + 1
    vector: list[int] = []
    for number, (absent, value) in enumerate(zip(missing, values, strict=True)):
        own, u = _own_slot(labels, value)
        up = _word(data, number) // 2 ** (64 - bits) < u % 2**bits
        slots = [0] * (2 * labels if absent else labels)
        slots[own] = u // 2**bits + up - steps
        vector += slots
    weights = [int(weight) for weight in tables["weights"]]
    top = len(weights) - 1
    ends = list(accumulate(weights[abs(z)] for z in range(-top, top + 1)))[:-1]
    payload = b""
    for i, x in enumerate(vector):
        z = bisect_right(ends, _word(data, len(missing) + i)) - top
        payload += min(max(x + z, steps - top), top - steps).to_bytes(2, "little", signed=True)
    return payload


def slot_laws(tables: Tables, lowest: int) -> dict[int, dict[int, Fraction]]:
    """Return, for each x from lowest to steps that a slot of Laplace's may hold, the law of what is sent."""
    steps, weights = int(tables["steps"]), [int(weight) for weight in tables["weights"]]
    top = len(weights) - 1
    laws = {}
    for x in range(lowest, steps + 1):
        law = dict.fromkeys(range(steps - top, top - steps + 1), 0)
        for z in range(-top, top + 1):
            law[min(max(x + z, steps - top), top - steps)] += weights[abs(z)]
        laws[x] = {y: Fraction(words, WORD) for y, words in law.items()}
    return laws


def contribution_of_numbers(
    name: str, tables: Tables, labels: int, missing: tuple[bool, ...], payload: bytes, powers: int = 1
) -> list[int]:
    """Return what one payload of a mechanism for numbers adds to the counters.

    A question about both moments counts four powers of a position, instead of one.
    """
    slots = slots_of(labels, missing)
    if name == "sign":
        return contribution(tables["oracle"], (3 if missing[0] else 2) * labels, payload)
    if name in ("laplace", "sampled-laplace"):
        return [int.from_bytes(payload[2 * i : 2 * i + 2], "little", signed=True) for i in range(slots)]
    if name == "sign-vector":
        return [1 if payload[i // 8] >> i % 8 & 1 else -1 for i in range(slots)]
    reported = int.from_bytes(payload, "little")
    if name == "onebit":
        return [0 if i != reported // 2 else (1 if reported % 2 else -1) for i in range(slots)]
    reach = int(tables["reach"])
    line, cell = divmod(reported, 129 + 2 * reach)
    counts = [int(i == line) for i in range(slots)]
    return [count * (cell - 64 - reach) ** power for power in range(1 + powers) for count in counts]
