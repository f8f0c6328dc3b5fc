"""Bad plans with a mistake in their projection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools.vectors.plan_mistakes.honest import edited, text_of

PROJECTION = """
[features.first]
range = [-1, 1]
bins = 2
weights = [0.25, 1]
[projection.inputs.pulse]
range = [40, 180]
[projection.inputs.weight]
range = [0, 300]
"""


def projections() -> Iterator[tuple[str, str]]:
    base = text_of(projection=PROJECTION)
    changes: dict[str, tuple[str, Any]] = {
        "no inputs": ("inputs", []),
        "an input that is binned": ("inputs/0/kind", "binned"),
        "an input named as a feature": ("inputs/0/name", "age"),
        "an input that may be missing, of a feature that may not": ("inputs/0/missing", "category"),
        "no components": ("components", []),
        "a component of no feature's name": ("components/0/name", "third"),
        "a component named as a category": ("components/0/name", "age"),
        "a weight less than inputs": ("components/0/weights", ["1"]),
        "a weight of seven decimals": ("components/0/weights/0", "0.0000001"),
        "a weight with a trailing zero": ("components/0/weights/0", "0.250"),
        "a weight with an exponent": ("components/0/weights/0", "1e1"),
        "a weight of minus zero": ("components/0/weights/0", "-0"),
        "a weight as a number": ("components/0/weights/0", 1),
        "weights above 8000": ("components/0/weights", ["-4000", "4000.000001"]),
        "an offset that is empty": ("components/0/offset", ""),
        "no offset": ("components/0/offset", ...),
        "an unknown entry": ("more", 1),
    }
    for name, (path, value) in changes.items():
        yield f"projection: {name}", edited(f"projection/{path}", value, base)
