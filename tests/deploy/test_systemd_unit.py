"""The units of collector and relay: confined, accepted by systemd; the collector's command starts one."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.deploy.shipped_commands import is_ready, request_status, started
from tests.support.servers import SHIPPED_NGINX

DEPLOY = SHIPPED_NGINX.parent
COLLECTOR, RELAY = "ldp-collector.service", "relay/ldp-relay.service"


@pytest.mark.slow
def test_the_command_of_the_unit_starts_a_collector(unit, survey, tmp_path):
    _, *command = shlex.split(unit["ExecStart"])
    command = [str(survey) if word == "/etc/ldp-collector/survey.toml" else word for word in command]
    environment = dict(each.split("=", 1) for each in shlex.split(unit["Environment"]))
    assert unit["LoadCredential"] == "operator-token:/etc/ldp-collector/operator-token"
    (tmp_path / "operator-token").write_text("a-token-of-the-tests\n")
    places = {"/var/lib/ldp-collector": str(tmp_path), "%d": str(tmp_path)}
    for shipped, here in places.items():
        assert any(shipped in value for value in environment.values())
        environment = {name: value.replace(shipped, here) for name, value in environment.items()}
    with started(command, environment) as port:
        assert is_ready(port)
        assert request_status(port, "/metrics", "a-token-of-the-tests") == 200
        assert request_status(port, "/metrics", "another") == 401
    assert (tmp_path / "ldp.db").exists()


def test_the_unit_is_confined(unit):
    expected = {
        "DynamicUser": "yes",
        "StateDirectory": "ldp-collector",
        "ProtectSystem": "strict",
        "NoNewPrivileges": "yes",
        "MemoryDenyWriteExecute": "yes",
        "CapabilityBoundingSet": "",
        "ExecReload": "/bin/kill -HUP $MAINPID",
    }
    assert {name: unit.get(name) for name in expected} == expected
    assert "LogsDirectory" not in unit
    assert "LDP_OPERATOR_TOKEN=" not in unit["Environment"]  # all users can read units


def test_the_relay_is_confined_like_the_collector():
    ours, relays = ((DEPLOY / name).read_text() for name in (COLLECTOR, RELAY))
    begin = "UMask=0077\n"
    assert ours.partition(begin)[2] == relays.partition(begin)[2] != ""


@pytest.mark.slow
@pytest.mark.parametrize("unit", [COLLECTOR, RELAY])
def test_systemd_accepts_the_unit(tmp_path, unit):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze (Debian: apt-get install systemd)")
    text = (DEPLOY / unit).read_text()
    copy = tmp_path / Path(unit).name
    copy.write_text(re.sub("/opt/ldp-bayes/bin/ldp-[a-z]+", "/bin/true", text))
    run = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, timeout=60)
    assert (run.returncode, copy.name in run.stderr) == (0, False), run.stderr
