"""Many messages of one person, as an eavesdropper sees them: bytes and lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Messages:
    """Messages as one array."""

    data: NDArray[np.uint8]
    """One message per row, followed by zeros. Shape (n, longest)."""
    lengths: NDArray[np.int64]
    """Shape (n,)."""

    @classmethod
    def from_bytes(cls, messages: Sequence[bytes]) -> Messages:
        lengths = np.fromiter(map(len, messages), np.int64, len(messages))
        width = int(lengths.max(initial=0))
        joined = b"".join(each.ljust(width, b"\0") for each in messages)
        return cls(np.frombuffer(joined, np.uint8).reshape(len(messages), width), lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def slice(self, start: int, end: int) -> Messages:
        return Messages(self.data[start:end], self.lengths[start:end])

    def pad(self, width: int) -> Messages:
        """Return the messages as an array of at least `width` columns; added columns are zero."""
        more = max(0, width - self.data.shape[1])
        return Messages(np.pad(self.data, ((0, 0), (0, more))), self.lengths) if more else self

    def first(self, count: int) -> list[bytes]:
        pairs = zip(self.data[:count], self.lengths[:count], strict=True)
        return [row.tobytes()[:length] for row, length in pairs]


MessagesByPerson = dict[str, Messages]
