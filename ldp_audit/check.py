"""One verdict of the audit, and the error it allows itself."""

from __future__ import annotations

from dataclasses import dataclass

ALPHA = 1e-6
"""The chance that a run finds fault with a client that has none, all tests of a run together."""

HOMOGENEITY, FRESHNESS, TIMING = "homogeneity", "freshness", "timing"


@dataclass(frozen=True)
class Check:
    """A claim, and what came of testing it.

    Attributes
    ----------
    layer : str
        Which part of the audit makes it.
    name : str
        What should hold.
    passed : bool or None
        None: told, not judged.
    found : str
        What was seen, in words.
    """

    layer: str
    name: str
    passed: bool | None
    found: str
