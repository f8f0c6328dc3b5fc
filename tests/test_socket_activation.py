"""Sockets of systemd are refused by the collector and by the relay, with a sentence."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.relays import small_text, write_relay_files
from tests.support.servers import free_port, inherited_environment
from tests.support.surveys import SLEEP

PASS_SOCKETS = """
import os, sys
os.environ |= {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
os.execv(sys.argv[1], sys.argv[1:])
"""
"""What systemd does before it starts a service: the process id stays the same."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "setting"),
    [("ldp-collector", "--bind and --operator-bind"), ("ldp-relay", "bind")],
)
def test_a_service_that_gets_sockets_of_systemd_ends_with_the_fix(tmp_path, command, setting):
    if command == "ldp-relay":
        pytest.importorskip("cryptography.hazmat.primitives.hpke")
        arguments = [write_relay_files(tmp_path, small_text(free_port()), "http://127.0.0.1:9")]
    else:
        (tmp_path / "survey.toml").write_text(SLEEP)
        arguments = [tmp_path / "survey.toml", "--store", f"sqlite:///{tmp_path}/ldp.db"]
        arguments += ["--bind", "127.0.0.1:0", "--operator-bind", "127.0.0.1:0"]
    program = Path(sys.executable).parent / command
    with socket.create_server(("127.0.0.1", 0)) as passed:
        words = [sys.executable, "-c", PASS_SOCKETS, program, "serve", *arguments]
        run = subprocess.run(
            [str(each) for each in words],
            env=inherited_environment(),
            pass_fds=[passed.fileno()],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert run.returncode == 1
    assert run.stderr.startswith("Error: systemd has passed sockets to this process (LISTEN_FDS)")
    assert run.stderr.endswith(f"disable the .socket unit, and name the address with {setting}\n")
    assert not (tmp_path / "ldp.db").exists()
