"""Every command and every package states one version, which the build reads from `encoders`."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from encoders import __version__
from tests.support.servers import inherited_environment

COMMANDS = importlib.metadata.distribution("ldp-bayes").entry_points.select(group="console_scripts").names
RUN_COMMAND = """
import importlib.metadata, sys
sys.argv = sys.argv[1:]
[command] = importlib.metadata.entry_points(group="console_scripts", name=sys.argv[0])
command.load()()
"""


def run_command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = inherited_environment() | variables
    command = [sys.executable, "-c", RUN_COMMAND, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_command_prints_its_name_and_version(command: str) -> None:
    result = run_command(command, "--version")
    assert (result.returncode, result.stdout) == (0, f"{command} {__version__}{os.linesep}"), result.stderr


@pytest.mark.slow
def test_a_variable_named_version_does_not_stop_the_collector(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'missing.db'}"
    result = run_command("ldp-collector", "status", "--store", store, LDP_COLLECTOR_VERSION="1")
    assert __version__ not in result.stdout
    assert "missing.db" in result.stderr


@pytest.mark.parametrize("package", ["encoders", "reduction", "ldp_client", "ldp_aggregator", "ldp_audit"])
def test_the_version_of_a_package_is_that_of_the_installed_distribution(package: str) -> None:
    assert importlib.import_module(package).__version__ == importlib.metadata.version("ldp-bayes")
