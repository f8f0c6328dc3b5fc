"""Decides which messages leave together: at full hours only, and never fewer than the survey promises."""

from __future__ import annotations

from collections.abc import Sequence
from random import SystemRandom

HOUR_SECONDS = 3600
"""Messages leave at full hours only, so that no arrival shows in the time of a release."""


def draw_batches(waiting: Sequence[bytes], batch: int, *, is_closed: bool) -> list[list[bytes]]:
    """Draw the batches that leave now, each in a random order.

    While the survey is open, at least `batch` messages stay behind: a batch is drawn from twice as many or
    more, so nobody who watches a device knows in which batch its message is. After the survey has closed, all
    messages leave in one batch, or none if there are too few.

    Parameters
    ----------
    waiting : sequence of bytes
        The names of the messages that wait.
    batch : int
        The smallest batch that the survey promises.
    is_closed : bool
        Whether the survey has closed.

    Returns
    -------
    list of list of bytes
        Drawn uniformly, with the operating system's randomness.
    """
    order = SystemRandom().sample(waiting, len(waiting))
    if is_closed:
        return [order] if len(order) >= batch else []
    count = max(0, len(order) // batch - 1)
    return [order[batch * number : batch * (number + 1)] for number in range(count)]
