"""Run the project's commands, in this process or in another, and post reports to a collector."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.request import Request, urlopen

from click.testing import CliRunner, Result

from encoders import extras
from encoders.report import MEDIA_TYPE
from tests.support.servers import inherited_environment

_DESIGN = ("compare", "simulate", "survey")
"""The commands of a survey's author."""


def module_of(command: str) -> str:
    """Return the module of a command of click, for example of "train"."""
    if command == "central":
        return "ldp_central.cli"
    return f"{'ldp_design' if command in _DESIGN else 'ldp_aggregator'}.cli.{command}"


class _ConsoleScript:
    """A console script of the project, for click's runner; `main` is what the installed script calls."""

    def __init__(self, name: str) -> None:
        self.name = name

    def main(self, args: Sequence[str], prog_name: str) -> None:
        program = sys.modules["__main__"]  # of a package, click calls the program `python -m ...`
        try:
            with patch.object(sys, "argv", [prog_name, *args]), patch.object(program, "__package__", None):
                getattr(extras, self.name.replace("-", "_"))()
        except SystemExit as end:
            if not isinstance(end.code, str):
                raise
            sys.stderr.write(f"{end.code}\n")
            raise SystemExit(1) from end


def command(name: str, *arguments: object, check: bool = True, **environment: str) -> Result:
    """Run a console script in this process, with only these LDP_ variables.

    Return its exit_code, stdout and stderr. With `check`, the command must succeed. An error that it does not
    catch is raised in any case.
    """
    unset = dict.fromkeys(os.environ.keys() - inherited_environment().keys())
    runner = CliRunner(env=unset | environment, catch_exceptions=False)
    result = runner.invoke(_ConsoleScript(name), list(map(str, arguments)))
    assert result.exit_code == 0 or not check, result.output
    return result


def once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes a result at its first call, and returns it at every call."""
    results: list[Any] = []

    def call(*arguments: Any, **options: Any) -> Any:
        if not results:
            results.append(function(*arguments, **options))
        return results[0]

    return call


def run_program(name: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a console script in another process, with only these LDP_ variables; it must succeed."""
    result = subprocess.run(
        [str(Path(sys.executable).parent / name), *map(str, arguments)],
        env=inherited_environment() | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result


def post_reports(url: str, body: bytes) -> dict[str, object]:
    """Post reports to a survey's URL; return the collector's counts."""
    request = Request(f"{url}/reports", body, {"Content-Type": MEDIA_TYPE})
    with urlopen(request, timeout=60) as response:
        return dict(json.loads(response.read()))
