"""Work that a store does some seconds after it was requested, on a thread of its own."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress

_tasks: weakref.WeakSet[BackgroundTask] = weakref.WeakSet()
_held: list[BackgroundTask] = []
"""The tasks that cannot run while this process is forked."""


class BackgroundTask:
    """Runs a callable some seconds after the first of many requests.

    A fork waits for the run that is under way. The child has no pending run; its next request starts one.

    Parameters
    ----------
    act : callable
        Returns the seconds after which it has to run again, or None if it is done.
    """

    def __init__(self, act: Callable[[], float | None]) -> None:
        self._act = act
        self._reset()
        _tasks.add(self)

    def _reset(self) -> None:
        self._state = threading.Lock()
        self._running = threading.Lock()
        self._timer: threading.Timer | None = None

    def request(self, seconds: float) -> None:
        """Run within so many seconds, unless a run is pending already."""
        with self._state:
            if self._timer is None or not self._timer.is_alive():
                self._timer = threading.Timer(seconds, self._run)
                self._timer.daemon = True
                with suppress(
                    RuntimeError
                ):  # no thread can be started at exit; `cancel` reports it as pending
                    self._timer.start()

    def cancel(self) -> bool:
        """Cancel the pending run, wait for one that is under way, and return whether one was pending."""
        with self._state:
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        with self._running:
            return timer is not None

    def _run(self) -> None:
        with self._running:
            with self._state:
                if self._timer is not threading.current_thread():
                    return
                self._timer = None  # what is requested from now on may come too late for this run
            again = self._act()
        if again is not None:
            self.request(again)


def _before_fork() -> None:
    """Wait for what is running: a child would inherit locks, SQLite's too, that nobody releases there."""
    for task in sorted(_tasks, key=id):  # one order, if two threads fork
        task._running.acquire()
        _held.append(task)


def _after_fork_in_parent() -> None:
    held = list(_held)
    _held.clear()  # before another thread that forks can add to it
    for task in held:
        task._running.release()


def _after_fork_in_child() -> None:
    while _held:
        _held.pop()._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
