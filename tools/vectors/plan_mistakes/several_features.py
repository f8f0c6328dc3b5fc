"""Bad plans whose questions ask about several numbers or several features at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tools.vectors.plan_mistakes.honest import edited, text_of


def numbers() -> Iterator[tuple[str, str]]:
    """Yield plans with the mechanism that asks for several numbers at once."""
    several = text_of(numeric="laplace")
    yield "laplace: a feature that is no list", edited("questions/3/feature", 2, several)
    yield "laplace: a list that is empty", edited("questions/3/feature", [], several)
    yield "laplace: a feature twice", edited("questions/3/feature", [2, 2], several)
    yield "laplace: a feature that is no number", edited("questions/3/feature", [1], several)


def together() -> Iterator[tuple[str, str]]:
    """Yield plans that ask for age and hours at once, and for both moments of sleep at once."""
    base = text_of("auto", "auto", "5")
    assert [each["feature"] for each in json.loads(base)["questions"]] == [None, [0, 1], 2]
    changes: dict[str, tuple[str, Any]] = {
        "the features unsorted": ("questions/1/feature", [1, 0]),
        "a feature twice": ("questions/1/feature", [0, 0]),
        "a number among them": ("questions/1/feature", [0, 2]),
        "a feature that is not there": ("questions/1/feature", [0, 3]),
        "a feature less than the domain says": ("questions/1/feature", 0),
        "a weight above 12000000": ("questions/1/weight", 12000001),
        "a list of none": ("questions/1/feature", []),
        "a list in a list": ("questions/1/feature", [[0, 1]]),
        "a domain that does not follow": ("questions/1/domain", 10),
        "a moment": ("questions/1/moment", 1),
        "a list of no feature for the label": ("questions/0/feature", []),
    }
    for name, (path, value) in changes.items():
        yield f"several features: {name}", edited(path, value, base)
    listed = json.loads(base)["questions"]
    yield "several features: asked twice", edited("questions", [*listed[:2], *listed[1:]], base)
    for name, moments in {"and its mean": (1, 3), "and both before": (1, 2, 3), "twice": (3, 3)}.items():
        of_number = [listed[2] | {"moment": moment} for moment in moments]
        yield f"both moments of a number: {name}", edited("questions", [*listed[:2], *of_number], base)
