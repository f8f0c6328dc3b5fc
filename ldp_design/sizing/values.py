"""Values of findings about sizes, which state how they are written."""

from __future__ import annotations

from encoders.explain.text import Counted


class GivenShare(float):
    """A share that a person chose, with at most three digits: 5%, 12.5%."""

    def __str__(self) -> str:
        return f"{100 * float(self):.3g}%"


def count_people(users: int) -> Counted:
    """Return a number of people."""
    return Counted(users, "person", "people")
