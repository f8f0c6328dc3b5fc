"""What tests of mechanisms for categories and for numbers share."""

import re

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
