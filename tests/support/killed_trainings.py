"""Runs `ldp-central train` in child processes, and kills each before another call to the system.

    python -m tests.support.killed_trainings SURVEY ROWS OUTPUT

Prints one JSON line per child, with the number of calls it made, whether it was killed, and whether it had
drawn noise. The child of line n is killed before its n-th call. The last child ends by itself. Before each
line, the files that the child left are moved to a folder n beside ROWS.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ldp_central.cli import main

CALLS = ("open", "fdopen", "fsync", "chmod", "replace", "close")


def run_until(survey: str, rows: str, output: str, last: int, pipe: int) -> None:
    """Train, and kill this process before its call number `last`; the pipe gets what happened until then."""
    count, drew = 0, False

    def watch(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count == last:
                os.write(pipe, json.dumps({"killed": True, "drew": drew}).encode())
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **options)

        return wrapped

    def draw(size: int, urandom: Callable[[int], bytes] = os.urandom) -> bytes:
        nonlocal drew
        drew = True
        return urandom(size)

    for name in CALLS:
        setattr(os, name, watch(getattr(os, name)))
    os.urandom = draw
    arguments = ["train", survey, rows, "--epsilon", "1", "--learner", "nb", "-o", output]
    main(arguments, standalone_mode=False)
    os.write(pipe, json.dumps({"killed": False, "drew": drew}).encode())
    os._exit(0)


def run_all(survey: str, rows: str, output: str) -> None:
    last, killed = 0, True
    while killed:
        last += 1
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            run_until(survey, rows, output, last, writing)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            found = json.loads(pipe.read())
        os.waitpid(child, 0)
        killed = found["killed"]
        folder = Path(rows).parent / str(last)
        folder.mkdir()
        shutil.copy(rows, folder)
        for left in (f"{rows}.ledger", f"{rows}.ledger.lock", output):
            if os.path.exists(left):
                shutil.move(left, folder)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    run_all(*sys.argv[1:])
