"""Stores keep counters, report ids and plans."""

from __future__ import annotations

import re

from encoders.late_imports import LateImport
from ldp_aggregator.stores.failure import StoreError, StoreFailure
from ldp_aggregator.stores.memory import MemoryStore
from ldp_aggregator.stores.sqlite_file import identify
from ldp_aggregator.stores.store import Batch, MarksById, Store, StorePolicy, Total

__all__ = [
    "Batch",
    "MarksById",
    "MemoryStore",
    "Store",
    "StoreError",
    "StoreFailure",
    "StorePolicy",
    "Total",
    "identify_file",
    "open_store",
]

_REDIS = LateImport("ldp_aggregator.stores.redis:RedisStore")
STORES = {
    "sqlite": LateImport("ldp_aggregator.stores.sqlite:SQLiteStore"),
    "redis": _REDIS,
    "rediss": _REDIS,
    "unix": _REDIS,
    "redis+cluster": _REDIS,
}
"""The stores by the scheme of their URLs; redis-py loads only if it is used."""


def identify_file(url: str, former: tuple[int, int] | None = None) -> tuple[int, int] | None:
    """Return the identity of SQLite's file, else None; StoreError if missing or not `former`."""
    return identify(url.removeprefix("sqlite:///"), former) if url.startswith("sqlite:///") else None


def open_store(url: str, read_only: bool = False, create: bool = True) -> Store:
    """Open a store by its URL.

    Parameters
    ----------
    url : str
        ``sqlite:///relative.db``, ``sqlite:////absolute.db``, ``redis://host:port/db``,
        ``rediss://...``, ``unix:///path/to.sock``, ``redis+cluster://host:port``, or ``memory://`` for
        tests.
    read_only : bool
        Whether SQLite's file must not change. For Redis it has no effect: opening writes nothing.
    create : bool
        Whether SQLite's file is created if it does not exist.

    Raises
    ------
    StoreError
        On an unknown scheme, or a store that cannot be opened; with FILE_MISSING for a file that does not
        exist.
    """
    scheme = url.partition(":")[0]
    if scheme == "memory":
        return MemoryStore()
    if scheme not in STORES or (scheme == "sqlite" and not re.match("sqlite:///.", url)):
        raise StoreError(
            "a store is sqlite:///file.db, redis://host:port/0, rediss://host:port/0 (over TLS), "
            "redis+cluster://host:port or unix:///path.sock"
        )
    arguments = (url.removeprefix("sqlite:///"), read_only, create) if scheme == "sqlite" else (url,)
    store: Store = STORES[scheme].load()(*arguments)
    return store
