"""Long trials of the client's guarantees with real processes, servers and journals.

`make test` runs the same trials in short. Exits with 1 if a trial failed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ldp_client import State
from ldp_client.sending.sender import EXIT_SECONDS
from tests.ldp_client import trials

FAULTS = 104
KILLS = 200
QUEUED = 400
PROCESSES, SURVEYS = 8, 1_000
LOADED = 0.5
"""Tolerance for an exit on a busy machine, in seconds."""

Trial = Callable[[Path], str]


def faults(folder: Path) -> str:
    seen = trials.faults(folder, FAULTS)
    kinds, per_kind = len(seen.injected), max(seen.injected.values())
    return (
        f"{seen.injected.total()} faults, {per_kind} of each kind ({kinds}); {seen.states.total()} devices "
        f"in {seen.attempts} attempts: {_list(seen.states)}; each counted once, same bytes, none left unsent"
    )


def kills(folder: Path) -> str:
    seen = trials.kills(folder, KILLS)
    return (
        f"{seen.killed} killed, at {seen.lines} lines of the client and at random times ({seen.finished} "
        f"finished before); journal states: {_list(seen.found)}; each survey randomised and counted once"
    )


def exits(server: str, spread: float) -> Trial:
    def trial(folder: Path) -> str:
        end = trials.exits(folder, server, 4, QUEUED, spread)
        assert end.handlers <= EXIT_SECONDS + LOADED, f"the exit took {end.handlers:.2f} s"
        return (
            f"{end.queued} reports in 4 journals: handlers {end.handlers:.2f} s, process {end.process:.2f} s"
        )

    return trial


def crowd(folder: Path) -> str:
    seen = trials.crowd(folder, PROCESSES, SURVEYS)
    return (
        f"{seen.entries} surveys, each answered once by {PROCESSES} processes in {seen.elapsed:.0f} s; "
        f"a commit takes {seen.usual * 1e3:.1f} ms (median), {seen.longest * 1e3:.0f} ms at most"
    )


def every() -> Iterator[tuple[str, Trial]]:
    yield "a failing network", faults
    yield "kill -9", kills
    for server in trials.SERVERS:
        yield f"exit, server {server}", exits(server, 0.0)
        yield f"exit, none tried yet, server {server}", exits(server, 60.0)
    yield "many processes on one journal", crowd


def _list(counts: Counter[State] | Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def run(what: str, trial: Trial) -> bool:
    """Run one trial in its own folder, and print a line."""
    start, held, seen = time.monotonic(), True, ""
    with tempfile.TemporaryDirectory() as folder:
        try:
            seen = trial(Path(folder))
        except Exception as error:  # any failure: the other trials still run
            held, seen = False, f"{type(error).__name__}: {error}"
    took = f"{time.monotonic() - start:.0f} s"
    print(f"{what:<42} {'held' if held else 'BROKEN':<7} {took:>6}  {seen}", flush=True)
    return held


def run_all(trials: Iterable[tuple[str, Trial]]) -> bool:
    """Run the trials in turn; return whether all of them held."""
    print(f"{'trial':<42} {'':<7} {'took':>6}  observed")
    held = [run(what, trial) for what, trial in trials]
    print(f"{sum(held)} of {len(held)} trials held")
    return all(held)


if __name__ == "__main__":
    sys.exit(not run_all(every()))
