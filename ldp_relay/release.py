"""Decides which messages leave together, and in which order: never fewer than the survey promises.

An envelope has a message for each column. Each column of a batch leaves in its own random order, so nothing
shows which messages of two columns are of one person.
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from itertools import chain, combinations
from random import SystemRandom

HOUR_SECONDS = 3600
"""Messages leave at full hours only, so that no arrival shows in the time of a release."""
MAX_COMMON_PLACES = 20
"""The most places at which the orders of two columns may agree. They agree at one place on average, and at
more than 20 with a probability below 1e-19."""


class OrderError(Exception):
    """Two columns of a batch are in orders that are not independent."""


def draw_batches(waiting: Sequence[bytes], batch: int, *, is_closed: bool) -> list[list[bytes]]:
    """Draw the batches that leave now, uniformly, from the names of the messages that wait.

    While the survey is open, at least `batch` messages, the smallest promised batch, stay behind: a batch is
    drawn from twice as many or more, so nobody who watches a device knows in which batch its message is.
    After the survey has closed, all messages leave in one batch, or none if there are too few.
    """
    order = SystemRandom().sample(waiting, len(waiting))
    if is_closed:
        return [order] if len(order) >= batch else []
    count = max(0, len(order) // batch - 1)
    return [order[batch * number : batch * (number + 1)] for number in range(count)]


def order_columns(names: Sequence[bytes], secret: bytes, columns: int) -> list[list[bytes]]:
    """Return the order in which the messages of each column of a batch leave.

    The order of a column is that of HMAC-SHA256(secret, column | name). It is random to anyone without the
    secret, which is of this batch alone, independent of the other columns, and the same after a restart.
    Raises OrderError if two orders agree at too many places.
    """

    def order(column: int) -> list[bytes]:
        keyed = hmac.new(secret, column.to_bytes(2, "big"), sha256)

        def place(name: bytes) -> bytes:
            each = keyed.copy()
            each.update(name)
            return each.digest()

        return sorted(names, key=place)

    orders = [order(column) for column in range(columns)]
    require_independent(orders)
    return orders


def require_independent(orders: Sequence[Sequence[bytes]]) -> None:
    """Raise OrderError if the orders of two columns agree at more places than chance explains."""
    common: Counter[tuple[int, int]] = Counter()
    for record in zip(*orders, strict=True):
        columns: dict[bytes, list[int]] = {}
        for column, name in enumerate(record):
            columns.setdefault(name, []).append(column)
        for pair in chain.from_iterable(combinations(each, 2) for each in columns.values()):
            common[pair] += 1
            if common[pair] > MAX_COMMON_PLACES:
                raise OrderError("two columns of a batch are in similar orders: nothing leaves")
