"""Simulates a survey on request, in a process that ends with the request, and with the studio."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from ldp_design.sizing.simulated_margins import REPEATS, simulate_margins
from ldp_design.studio.sizes import compute_size, finite

_SIGN_OF_LIFE_SECONDS = 1.0
"""So often the page hears of a simulation, or is found to be closed."""


def simulate_sizes(text: str) -> Iterator[dict[str, Any]]:
    """Yield how many surveys have been simulated, again and again, and at the end the margins."""
    size, context = compute_size(text), get_context("spawn")
    found, give = context.Pipe(duplex=False)
    worker = context.Process(target=_work, args=[size.survey, size.users, give], daemon=True)
    worker.start()
    give.close()
    state: dict[str, Any] = {"done": 0, "total": REPEATS}
    try:
        with suppress(EOFError):  # it has ended
            while True:
                yield state
                if found.poll(_SIGN_OF_LIFE_SECONDS):
                    state |= found.recv()
    finally:
        worker.kill()
        worker.join()


def _work(survey: Any, users: int, give: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the studio's terminal: the studio ends it
    done = iter(range(1, REPEATS + 1))
    margins = simulate_margins(survey, users, progress=lambda _: give.send({"done": next(done)}))
    give.send({"margins": [*map(finite, margins)]})
