"""The scripts and keys of the Redis store, and the formats of what they write."""

from __future__ import annotations

import hashlib
from importlib.resources import files

import numpy as np

from ldp_aggregator.stores.store import SURVEY_KINDS, Batch, Total, merge_batches, unmark_plan


def _read_script(name: str) -> str:
    return (files("ldp_aggregator.stores") / "lua" / f"{name}.lua").read_text()


RECORD_SCRIPT = _read_script("numbers") + _read_script("record")
NUMBERS_SCRIPT = _read_script("numbers") + _read_script("read_numbers")


def counter_keys(survey: str, counter: str) -> list[str]:
    return [f"ldp:{{{survey}:{counter}}}:ids", f"ldp:{{{survey}:{counter}}}:sums"]


def marker_key(survey: str, counter: str, is_cluster: bool) -> str:
    """Return the key of a table that has the hash of the survey's plan while the server has its data.

    It also has the number of reports of each counter. In a cluster each counter needs its own table, because
    a script sees only keys of one slot.
    """
    return f"ldp:{{{survey}:{counter}}}:published" if is_cluster else "ldp:published"


def note_key(kind: str) -> str:
    """Return the key of the notes of a kind, on the server of the schedules: collectors read both at once."""
    return f"ldp:{kind}" if kind in SURVEY_KINDS else f"ldp:{{ldp:windows}}:{kind}"


def number_field(survey: str, counter: str) -> str:
    return f"{survey}:{counter}"


def script_arguments(batch: Batch, plan_hash: bytes, seen: int) -> list[bytes | int | str]:
    """Return few strings for a batch; any plan fits an empty hash, and `seen` is the least number."""
    batch = merge_batches([batch])  # sorted, because Redis's file shows the order of arguments
    entries = np.concatenate([batch.ids, batch.marks], axis=1).tobytes()
    changed = np.flatnonzero(batch.tally)
    pairs = np.stack([changed, batch.tally[changed]], axis=1).ravel()
    changes = " ".join(map(str, pairs.tolist()))
    field = number_field(batch.survey, batch.counter)
    return [entries, len(batch.tally), changes, batch.survey, plan_hash, field, seen]


def hash_plan(plan: bytes | None) -> bytes:
    return hashlib.sha256(unmark_plan(plan)).hexdigest().encode() if plan else b""


def unpack_total(sums: bytes) -> Total:
    n, *_ = cells = np.frombuffer(sums, ">i8").astype(np.int64)
    return Total(int(n), cells[1:])
