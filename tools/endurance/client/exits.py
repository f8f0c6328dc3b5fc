"""Applications that end with a full queue."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from ldp_client import Journal

_ROOT = str(Path(__file__).resolve().parents[3])
SERVERS = ("refuses", "never answers", "never accepts")


@dataclass(frozen=True)
class Exit:
    """The duration of one interpreter's end, in seconds."""

    queued: int
    handlers: float
    """From the first of its handlers to the last."""
    process: float
    """From the last line of the program until the process is gone."""


def exits(folder: Path, server: str, journals: int, queued: int, spread: float = 0.0) -> Exit:
    """Let an interpreter end with a full queue for a server that is not there."""
    words = [str(word) for word in (folder, server, journals, queued, spread)]
    command = [sys.executable, "-m", "tools.endurance.client.ending_application", *words]
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ends\n", "the application did not come to its end"
        start = time.monotonic()
        handlers = float(process.stdout.readline())
        assert process.wait(60) == 0
        elapsed = time.monotonic() - start
    left = [Journal(folder / f"{server}-{spread}-{number}.db").queued_surveys() for number in range(journals)]
    assert sum(map(len, left)) == queued, "a report was lost at the end"
    return Exit(queued, handlers, elapsed)
