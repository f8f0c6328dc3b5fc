"""Bad plans with tables of several features, and with questions about intervals of an ordered feature."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tools.vectors.plan_mistakes.honest import edited
from tools.vectors.tables import plan_with_tables


def levels() -> Iterator[tuple[str, str]]:
    """Yield plans whose tables or intervals are wrong."""
    labelled, base = (plan_with_tables(each).json.decode() for each in (True, False))
    listed = json.loads(base)["questions"]
    level = next(place for place, each in enumerate(listed) if each["feature"] == 2 and "width" in each)
    single = next(place for place, each in enumerate(listed) if each["feature"] == 2 and "width" not in each)
    coupled = next(place for place, each in enumerate(_questions(labelled)) if each["feature"] == 2)
    table = next(place for place, each in enumerate(_questions(labelled)) if each["feature"] == [0, 1])
    mean = next(place for place, each in enumerate(listed) if "moment" in each)
    changes: dict[str, tuple[str, Any]] = {
        "a width of 1": (f"questions/{single}/width", 1),
        "a width of 0": (f"questions/{level}/width", 0),
        "a width below 0": (f"questions/{level}/width", -3),
        "a width as text": (f"questions/{level}/width", str(listed[level]["width"])),
        "a width that is true": (f"questions/{level}/width", True),
        "a width of all values": (f"questions/{level}/width", 50),
        "a width that does not fit the domain": (f"questions/{level}/width", listed[level]["width"] + 1),
        "no width": (f"questions/{level}/width", ...),
        "a width of a feature without an order": ("questions/0/width", 2),
        "a width of a table": ("questions/1/width", 2),
        "a width of a number": (f"questions/{mean}/width", 2),
        "a weight above 12000000": (f"questions/{level}/weight", 12_000_001),
        "bins that say that they are ordered": ("features/2/ordered", True),
        "choices that are ordered": ("features/4/ordered", True),
        "a number that is ordered": ("features/5/ordered", True),
        "ordered as a number": ("features/1/ordered", 1),
        "ordered that is false": ("features/0/ordered", False),
    }
    assert [listed[place]["feature"] for place in (0, 1)] == [0, [0, 1]]
    for name, (path, value) in changes.items():
        yield f"tables: {name}", edited(path, value, base)
    yield "tables: a width of the label", edited("questions/0/width", 2, labelled)
    domain = 3 * _questions(labelled)[table]["domain"]
    yield "tables: tables of another domain", edited(f"questions/{table}/domain", domain, labelled)
    both = edited(f"questions/{coupled}/domain", 3 * (25 + 1), labelled)
    yield "tables: a width with the label", edited(f"questions/{coupled}/width", 2, both)
    orders = {
        "a level asked twice": [*listed[:level], listed[level], *listed[level:]],
        "a table asked twice": [*listed[:1], listed[1], *listed[1:]],
        "a table after the next feature": [listed[0], *listed[2:], listed[1]],
    }
    for name, questions in orders.items():
        yield f"tables: {name}", edited("questions", questions, base)


def _questions(text: str) -> list[dict[str, Any]]:
    questions: list[dict[str, Any]] = json.loads(text)["questions"]
    return questions
