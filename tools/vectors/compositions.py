"""Bounds on the privacy of people who answer every question through a relay, for all languages to compute."""

from __future__ import annotations

import math
import random
from typing import Any

from encoders.composition import Message, composed_delta

RANDOM_SURVEYS = 48
FORMS: tuple[Message, ...] = (Message(3.0), Message(3.0, 0.8), Message(3.0, 1.0, True))
SINGLE = [
    *((message, people, epsilon) for message in FORMS for people in (1, 2, 700) for epsilon in (0.0, 0.2)),
    *((message, 10**9, 0.01) for message in FORMS),
    (Message(1.0001), 50, 0.0),
    (Message(1.0001, 1.0, True), 50, 0.0),
    (Message(54.6, 0.02), 100, 3.0),
    (Message(1e9), 1000, 3.0),
]
"""One question: each form, few people and many, small and large ratios and moves."""


def compositions() -> dict[str, Any]:
    """Return the content of compositions.json."""
    rng = random.Random(20)
    cases = [_case([(message, 1)], people, epsilon) for message, people, epsilon in SINGLE]
    return {"cases": cases + [_random_case(rng) for _ in range(RANDOM_SURVEYS)]}


def _random_case(rng: random.Random) -> dict[str, Any]:
    """Return a survey of up to 15 questions; its delta is mostly between 1e-9 and 0.1."""
    people = round(10 ** rng.uniform(0.3, 4))
    runs, variance, total = [], 0.0, 0.0
    for _ in range(rng.randint(1, 3)):
        ratio = round(math.exp(rng.uniform(0.3, 3)), 4)
        values = rng.choice([2, 2, 3, 4, 9])
        # the second form, for 2 values, is the one for every mechanism
        move = 1.0 if values == 2 else min(1.0, round((ratio + 1) / (ratio + values - 1) + 5e-7, 6))
        count = rng.randint(1, 5)
        runs.append((Message(ratio, move, values == 2 and rng.random() < 0.7), count))
        variance += 2 * count * (ratio - 1) ** 2 / (ratio + values - 1) / people
        total += count * math.log(ratio)
    epsilon = min(variance / 2 + math.sqrt(variance) * rng.uniform(1, 5), 0.9 * total)
    return _case(runs, people, round(epsilon, 3))


def _case(runs: list[tuple[Message, int]], people: int, epsilon: float) -> dict[str, Any]:
    delta = composed_delta([message for message, count in runs for _ in range(count)], people, epsilon)
    return {
        "messages": [message._asdict() | {"count": count} for message, count in runs],
        "people": people,
        "epsilon": epsilon,
        "delta": float(f"{delta:.11g}"),
    }
