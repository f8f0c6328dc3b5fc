"""Sources of random bytes. Every function that draws takes its source as an argument.

A device reads every byte from the operating system when it needs it (SystemEntropy). It keeps no pool,
because a fork, a snapshot or a cloned machine would copy the pool, and two reports with the same noise
reveal the truth. A process that makes many reports can use a pool for speed (PooledEntropy).
"""

from __future__ import annotations

import os
import struct
import weakref
from typing import Protocol

from encoders.errors import LdpError
from encoders.lazy_numpy import np


class RandomSource(Protocol):
    """A source of uniformly random bytes."""

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes."""


class SystemEntropy:
    """The operating system's generator; the source that devices use."""

    def take(self, count: int) -> bytes:
        return os.urandom(count)


class PooledEntropy:
    """The operating system's generator, read ahead: for gateways and audits that make many reports.

    Three times as fast as SystemEntropy on short draws. A forked child empties the pool. Chunks are taken
    by an atomic `list.pop`, so two threads never get the same one, and a taken chunk is no longer in the
    pool. Do not use it on a virtual machine that may be copied while it runs: both copies would draw
    up to 4 KiB of equal random bytes from it.
    """

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        _pools.add(self)

    def take(self, count: int) -> bytes:
        """Return `count` bytes: 16 from the pool, any other number from :func:`os.urandom`."""
        if count != _CHUNK:
            return os.urandom(count)
        try:
            return self._chunks.pop()
        except IndexError:
            fresh = _CUT.unpack(os.urandom(_CUT.size))
            self._chunks.extend(fresh[1:])
            taken: bytes = fresh[0]
            return taken

    def __reduce__(self) -> tuple[type[PooledEntropy], tuple[()]]:
        """Make copies and pickles an empty pool."""
        return PooledEntropy, ()

    def forget(self) -> None:
        self._chunks.clear()


_CHUNK = 16
_CUT = struct.Struct(f"{_CHUNK}s" * 256)
_pools: weakref.WeakSet[PooledEntropy] = weakref.WeakSet()


def _forget_pools() -> None:
    for pool in _pools:
        pool.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)


class GivenBytes:
    """Fixed bytes for test vectors and audits, not for real reports; taking more raises LdpError."""

    def __init__(self, data: bytes) -> None:
        self._data, self._next = data, 0

    def take(self, count: int) -> bytes:
        end = self._next + count
        if end > len(self._data):
            raise LdpError(f"{count} random bytes asked for, {len(self._data) - self._next} are left")
        taken, self._next = self._data[self._next : end], end
        return taken


class FastStream:
    """A seeded stream for simulated populations: fast, repeatable and NOT private. It needs numpy."""

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._words = np.random.SFC64(seed)
        self._rest = b""

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes; the stream does not depend on the sizes of the calls."""
        missing = count - len(self._rest)
        if missing > 0:
            self._rest += self._words.random_raw((missing + 7) // 8).astype("<u8", copy=False).tobytes()
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken
