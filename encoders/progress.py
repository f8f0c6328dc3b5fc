"""Shows the progress of long work on standard error: a bar on a terminal, else a line every 15 seconds.

Commands and benchmarks use it; the device's side does not. A library function takes a :data:`ShowProgress`,
which is :func:`hide_progress` by default, so that only commands print.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from encoders.late_imports import LateImport

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

DELAY_SECONDS = 2.0
"""Shorter work shows no bar."""
LINE_SECONDS = 15.0
"""The time before the first line, and between two lines, if standard error is not a terminal."""
_BAR_SECONDS = 0.1
_PROGRESS_BAR = LateImport("click:progressbar")


class Progress:
    """The progress of one piece of work; this class shows nothing.

    The task is for example ``simulating``: never a value of a row, or an address. The unit, in the plural, is
    what the steps are; without it, the share that is done is shown.
    """

    def __init__(self, task: str, total: int, unit: str = "") -> None:
        self.task = task
        self.total = total
        self.unit = unit
        self.done = 0
        self.stage = ""

    def advance(self, steps: int = 1) -> None:
        self.done += steps
        self.refresh()

    def begin_stage(self, stage: str, done: int) -> None:
        """Name the present part of the work, which is shown beside the progress, after `done` steps."""
        self.stage, self.done = stage, done
        self.refresh()

    def refresh(self) -> None:
        """Show the progress, unless it was shown a short time ago."""

    def close(self) -> None:
        """End the display."""


ShowProgress = Callable[..., AbstractContextManager[Progress]]
"""Starts a display; takes the arguments of :class:`Progress`."""


@contextmanager
def show_progress(task: str, total: int, unit: str = "") -> Iterator[Progress]:
    """Show the progress of the work inside this context on standard error."""
    stream = sys.stderr
    if stream is None:  # a program without a console
        display = Progress(task, total, unit)
    elif stream.isatty():
        display = _Bar(task, total, unit, stream, DELAY_SECONDS, _BAR_SECONDS)
    else:
        display = _Lines(task, total, unit, stream, LINE_SECONDS, LINE_SECONDS)
    try:
        yield display
    finally:
        with suppress(OSError, ValueError):
            display.close()


@contextmanager
def hide_progress(task: str, total: int, unit: str = "") -> Iterator[Progress]:
    """Count the steps of the work inside this context, and show nothing."""
    yield Progress(task, total, unit)


class _Display(Progress):
    """A display that refreshes after a delay, and then at most once in an interval, both in seconds."""

    def __init__(
        self, task: str, total: int, unit: str, stream: TextIO, delay: float, interval: float
    ) -> None:
        super().__init__(task, total, unit)
        self.stream = stream
        self.interval = interval
        self.started = time.monotonic()
        self._next = self.started + delay

    def refresh(self) -> None:
        if (now := time.monotonic()) < self._next:
            return
        self._next = now + self.interval
        with suppress(OSError, ValueError):  # a closed stream stops no work
            self.show(now - self.started)

    def show(self, elapsed: float) -> None:
        raise NotImplementedError


class _Lines(_Display):
    def show(self, elapsed: float) -> None:
        if self.unit:
            line = f"{self.task}: {self.done:,} of {self.total:,} {self.unit}"
        else:
            line = f"{self.task}: {self.done / max(self.total, 1):.0%} done"
        if 0 < self.done < self.total:
            line += f", {describe_time_left(elapsed / self.done * (self.total - self.done))}"
        self.stream.write(f"{line} ({self.stage})\n" if self.stage else f"{line}\n")
        self.stream.flush()


class _Bar(_Display):
    _bar: ProgressBar[Any] | None = None

    def show(self, elapsed: float) -> None:
        if self._bar is None:
            self._bar = _PROGRESS_BAR.load()(
                length=self.total,
                label=self.task,
                file=self.stream,
                show_percent=True,
                item_show_func=lambda _: self.stage or None,
            )
            self._bar.start = self._bar.last_eta = time.time() - elapsed
        self._bar.update(self.done - self._bar.pos)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.update(self.done - self._bar.pos)
            self._bar.render_finish()


def describe_time_left(seconds: float) -> str:
    """Return a rounded duration: about 40 s left, about 3 min left, about 2.5 h left."""
    if seconds < 55:
        return f"about {max(5, 5 * round(seconds / 5))} s left"
    if seconds < 90 * 60:
        return f"about {max(1, round(seconds / 60))} min left"
    return f"about {seconds / 3600:.1f} h left"
