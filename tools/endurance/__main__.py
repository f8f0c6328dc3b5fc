"""Run the long trials: `python -m tools.endurance [client] [collector] [relay] [faults] [fuzz]`.

`make test` runs the same trials with fewer reports. `client/web` and `client/java` are the trials of these
clients alone. A trial whose program is not installed is skipped. Exits with 1 if a trial failed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from tools.endurance import client_trials, collector_trials, fault_trials, fuzz_trials, relay_trials
from tools.endurance.client_trials import Trial

TRIALS = {
    "client": client_trials.every,
    "client/web": client_trials.web,
    "client/java": client_trials.java,
    "collector": collector_trials.every,
    "relay": relay_trials.every,
    "faults": fault_trials.every,
    "fuzz": fuzz_trials.every,
}
ALL = ("client", "collector", "relay", "faults", "fuzz")


def run(what: str, trial: Trial) -> bool:
    """Run one trial in its own folder, and print a line; return whether it held or was skipped."""
    start, held, seen = time.monotonic(), True, ""
    with tempfile.TemporaryDirectory() as folder:
        try:
            seen = trial(Path(folder))
        except pytest.skip.Exception as skipped:
            print(f"{what:<42} {'skipped':<7} {'':>6}  {skipped}", flush=True)
            return True
        except Exception as error:  # any failure: the other trials still run
            held, seen = False, f"{type(error).__name__}: {error}"
    took = f"{time.monotonic() - start:.0f} s"
    print(f"{what:<42} {'held' if held else 'BROKEN':<7} {took:>6}  {seen}", flush=True)
    return held


def run_all(trials: Iterable[tuple[str, Trial]]) -> bool:
    """Run the trials in turn; return whether all of them held."""
    print(f"{'trial':<42} {'':<7} {'took':>6}  observed")
    held = [run(what, trial) for what, trial in trials]
    print(f"{sum(held)} of {len(held)} trials held or were skipped")
    return all(held)


if __name__ == "__main__":
    sys.exit(not run_all(trial for name in sys.argv[1:] or ALL for trial in TRIALS[name]()))
