"""One check of the audit, and the error probability that the audit allows itself."""

from __future__ import annotations

from dataclasses import dataclass

ALPHA = 1e-6
"""The probability that a run finds fault with a client that has none, all tests of a run together."""

HOMOGENEITY = "homogeneity"
FRESHNESS = "freshness"
TIMING = "timing"


@dataclass(frozen=True)
class Check:
    """A claim, and the result of testing it.

    Attributes
    ----------
    layer : str
        The part of the audit that makes the claim.
    name : str
        What should hold.
    passed : bool or None
        None: reported without a decision.
    finding : str
        What was observed.
    """

    layer: str
    name: str
    passed: bool | None
    finding: str
