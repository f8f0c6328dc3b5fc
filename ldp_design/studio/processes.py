"""Starts the project's commands in processes that end with the studio."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from encoders.errors import LdpError

_GUARD = Path(__file__).with_name("guard.py")
_PROGRAM = "import sys; from encoders import extras; sys.argv[0] = {0!r}; extras.{1}()"


class CommandError(LdpError):
    """A command that failed, with its own message."""


def start_command(
    name: str, *arguments: object, folder: Path, removes: bool = False, token: str = ""
) -> Process:
    """Start a command of the project, such as "ldp-collector", in a folder; closing its stdin ends it.

    With `removes`, the folder is deleted when the command has ended. `token` is the operator's. Other
    variables LDP_ are not inherited.
    """
    program = _PROGRAM.format(name, name.replace("-", "_"))
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LDP_")}
    return subprocess.Popen(  # noqa: S603
        [
            *(sys.executable, "-I", str(_GUARD), str(folder) if removes else ""),
            *(sys.executable, "-c", program, *map(str, arguments)),
        ],
        cwd=folder,
        env=environment
        | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        | ({"LDP_OPERATOR_TOKEN": token} if token else {}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


Process = subprocess.Popen[str]


def run_command(name: str, *arguments: object, folder: Path, token: str = "") -> None:
    """Run a command in a folder until it ends; raises CommandError with its message."""
    process = start_command(name, *arguments, folder=folder, token=token)
    stdin, process.stdin = process.stdin, None  # `communicate` would close it, which ends the command
    _, errors = process.communicate()
    assert stdin
    stdin.close()
    if process.returncode:
        raise CommandError(read_error(errors) or f"{name} failed")


def read_error(printed: str) -> str:
    """Return the message of a command's error, without its usage."""
    return printed.strip().rpartition("Error: ")[2]
