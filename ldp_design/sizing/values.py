"""Values of findings about sizes, which state how they are written."""

from __future__ import annotations

import math

from encoders.explain.text import Counted
from ldp_aggregator.findings.values import Share

_WIDE_MARGIN = 0.5
"""From this margin on, the interval of a share carries no information."""


class GivenShare(float):
    """A share that a person chose, with at most three digits: 5%, 12.5%."""

    def __str__(self) -> str:
        return f"{100 * float(self):.3g}%"


class ShareMargin(float):
    """The margin of a share: 9.1%."""

    def __str__(self) -> str:
        return str(Share(self)) if self < _WIDE_MARGIN else "50% or more"


class NumberMargin(float):
    """The margin of a number in its own unit, with three digits."""

    def __str__(self) -> str:
        if not math.isfinite(self):
            return "unknown"
        return f"{float(f'{float(self):.3g}'):,.0f}" if self >= 100 else f"{float(self):.3g}"


def count_people(users: int) -> Counted:
    """Return a number of people."""
    return Counted(users, "person", "people")
