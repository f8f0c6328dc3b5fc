"""Placeholder until the bound is merged."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple


class Message(NamedTuple):
    """What bounds one message."""

    ratio: float
    move: float = 1.0
    is_yes_no: bool = False


def round_up(value: Fraction) -> float:
    """Round up."""
    return float(value) * (1 + 1e-12)


def composed_delta(messages: Sequence[Message], people: int, epsilon: float) -> float:
    """Bound."""
    return 0.0
