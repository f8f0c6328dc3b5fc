"""What tests of mechanisms for categories and for numbers share."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

from encoders.errors import ReportError
from encoders.randomness import FastStream


class CountingSource:
    """Returns bytes of a stream and counts them."""

    def __init__(self) -> None:
        self.stream, self.taken = FastStream(1), 0

    def take(self, count: int) -> bytes:
        self.taken += count
        return self.stream.take(count)


def percentages(words: str) -> list[float]:
    """Return the probabilities that a text states, as fractions."""
    return [float(text) / 100 for text in re.findall(r"([\d.]+)%", words)]


def every_payload(mechanism: Any) -> Iterator[bytes]:
    """Yield every byte string of the right length that `check` accepts."""
    for values in itertools.product(range(256), repeat=mechanism.payload_bytes):
        try:
            mechanism.check(bytes(values))
        except ReportError:
            continue
        yield bytes(values)
