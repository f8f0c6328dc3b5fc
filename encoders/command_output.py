"""The output of all commands, and the form of their errors.

No letter, full disk or closed pipe ends a command before its work is done.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from encoders.errors import LdpError, escape_unprintable

EXPECTED_ERRORS = (LdpError, OSError, UnicodeDecodeError)
"""What a command prints as one line: errors of input, and of files and the network."""


class _Stream(io.FileIO):
    """Standard output or error; it remembers the first write that fails, and drops all later ones."""

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        """Write bytes, or claim to have written them."""
        if self.failure is None:
            try:
                return super().write(data)
            except OSError as error:
                self.failure = error
        return len(data)


@contextmanager
def safe_output() -> Iterator[None]:
    """Return a context in which printing raises no error; if output is lost, it ends the process with 1.

    Letters that a terminal cannot show are printed as escapes. A reader that closes a pipe gets no message.
    """
    process, (output, _) = os.getpid(), [_replace_stream(name) for name in ("stdout", "stderr")]
    code: Any = None
    try:
        yield
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    if output and output.failure and not code and process == os.getpid():  # not in a forked worker
        why = f"Error: standard output could not be written completely: {output.failure.strerror}"
        code = 1 if output.failure.errno == errno.EPIPE else why
    sys.exit(code)


def _replace_stream(name: str) -> _Stream | None:
    """Replace a standard stream of the process; return None for one that another program has replaced."""
    old = getattr(sys, name)
    try:  # one that was closed before the start takes nothing
        raw = _Stream(os.open(os.devnull, os.O_RDONLY) if old is None else old.fileno(), "w", closefd=False)
    except OSError:
        return None
    writer, encoding = io.BufferedWriter(raw), getattr(old, "encoding", None)
    setattr(sys, name, io.TextIOWrapper(writer, encoding, "backslashreplace", line_buffering=True))
    return raw


def describe_error(error: Exception) -> str:
    """Return the message of an expected error; for an error of a file, the file's name and the reason."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return escape_unprintable(f"{os.fsdecode(error.filename)}: {error.strerror}")
    return str(error)
