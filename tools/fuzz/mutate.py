"""Changes JSON documents in one place, so that most inputs pass the parser and reach the checks behind it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 255, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63), 2**64, 10**400, 0.5, -0.0,
    1e-320, 1e308, "", "0", "1", "-1", "1.0", "1e9", "1e999999999", "NaN", "Infinity", "9" * 5000, "\ud800",
    "\x00", "\u202e", [], {}, [[]], [{}], [0], ["a"], {"a": 0},
)  # fmt: skip
"""Values that stand in for another one; 1e999999999 is a decimal that fits into no integer."""


def mutate_json(data: bytes, change_bytes: Callable[[bytes, int], bytes], size: int, seed: int) -> bytes:
    """Return the input changed in one to three places of its JSON, or a third of the time in its bytes."""
    rng = random.Random(seed)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        document = None
    if document is None or rng.random() < 1 / 3:
        return change_bytes(data, size)
    for _ in range(rng.choice((1, 1, 2, 3))):
        document = _change(document, rng, change_bytes)
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")[:size]


def _change(document: Any, rng: random.Random, change_bytes: Callable[[bytes, int], bytes]) -> Any:
    nodes = list(_nodes(document))
    if not nodes:
        return document
    holder, key = rng.choice(nodes)
    kind, value = rng.randrange(6), holder[key]
    if kind == 0:
        del holder[key]
    elif kind == 1:
        holder[key] = deepcopy(rng.choice(VALUES))
    elif kind == 2:  # another value of the document
        other, place = rng.choice(nodes)
        holder[key] = deepcopy(other[place])
    elif kind == 3 and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), deepcopy(value))
    elif kind == 4 and isinstance(holder, dict):
        holder[rng.choice(("", "a", "label", "kind", key + "x"))] = holder.pop(key)
    elif isinstance(value, str):
        changed = change_bytes(value.encode("utf-8", "surrogatepass"), len(value) + 8)
        holder[key] = changed.decode("utf-8", "replace")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        holder[key] = rng.choice((value + 1, value - 1, -value, value * 2, value * 10**9, value // 2))
    else:
        holder[key] = deepcopy(rng.choice(VALUES))
    return document


def _nodes(document: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place of a document: the dict or list, and the key or index."""
    waiting = [document]
    while waiting:
        holder = waiting.pop()
        if isinstance(holder, (dict, list)):
            for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
                yield holder, key
                waiting.append(holder[key])
