"""Bad plans with tables of several features, and with questions about intervals of an ordered feature."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from encoders.survey import canonical
from tools.vectors.plan_mistakes.honest import edited
from tools.vectors.tables import plan_with_tables


def levels() -> Iterator[tuple[str, str]]:
    """Yield plans whose tables or intervals are wrong."""
    base = plan_with_tables(labelled=True).json.decode()
    document = json.loads(base)
    listed = document["questions"]
    level = next(place for place, each in enumerate(listed) if each.get("width") and each["feature"] == 2)
    single = next(place for place, each in enumerate(listed) if each["feature"] == 2 and "width" not in each)
    table = next(place for place, each in enumerate(listed) if each["feature"] == [0, 1])
    alone = next(place for place, each in enumerate(listed) if each["feature"] == 0)
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
        "a width of a feature without an order": (f"questions/{alone}/width", 2),
        "a width of a table": (f"questions/{table}/width", 2),
        "a width of a number": (f"questions/{mean}/width", 2),
        "a width of the label": ("questions/0/width", 2),
        "a domain with the label that has tables without it": (
            f"questions/{table}/domain",
            3 * listed[table]["domain"],
        ),
        "a weight above 12000000": (f"questions/{level}/weight", 12_000_001),
        "bins that say that they are ordered": ("features/2/ordered", True),
        "choices that are ordered": ("features/4/ordered", True),
        "a number that is ordered": ("features/5/ordered", True),
        "ordered as a number": ("features/1/ordered", 1),
        "ordered that is false": ("features/0/ordered", False),
    }
    for name, (path, value) in changes.items():
        yield f"tables: {name}", edited(path, value, base)
    orders = {
        "a level asked twice": [*listed[:level], listed[level], *listed[level:]],
        "a table asked twice": [*listed[:table], listed[table], *listed[table:]],
        "a table after the next feature": [each for each in listed if each is not listed[table]]
        + [listed[table]],
    }
    for name, questions in orders.items():
        text = canonical.dump_canonical_json(document | {"questions": questions}).decode()
        yield f"tables: {name}", text
