"""Bad plans of a series: entries that are wrong, missing or added."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools.vectors.plan_mistakes.honest import edited

KEY = "A" * 42 + "E="
GOOD = {"key": KEY, "name": "nights"}
ENTRIES: dict[str, tuple[str, Any]] = {
    "a series that is null": ("series", None),
    "a series that is a name": ("series", "nights"),
    "a series that is a list": ("series", ["nights", KEY]),
    "a series that is empty": ("series", {}),
    "an unknown entry of the series": ("series/more", 1),
    "a series without a name": ("series/name", ...),
    "a series without a key": ("series/key", ...),
    "a name of a series that is empty": ("series/name", ""),
    "a name of a series that is null": ("series/name", None),
    "a name of a series in capitals": ("series/name", "Nights"),
    "a name of a series that begins with a hyphen": ("series/name", "-nights"),
    "a name of a series of 65 characters": ("series/name", "a" * 65),
    "a key of a series that is null": ("series/key", None),
    "a key of a series that is a number": ("series/key", 1),
    "a key of a series of 31 bytes": ("series/key", "A" * 42 + "=="),
    "a key of a series of 33 bytes": ("series/key", "A" * 44),
    "a key of a series without its end": ("series/key", KEY[:-1]),
    "a key of a series with a space": ("series/key", f"{KEY} "),
    "a key of a series with a line break": ("series/key", f"{KEY}\n"),
    "a key of a series of another alphabet": ("series/key", "-" + KEY[1:]),
}


def series() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each plan."""
    base = edited("series", GOOD)
    for name, (path, value) in ENTRIES.items():
        yield name, edited(path, value, base)
