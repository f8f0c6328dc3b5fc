"""Runs a service that ends with the studio: `python guard.py FOLDER COMMAND...`, its stdin a pipe.

The pipe closes when the studio ends the service, and when it dies in any way. The guard then ends the service
with all its processes, and deletes FOLDER. It needs the standard library only.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress

_PATIENCE_SECONDS = 5


def main(folder: str, *command: str) -> int:
    """Run the service until it ends, or until nobody holds the pipe; return its exit code."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # Ctrl-C in the studio's terminal: the pipe decides
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)  # noqa: S603
    threading.Thread(target=_end_with_the_pipe, args=[process], daemon=True).start()
    code = process.wait()
    _kill(process, signal.SIGKILL)  # what it has started
    shutil.rmtree(folder, ignore_errors=True)
    return code


def _end_with_the_pipe(process: subprocess.Popen[bytes]) -> None:
    os.read(0, 1)  # nobody writes
    _kill(process, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_PATIENCE_SECONDS)
    _kill(process, signal.SIGKILL)


def _kill(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
