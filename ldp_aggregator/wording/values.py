"""Values of statements: numbers and names that state how they are written for people."""

from __future__ import annotations

import math
from collections.abc import Iterable

from encoders.explain.text import Counted
from ldp_aggregator.wording.bounds import factor_at_most, percent_at_most

MAX_MARGIN = 0.5
"""An estimate is unknown if its margin, before it is cut, is larger than this share of the range."""
_MAX_NAMED = 8
"""Number of names that a short text writes."""


class Count(int):
    """A number of reports, people or rows: 12,345."""

    def __str__(self) -> str:
        return f"{int(self):,}"


class Share(float):
    """A share: 53.9%, without a negative zero."""

    def __str__(self) -> str:
        return f"{round(100 * float(self), 1) + 0.0:.1f}%"


class RoundShare(float):
    """A share that is a round number: 50%."""

    def __str__(self) -> str:
        return f"{float(self):.0%}"


class ShareAtMost(float):
    """An upper bound on a probability, rounded up; see :func:`percent_at_most`."""

    def __str__(self) -> str:
        return percent_at_most(float(self))


class FactorAtMost(float):
    """An upper bound on a factor, rounded up; see :func:`factor_at_most`."""

    def __str__(self) -> str:
        return factor_at_most(float(self))


class Number(float):
    """A number with at most four digits."""

    def __str__(self) -> str:
        return f"{float(self):.4g}" if math.isfinite(self) else "unknown"


class GivenShare(float):
    """A share that a person chose, with at most three digits: 5%, 12.5%."""

    def __str__(self) -> str:
        return f"{100 * float(self):.3g}%"


class ShareMargin(float):
    """The margin of a share: 9.1%."""

    def __str__(self) -> str:
        return str(Share(self)) if self < MAX_MARGIN else "50% or more"


class NumberMargin(float):
    """The margin of a number in its own unit, with three digits."""

    def __str__(self) -> str:
        if not math.isfinite(self):
            return "unknown"
        return f"{float(f'{float(self):.3g}'):,.0f}" if self >= 100 else f"{float(self):.3g}"


class Names(tuple[str, ...]):
    """Names, all of which are written."""

    __slots__ = ()

    def __new__(cls, names: Iterable[str]) -> Names:
        """Take any iterable of names."""
        return super().__new__(cls, tuple(names))

    def __str__(self) -> str:
        return ", ".join(self)


class FirstNames(Names):
    """Names in a short text, of which the first eight are written."""

    __slots__ = ()

    def __str__(self) -> str:
        more = f" and {len(self) - _MAX_NAMED} more" if len(self) > _MAX_NAMED else ""
        return ", ".join(self[:_MAX_NAMED]) + more


def count_people(users: int) -> Counted:
    """Return a number of people."""
    return Counted(users, "person", "people")
