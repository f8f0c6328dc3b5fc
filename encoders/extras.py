"""The commands: entry points that name a missing extra, their output, and their errors; needs no extra."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from encoders.errors import LdpError, escape_unprintable
from encoders.installation import InstallationError
from encoders.late_imports import MODULES, LateImport, MissingExtraError, needs_extra

EXPECTED_ERRORS = (LdpError, OSError, UnicodeDecodeError)
"""What a command prints as one line: errors of input, and of files and the network."""


class _Stream(io.FileIO):
    """Standard output or error; it remembers the first write that fails, and drops all later ones."""

    failure: OSError | None = None

    def write(self, data: Any) -> int:
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


# -- entry points ---------------------------------------------------------------------------------


def _require_modules(extra: str) -> None:
    for module in MODULES[extra]:
        if find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def _command(name: str, module: str, extra: str) -> Callable[[], None]:
    main = LateImport(f"{module}:main")

    def run() -> None:
        with safe_output():
            try:
                with needs_extra(extra, name):
                    if extra not in ("device-relay", "silo"):  # whose commands seldom need it
                        _require_modules(extra)
                    main.load()()
            except MissingExtraError as error:
                if not {"-h", "--help"} & set(sys.argv):
                    sys.exit(str(error))
                sys.stdout.write(f"{_read_purpose(module)}\n\n{error}\nThen {name} -h shows all options.\n")
            except InstallationError as error:
                sys.exit(str(error))
            except EXPECTED_ERRORS as error:
                sys.exit(f"Error: {describe_error(error)}")

    return run


def _read_purpose(module: str) -> str:
    path = Path(__file__).parents[1].joinpath(*module.split("."))
    with path.with_suffix(".py").open(encoding="utf-8") as source:
        return source.readline().strip('"\n')


ldp_audit = _command("ldp-audit", "ldp_audit.cli", "audit")
ldp_central = _command("ldp-central", "ldp_central.cli", "curator")
ldp_client = _command("ldp-client", "ldp_client.cli", "device-relay")
ldp_collector = _command("ldp-collector", "ldp_aggregator.cli.serve", "collector")
ldp_compare = _command("ldp-compare", "ldp_design.cli.compare", "author")
ldp_predict = _command("ldp-predict", "ldp_aggregator.cli.predict", "analyst")
ldp_relay = _command("ldp-relay", "ldp_relay.cli", "relay")
ldp_results = _command("ldp-results", "ldp_aggregator.cli.results", "analyst")
ldp_silo = _command("ldp-silo", "ldp_silo.cli", "silo")
ldp_simulate = _command("ldp-simulate", "ldp_design.cli.simulate", "author")
ldp_survey = _command("ldp-survey", "ldp_design.cli.survey", "author")
ldp_train = _command("ldp-train", "ldp_aggregator.cli.train", "analyst")
