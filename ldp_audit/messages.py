"""Many messages of one person, as an eavesdropper holds them: bytes, and how many of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Messages:
    """Messages as one array.

    Attributes
    ----------
    data : uint8 array, shape (n, longest)
        One message per row, zeros behind its end.
    lengths : int array, shape (n,)
    """

    data: NDArray[np.uint8]
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lengths)

    def part(self, start: int, end: int) -> Messages:
        """Return some of them."""
        return Messages(self.data[start:end], self.lengths[start:end])

    def padded(self, width: int) -> Messages:
        """Return them as an array of at least `width` columns."""
        more = max(0, width - self.data.shape[1])
        return Messages(np.pad(self.data, ((0, 0), (0, more))), self.lengths) if more else self

    def first(self, count: int) -> list[bytes]:
        """Return some of them as they were sent."""
        pairs = zip(self.data[:count], self.lengths[:count], strict=True)
        return [row.tobytes()[:length] for row, length in pairs]


def as_array(messages: list[bytes]) -> Messages:
    """Return messages as an array."""
    lengths = np.fromiter(map(len, messages), np.int64, len(messages))
    width = int(lengths.max(initial=0))
    joined = b"".join(each.ljust(width, b"\0") for each in messages)
    return Messages(np.frombuffer(joined, np.uint8).reshape(len(messages), width), lengths)


Heard = dict[str, Messages]
"""The messages of each person, by name."""
