"""Where random bytes come from. Randomness is an argument everywhere, and secure by default.

A device reads every byte from the operating system when it needs it. Nothing is pooled: a pool is
state that a fork, a snapshot or a cloned machine would copy, and two copies of the same noise
reveal the truth. One report costs two or three reads of well under a microsecond each.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from encoders.errors import LdpError

if TYPE_CHECKING:
    import numpy as np


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
        import numpy as np

        self._words = np.random.SFC64(seed)
        self._rest = b""

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes of the stream, however the calls are split."""
        missing = count - len(self._rest)
        if missing > 0:
            self._rest += self._words.random_raw((missing + 7) // 8).astype("<u8", copy=False).tobytes()
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken
