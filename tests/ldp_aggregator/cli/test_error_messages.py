"""Errors of commands are one line; a closed pipe ends a command without a message."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from encoders.errors import LdpError
from encoders.survey import read_survey
from ldp_aggregator.cli.help import Command
from ldp_aggregator.results import make_results
from ldp_aggregator.results_file import save_results
from ldp_aggregator.snapshot import Snapshot
from tests.support.commands import module_of
from tests.support.surveys import TEA


@pytest.mark.parametrize("error", [LdpError("why"), OSError("why"), PermissionError("why")])
def test_errors_of_the_project_and_of_the_system_become_messages(error):
    result = CliRunner().invoke(failing(error))
    assert (result.exit_code, result.stderr) == (1, "Error: why\n")


def failing(error: Exception) -> click.Command:
    """Return a command that raises an error."""

    @click.command(cls=Command)
    def fail() -> None:
        raise error

    return fail


def test_an_error_of_a_file_begins_with_its_name():
    result = CliRunner().invoke(failing(OSError(errno.ENOSPC, "No space left", "mo\x1bdel.json")))
    assert result.stderr == "Error: mo\\x1bdel.json: No space left\n"


def test_a_bug_keeps_its_traceback():
    result = CliRunner().invoke(failing(ZeroDivisionError()))
    assert isinstance(result.exception, ZeroDivisionError)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["train", "predict", "simulate", "survey"])
def test_a_closed_pipe_ends_a_command_without_a_message(tmp_path, command):
    plan = read_survey(TEA).compile()
    snapshot = Snapshot(plan, {})
    (tmp_path / "survey.toml").write_text(TEA)
    (tmp_path / "snapshot.json").write_bytes(snapshot.to_json())
    (tmp_path / "rows.csv").write_text("tea,hours,tired\n" + "black,3,yes\ngreen,9.5,no\n" * 10)
    save_results(tmp_path / "model.json", make_results(snapshot))
    arguments = {
        "train": ["snapshot.json", "-o", "new.json", "--allow-empty"],
        "predict": ["model.json", "rows.csv"],
        "simulate": ["survey.toml", "rows.csv", "--epsilon", "1", "--repeats", "1"],
        "survey": ["check", "survey.toml"],
    }
    reader, writer = os.pipe()
    os.close(reader)
    try:
        result = subprocess.run(
            [
                sys.executable,
                "-c",
                f"from {module_of(command)} import main; main()",
                *arguments[command],
            ],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)
    assert result.returncode == 1
    messages = [line for line in result.stderr.splitlines() if "simulating" not in line]
    assert not any(messages)
