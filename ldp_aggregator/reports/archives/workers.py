"""Spreads the counting of archives over processes of this machine, or over a Dask cluster."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from typing import Any

from encoders.late_imports import LateImport
from ldp_aggregator.reports.archives.reader import ArchiveError

_DASK = LateImport("distributed", "dask", "--dask", ArchiveError)
_TIMEOUT_SECONDS = 30

ALL_PROCESSORS = 0
"""In place of a number of processes: one for each processor."""
Run = Callable[[Callable[..., Any], Iterable[Any]], Iterator[Any]]
"""Applies a function to each item, and yields the results in order."""


@contextmanager
def open_workers(workers: int | str) -> Iterator[Run]:
    """Return a function that spreads calls over workers; ArchiveError if they cannot be used or die."""
    if workers == 1:
        yield map
    elif isinstance(workers, int):
        pool = ProcessPoolExecutor(workers or None, get_context("spawn"), initializer=_end_with_parent)
        with (
            _errors("a process that counted reports was killed: each needs 300 MB of memory", BrokenExecutor),
            pool,
        ):
            yield pool.map
    else:
        with _errors(f"the Dask cluster {workers} cannot be reached", OSError, ValueError):
            client = _DASK.load().Client(workers, timeout=_TIMEOUT_SECONDS)
        needs = "this version of ldp-bayes[analyst,dask], and 300 MB of memory"
        with client, _errors(f"the Dask cluster failed: each worker needs {needs}", Exception):
            # never pure: Dask would reuse the result of a file of the same name, which may have changed
            yield client.get_executor(pure=False).map


@contextmanager
def _errors(message: str, *kinds: type[Exception]) -> Iterator[None]:
    try:
        yield
    except ArchiveError:
        raise
    except kinds as error:
        raise ArchiveError(f"{message} ({type(error).__name__})") from error


def _end_with_parent() -> None:
    """End this process if its parent is killed, and leave an interrupt by the keyboard to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def wait() -> None:
        if parent := parent_process():
            parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
