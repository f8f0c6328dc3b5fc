"""Stores keep counters, report ids and plans."""

from __future__ import annotations

from ldp_aggregator.stores.base import Batch, MarksById, Store, StoreError, StorePolicy, Total
from ldp_aggregator.stores.memory import MemoryStore

__all__ = [
    "Batch",
    "MarksById",
    "MemoryStore",
    "Store",
    "StoreError",
    "StorePolicy",
    "Total",
    "open_store",
]


def open_store(url: str, read_only: bool = False) -> Store:
    """Open a store by its URL.

    Parameters
    ----------
    url : str
        ``sqlite:///relative.db``, ``sqlite:////absolute.db``, ``redis://host:port/db``,
        ``rediss://...``, ``unix:///path/to.sock``, ``redis+cluster://host:port``, or ``memory://`` for
        tests.
    read_only : bool
        Whether SQLite's file must not change. For Redis it has no effect: opening writes nothing.

    Raises
    ------
    StoreError
        On an unknown scheme, or a store that cannot be opened.
    """
    scheme = url.partition(":")[0]
    if scheme == "memory":
        return MemoryStore()
    if scheme == "sqlite" and url.startswith("sqlite:///") and len(url) > len("sqlite:///"):
        from ldp_aggregator.stores.sqlite import SQLiteStore

        return SQLiteStore(url.removeprefix("sqlite:///"), read_only)
    if scheme in ("redis", "rediss", "unix", "redis+cluster"):
        from ldp_aggregator.stores.redis import RedisStore  # late: only users of Redis need its library

        return RedisStore(url)
    raise StoreError(
        "a store is sqlite:///file.db, redis://host:port/0, redis+cluster://host:port, unix:///path.sock or "
        "memory://"
    )
