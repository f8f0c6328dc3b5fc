"""Sub-shards: several counters that share the reports of a question, so that several servers count them.

The id of a report chooses its sub-shard, so a repeated report meets the first one. To a store, sub-shards are
counters, whose names begin with that of the question.
"""

from __future__ import annotations

from binascii import crc_hqx
from collections.abc import Mapping
from functools import lru_cache
from itertools import count

from ldp_aggregator.arrays import ByteArray, IntArray
from ldp_aggregator.stores.failure import StoreError
from ldp_aggregator.stores.store import Store, Total, sum_totals

MAX_SHARDS = 64
_KIND = "shards"
"""The kind of a store's notes of the numbers of sub-shards, by survey id."""
_SLOTS = 1 << 14


@lru_cache(maxsize=1 << 14)
def divide_counter(survey: str, counter: str, shards: int) -> tuple[str, ...]:
    """Return the names of a counter's sub-shards: the counter itself if there is only one.

    A name ends with a number for which the hash slot of its keys is in the sub-shard's part of all slots. So
    the sub-shards spread evenly over the nodes of a Redis Cluster, each of which has a range of slots.
    """
    if shards == 1:
        return (counter,)
    names = []
    for shard in range(shards):
        candidates = (f"{counter}#{shards}.{shard}.{number}" for number in count())
        # the slot of a counter's keys is the CRC-16 of their tag (Redis Cluster specification)
        slots = ((each, crc_hqx(f"{survey}:{each}".encode(), 0) % _SLOTS) for each in candidates)
        names.append(next(each for each, slot in slots if slot * shards // _SLOTS == shard))
    return tuple(names)


def choose_shards(ids: ByteArray, shards: int) -> IntArray:
    """Return the sub-shard of each id, (m, 16), from its last two bytes: all tokens start alike."""
    return (ids[:, -2].astype("i8") << 8 | ids[:, -1]) * shards >> 16


def whole_counter(name: str) -> str:
    return name.partition("#")[0]


def join_shards(totals: Mapping[str, Total]) -> dict[str, Total]:
    return sum_totals((whole_counter(name), total) for name, total in totals.items())


def read_shards(store: Store, survey: str) -> int:
    """Return the number of sub-shards of each question of a survey, 1 for a survey that is not published.

    If the note is lost, the names of the counters show the number: ids under other names would count again.
    """
    if note := store.notes(_KIND, survey).get(survey):
        return int(note)
    parts = (name.partition("#")[2].partition(".")[0] for name in store.counters(survey))
    return max((int(each) for each in parts if each), default=1)


def fix_shards(store: Store, survey: str, shards: int | None) -> int:
    """Fix a survey's number of sub-shards before publishing, by default as it is; StoreError if another."""
    if not store.notes(_KIND, survey):
        found = read_shards(store, survey)
        number = found if found > 1 or store.plans(survey) else shards or 1
        # before the plan: no collector may serve the survey with another number
        store.set_note(_KIND, survey, b"%d" % number, once=True)
    fixed = read_shards(store, survey)
    if shards not in (None, fixed):
        raise StoreError(
            f"survey {survey!r} is published with {fixed} sub-shards a question, and keeps this "
            "number: leave --shards out, or give the survey a new id"
        )
    return fixed
