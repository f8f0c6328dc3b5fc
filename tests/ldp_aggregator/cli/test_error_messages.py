"""Errors of commands are one line; a closed pipe ends a command without a message."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from encoders.errors import LdpError
from encoders.survey import read_survey
from ldp_aggregator.cli.error_messages import print_errors
from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.models.model_file import save_model
from ldp_aggregator.snapshot import Snapshot
from tests.support.commands import module_of
from tests.support.surveys import TEA


@pytest.mark.parametrize("error", [LdpError("why"), FileNotFoundError(2, "why"), PermissionError("why")])
def test_errors_of_the_project_and_of_the_system_become_messages(error):
    with pytest.raises(click.ClickException, match="why"), print_errors():
        raise error


def test_a_bug_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError), print_errors():
        raise ZeroDivisionError


@pytest.mark.slow
@pytest.mark.parametrize("command", ["train", "predict", "simulate", "survey"])
def test_a_closed_pipe_ends_a_command_without_a_message(tmp_path, command):
    plan = read_survey(TEA).compile()
    snapshot = Snapshot(plan, {})
    (tmp_path / "survey.toml").write_text(TEA)
    (tmp_path / "snapshot.json").write_bytes(snapshot.to_json())
    (tmp_path / "rows.csv").write_text("tea,hours,tired\n" + "black,3,yes\ngreen,9.5,no\n" * 10)
    save_model(tmp_path / "model.json", snapshot, estimate_snapshot(snapshot))
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
