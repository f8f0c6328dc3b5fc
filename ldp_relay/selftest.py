"""Tests the mixing of this installation: made-up envelopes go through a database, release and records."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from time import time

from encoders.errors import LdpError
from ldp_relay.held_messages import HeldMessages, name_of
from ldp_relay.release import OrderError

ENVELOPES, COLUMNS = 1000, 4
_MESSAGE_BYTES, _RECORDS = 8, 70
_PARTS = 10
_LIMIT = 190.0
"""A chi-square value with 81 degrees of freedom is above this with a probability below 1e-10."""


class SelfTestError(LdpError):
    """A relay that loses envelopes, or whose orders show something."""

    reason = "selftest-failed"


def run_selftest() -> str:
    """Mix made-up envelopes and return what was found, in a sentence.

    The place of an envelope in one column must be independent of its place in each other column, of its
    arrival and of its name. Raises SelfTestError if it is not, or an envelope did not leave exactly once in
    each column.
    """
    with tempfile.TemporaryDirectory() as folder:
        held = HeldMessages(Path(folder, "selftest.db"))
        try:
            columns = _mix(held)
        except OrderError as error:
            raise SelfTestError(f"{error}: do not use this relay") from error
        finally:
            held.close()
    everybody = list(range(ENVELOPES))
    if any(sorted(column) != everybody for column in columns):
        raise SelfTestError("an envelope did not leave exactly once in each column: do not use this relay")
    by_name = sorted(everybody, key=lambda person: name_of(_envelope(person)))
    largest = max(_chi_square(*pair) for pair in combinations([everybody, by_name, *columns], 2))
    if largest > _LIMIT:
        raise SelfTestError(
            f"the orders of two columns are not independent (chi-square {largest:.0f}, at most {_LIMIT:.0f} "
            "by chance): do not use this relay"
        )
    return (
        f"ok: {ENVELOPES:,} envelopes left once in each of {COLUMNS} columns, in independent orders "
        f"(chi-square {largest:.0f}, at most {_LIMIT:.0f} by chance)"
    )


def _envelope(person: int) -> bytes:
    return b"".join(b"%d%07d" % (column, person) for column in range(COLUMNS))


def _mix(held: HeldMessages) -> list[list[int]]:
    for person in range(ENVELOPES):
        held.hold("selftest", _envelope(person), int(time()) + 3600)
    held.release("selftest", ENVELOPES, is_closed=True, hour=0)
    messages: list[bytes] = []
    while passage := held.next_passage("selftest", _RECORDS, [_MESSAGE_BYTES] * COLUMNS):
        starts = range(0, len(passage.body), _MESSAGE_BYTES)
        messages += [passage.body[start : start + _MESSAGE_BYTES] for start in starts]
        held.mark_passed_on(passage, {}, [0] * COLUMNS)
    by_column: list[list[int]] = [[] for _ in range(COLUMNS)]
    for place, each in enumerate(messages):
        if int(each[:1]) != place % COLUMNS:
            raise SelfTestError("a message left in another column: do not use this relay")
        by_column[place % COLUMNS].append(int(each[1:]))
    return by_column


def _chi_square(one: Sequence[int], other: Iterable[int]) -> float:
    part = {person: place * _PARTS // ENVELOPES for place, person in enumerate(one)}
    cells = Counter((part[person], place * _PARTS // ENVELOPES) for place, person in enumerate(other))
    expected = ENVELOPES / _PARTS**2
    return sum((cells[i, j] - expected) ** 2 for i in range(_PARTS) for j in range(_PARTS)) / expected
