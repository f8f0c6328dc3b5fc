"""Starts the project's commands in processes that end with the studio."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from encoders.errors import LdpError

_GUARD = Path(__file__).with_name("guard.py")
_TIMEOUT_SECONDS = 600


class CommandError(LdpError):
    """A command that failed, with its own message."""


def start_command(
    name: str,
    *arguments: object,
    folder: Path,
    removes: bool = False,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[str]:
    """Start a command of the project, such as "ldp-collector", in a folder; closing its stdin ends it.

    With `removes`, the folder is deleted when the command has ended. Variables LDP_ are not inherited.
    """
    program = f"from encoders.extras import {name.replace('-', '_')} as run; import sys; sys.argv[0] = {name!r}; run()"
    command = [sys.executable, "-c", program, *map(str, arguments)]
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("LDP_")}
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-I", str(_GUARD), str(folder) if removes else "", *command],
        cwd=folder,
        env=inherited | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | dict(environment or {}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run_command(
    name: str, *arguments: object, folder: Path, environment: Mapping[str, str] | None = None
) -> str:
    """Run a command in a folder, and return what it prints; raises CommandError with its message."""
    process = start_command(name, *arguments, folder=folder, environment=environment)
    assert process.stdin
    try:
        # `communicate` closes stdin at once, which would end the command
        stdin, process.stdin = process.stdin, None
        output, errors = process.communicate(timeout=_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise CommandError(f"{name} did not end within {_TIMEOUT_SECONDS} seconds") from error
    finally:
        stdin.close()
        process.wait()
    if process.returncode:
        message = errors.strip().rpartition("Error: ")[2] or f"{name} failed"
        raise CommandError(message)
    return output
