"""Measure one cell after the other, with its repeats spread over processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.accuracy.grid import Cell
from benchmarks.accuracy.results import Results
from benchmarks.accuracy.ways import Found, Task, measure
from encoders.errors import LdpError

Mapped = Callable[[Iterable[Task]], Iterable[list[Found]]]
PARTS = 10


class RunError(LdpError):
    """A data set that cannot be measured."""


def run(
    results: Results,
    wanted: Iterable[Cell],
    directory: Path,
    processes: int,
    progress: Callable[[int], object],
) -> None:
    """Measure the wanted cells and append them to the results; a stopped run loses at most one cell.

    Raises
    ------
    RunError
        If a file is not a data set that can be measured.
    """
    with workers(processes) as mapped:
        for cell in wanted:
            found: list[Found] = []
            for part in mapped(tasks(cell, directory, results)):
                found += part
                progress(len(part))
            results.append(cell, found)


def tasks(cell: Cell, directory: Path, results: Results) -> Iterator[Task]:
    """Cut a cell's repeats into parts."""
    shared = results.settings
    repeats = cell.repeats(shared.repeats)
    step = -(-repeats // PARTS)
    for first in range(0, repeats, step):
        yield Task(directory, cell, shared.repeats, shared.seed, first, min(first + step, repeats))


@contextmanager
def workers(processes: int) -> Iterator[Mapped]:
    """Yield a map over `processes` processes of one thread each, which end with this one."""
    if processes == 1:
        yield lambda each: map(measure_task, each)
        return
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    # new interpreters, which read the environment; this process handles Ctrl-C and ends the others
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        yield lambda each: pool.imap(measure_task, each)


def measure_task(task: Task) -> list[Found]:
    """Measure one task; errors become RunError, because not every exception can be pickled."""
    try:
        return measure(task)
    except (LdpError, OSError) as error:
        raise RunError(str(error)) from None
