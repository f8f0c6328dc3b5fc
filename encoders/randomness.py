"""Where random bytes come from. Randomness is an argument everywhere, and secure by default.

A device reads every byte from the operating system when it needs it (SystemEntropy): it keeps no pool,
since a pool is state that a fork, a snapshot or a cloned machine would copy, and two copies of the same
noise reveal the truth. A process that makes many reports may trade that for speed (PooledEntropy).
"""

from __future__ import annotations

import os
import struct
import weakref
from typing import Protocol

from encoders.arrays import np
from encoders.errors import LdpError


class RandomSource(Protocol):
    """Anything that hands out uniformly random bytes."""

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        ...


class SystemEntropy:
    """The operating system's generator: what every device uses."""

    def take(self, count: int) -> bytes:
        """Return `count` bytes of :func:`os.urandom`."""
        return os.urandom(count)


class PooledEntropy:
    """The operating system's generator, read ahead: for gateways and audits that make many reports.

    Three times as fast on short draws. The pool is emptied in a forked child, its chunks are taken by
    an atomic `list.pop` (two threads never get the same one), and a chunk taken is gone from the pool.
    Not for machines that may be snapshotted while running: the copies would share up to 4 KiB.
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
        """Copy and pickle to an empty pool."""
        return PooledEntropy, ()

    def forget(self) -> None:
        """Drop what was read ahead."""
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
    """Bytes fixed in advance, for test vectors and audits. Never for a real report.

    Parameters
    ----------
    data : bytes
        What `take` hands out, in order; asking for more raises :class:`~encoders.errors.LdpError`.
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._next = data, 0

    def take(self, count: int) -> bytes:
        """Return the next `count` of the given bytes."""
        end = self._next + count
        if end > len(self._data):
            raise LdpError(f"{count} random bytes asked for, {len(self._data) - self._next} are left")
        taken, self._next = self._data[self._next : end], end
        return taken


class FastStream:
    """A seeded stream for simulated populations: fast, repeatable and NOT private.

    Parameters
    ----------
    seed : int
        Equal seeds give equal streams; needs numpy.
    """

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._words = np.random.SFC64(seed)
        self._rest = b""

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes of the stream, however the calls are split."""
        missing = count - len(self._rest)
        if missing > 0:
            self._rest += self._words.random_raw((missing + 7) // 8).astype("<u8", copy=False).tobytes()
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken
