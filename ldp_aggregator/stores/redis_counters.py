"""The keys of a counter in Redis, its value, and the arguments of the script that counts a batch."""

from __future__ import annotations

import hashlib

import numpy as np

from ldp_aggregator.stores.base import Batch, Total, merge_batches


def counter_keys(survey: str, counter: str) -> list[str]:
    """Return the two keys of a question; the tag in braces keeps them on one server."""
    return [f"ldp:{{{survey}:{counter}}}:ids", f"ldp:{{{survey}:{counter}}}:sums"]


def script_arguments(batch: Batch) -> list[bytes | int | str]:
    """Return a script's arguments for a batch, in few strings, because each argument costs time."""
    batch = merge_batches([batch])  # sorted, because Redis's file shows the order of arguments
    entries = np.concatenate([batch.ids, batch.marks], axis=1).tobytes()
    changed = np.flatnonzero(batch.tally)
    pairs = np.stack([changed, batch.tally[changed]], axis=1).ravel()
    return [entries, len(batch.tally), " ".join(map(str, pairs.tolist()))]


def hash_plan(plan: bytes | None) -> bytes:
    """Return a short name of a survey's plan; empty if the survey has none."""
    return hashlib.sha256(plan).hexdigest().encode() if plan else b""


def unpack_total(sums: bytes) -> Total:
    """Return the total that a counter's string holds."""
    n, *_ = cells = np.frombuffer(sums, ">i8").astype(np.int64)
    return Total(int(n), cells[1:])
