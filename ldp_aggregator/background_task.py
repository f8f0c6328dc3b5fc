"""Runs work some seconds after a request, on its own thread; safe to fork."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress

_tasks: weakref.WeakSet[BackgroundTask] = weakref.WeakSet()
_blocked_tasks: list[BackgroundTask] = []
"""The tasks that are blocked while this process is forked."""


class BackgroundTask:
    """Runs a callable some seconds after the first of many requests.

    A request that comes during a run starts another run. If no thread can be started, the next request tries
    again. A fork waits for the run that is under way. The child has no pending run; its next request starts
    one. `run` returns the seconds after which it has to run again, or None if it is done.
    """

    def __init__(self, run: Callable[[], float | None]) -> None:
        self._run = run
        self._reset()
        _tasks.add(self)

    def _reset(self) -> None:
        self._state = threading.Lock()
        self._running = threading.Lock()
        self._timer: threading.Timer | None = None

    def request(self, seconds: float) -> None:
        with self._state:
            if self._timer is None or not self._timer.is_alive():
                self._timer = threading.Timer(seconds, self._run_once)
                self._timer.daemon = True
                # no thread can be started at exit; `cancel` reports the run as pending
                with suppress(RuntimeError):
                    self._timer.start()

    def cancel(self) -> bool:
        """Cancel the pending run, wait for one that is under way, and return whether one was pending."""
        with self._state:
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        with self._running:
            return timer is not None

    def _run_once(self) -> None:
        with self._running:
            with self._state:
                if self._timer is not threading.current_thread():
                    return
                self._timer = None  # later requests may come too late for this run
            seconds = self._run()
        if seconds is not None:
            self.request(seconds)


def _before_fork() -> None:
    """Wait for running tasks: otherwise the child would inherit locks, also SQLite's, that stay locked."""
    for task in sorted(_tasks, key=id):  # one order, if two threads fork
        task._running.acquire()
        _blocked_tasks.append(task)


def _after_fork_in_parent() -> None:
    tasks = list(_blocked_tasks)
    _blocked_tasks.clear()  # before another thread that forks can add to it
    for task in tasks:
        task._running.release()


def _after_fork_in_child() -> None:
    while _blocked_tasks:
        _blocked_tasks.pop()._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
