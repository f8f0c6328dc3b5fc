"""The client's promises, tried at length on real parts: what was tried, and what held.

`make test` tries the same in short. Exits with 1 if a promise was broken.
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
"""Seconds that a busy machine may add to an exit."""

Trial = Callable[[Path], str]


def faults(folder: Path) -> str:
    seen = trials.faults(folder, FAULTS)
    kinds, per_kind = len(seen.injected), max(seen.injected.values())
    return (
        f"{seen.injected.total()} faults, {per_kind} of each kind ({kinds}); {seen.states.total()} devices "
        f"in {seen.attempts} attempts: {_list(seen.states)}; each counted once, same bytes, none left behind"
    )


def kills(folder: Path) -> str:
    seen = trials.kills(folder, KILLS)
    return (
        f"{seen.killed} killed, at {seen.lines} lines of the client and any moment ({seen.finished} were "
        f"done before); journals were left {_list(seen.found)}; each survey randomised and counted once"
    )


def exits(server: str, spread: float) -> Trial:
    def trial(folder: Path) -> str:
        end = trials.exits(folder, server, 4, QUEUED, spread)
        assert end.handlers <= EXIT_SECONDS + LOADED, f"the exit took {end.handlers:.2f} s"
        return f"{end.queued} reports in 4 journals: handlers {end.handlers:.2f} s, all {end.process:.2f} s"

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
    yield "a crowd on one journal", crowd


def _list(counts: Counter[State] | Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def run(what: str, trial: Trial) -> bool:
    """Try one promise in a folder of its own, and print a line."""
    start, held, seen = time.monotonic(), True, ""
    with tempfile.TemporaryDirectory() as folder:
        try:
            seen = trial(Path(folder))
        except Exception as error:  # whatever it was: the other promises are tried too
            held, seen = False, f"{type(error).__name__}: {error}"
    took = f"{time.monotonic() - start:.0f} s"
    print(f"{what:<42} {'held' if held else 'BROKEN':<7} {took:>6}  {seen}", flush=True)
    return held


def run_all(trials: Iterable[tuple[str, Trial]]) -> bool:
    """Try promises in turn; tell whether all of them held."""
    print(f"{'what was tried':<42} {'':<7} {'took':>6}  what was seen")
    held = [run(what, trial) for what, trial in trials]
    print(f"{sum(held)} of {len(held)} promises held")
    return all(held)


if __name__ == "__main__":
    sys.exit(not run_all(every()))
