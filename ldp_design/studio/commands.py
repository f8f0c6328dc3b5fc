"""Runs the project's commands in processes of their own, so that a trial and what is published are theirs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

from encoders.errors import LdpError

_GUARD = Path(__file__).with_name("guard.py")
_PROGRAM = "import sys; from encoders import extras; sys.argv[0] = {0!r}; extras.{1}()"


class CommandError(LdpError):
    """A command that failed, with its own message, or a folder that it cannot write."""


def run_command(name: str, *arguments: object, folder: Path, token: str = "") -> None:
    """Run a command, such as "ldp-train", in a folder; raises CommandError with its message."""
    command, environment = _describe(name, arguments, token)
    done = subprocess.run(  # noqa: S603
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode:
        raise CommandError(read_error(done.stderr) or f"{name} failed")


def start_service(
    name: str, *arguments: object, folder: Path, token: str, errors: IO[str]
) -> subprocess.Popen[str]:
    """Start a command that ends when its stdin is closed, or the studio ends; the folder is then deleted."""
    command, environment = _describe(name, arguments, token)
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-I", str(_GUARD), str(folder), *command],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        start_new_session=True,
    )


def _describe(name: str, arguments: tuple[object, ...], token: str) -> tuple[list[str], dict[str, str]]:
    """Return a command line and its environment, with the operator's token and no other variable LDP_."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LDP_")}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    program = _PROGRAM.format(name, name.replace("-", "_"))
    more = {"LDP_OPERATOR_TOKEN": token} if token else {}
    return [sys.executable, "-c", program, *map(str, arguments)], environment | more


def read_error(printed: str) -> str:
    """Return the message of a command's error, without its usage."""
    return printed.strip().rpartition("Error: ")[2]
