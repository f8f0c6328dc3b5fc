"""Run the project's commands, in this process or in one of their own, and post reports to a collector."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from urllib.request import Request, urlopen

from click.testing import CliRunner

from encoders.report import MEDIA_TYPE
from tests.support.servers import inherited_environment

_DESIGN = ("compare", "simulate", "survey")
"""The commands of a survey's author."""


def module_of(command: str) -> str:
    """Return the module of a command of click, for example of "train"."""
    return f"{'ldp_design' if command in _DESIGN else 'ldp_aggregator'}.cli.{command}"


def run_command(name: str, *arguments: object, **environment: str) -> str:
    """Run a command in this process, with only these LDP_ variables; return what it prints."""
    unset = dict.fromkeys(os.environ.keys() - inherited_environment().keys())
    runner = CliRunner(env=unset | environment)
    result = runner.invoke(
        import_module(module_of(name.removeprefix("ldp-"))).main, list(map(str, arguments))
    )
    assert result.exit_code == 0, result.output
    return result.stdout


def run_program(name: str, *arguments: object, **environment: str) -> str:
    """Run a command in a process of its own, with only these LDP_ variables; return what it prints."""
    result = subprocess.run(
        [str(Path(sys.executable).parent / name), *map(str, arguments)],
        env=inherited_environment() | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def post_reports(url: str, body: bytes) -> dict[str, object]:
    """Post reports to a survey's URL; return the collector's counts."""
    request = Request(f"{url}/reports", body, {"Content-Type": MEDIA_TYPE})
    with urlopen(request, timeout=30) as response:
        return dict(json.loads(response.read()))
