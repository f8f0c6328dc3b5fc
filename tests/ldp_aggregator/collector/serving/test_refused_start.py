"""What ends the start of a collector before it serves: one message, and exit code 1 or 2."""

import errno
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ldp_aggregator.cli.serve import _without_password, main
from ldp_aggregator.collector.errors import SettingsError
from ldp_aggregator.collector.serving import server
from ldp_aggregator.collector.serving.server import require_addresses
from ldp_aggregator.stores import open_store
from tests.ldp_aggregator.collector.conftest import SURVEY
from tests.support.servers import free_port

Serve = Callable[..., Result]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Return the command `ldp-collector serve` as a function; it fails if it would begin to serve."""

    def run_server(*_: object) -> None:
        pytest.fail("the server was started")

    monkeypatch.setattr(server, "serve", run_server)
    for name in [name for name in os.environ if name.startswith("LDP_")]:
        monkeypatch.delenv(name)

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(main, ["serve", *map(str, arguments)], catch_exceptions=False)

    return run


@pytest.mark.slow
def test_a_broken_survey_is_named_by_file_field_and_line(tmp_path, url):
    path = tmp_path / "broken.toml"
    path.write_text(SURVEY.replace("epsilon = 1.0", "epsilon = -1"))
    command = [Path(sys.executable).parent / "ldp-collector", "serve", path]
    command += ["--store", url]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert "broken.toml: line 3: survey.epsilon" in result.stderr


def test_an_invalid_signature_file_is_refused_before_serving(serve, survey, tmp_path, url):
    survey.with_name("survey.toml.sig").write_text("junk\n")
    result = serve(survey, "--store", url)
    assert result.exit_code == 1
    assert "survey.toml.sig: not a signature" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "store.db").exists()


def test_a_changed_survey_under_its_old_id_is_refused(serve, survey, url, plan):
    store = open_store(url)
    store.publish(plan.id, plan.json)
    store.close()
    survey.write_text(SURVEY.replace("epsilon = 1.0", "epsilon = 1.5"))
    result = serve(survey, "--store", url)
    assert result.exit_code == 1
    assert "new id" in result.stderr


@pytest.mark.parametrize(
    ("store", "why"),
    [("memory://", "for tests"), ("mysql://x", "a store is"), ("redis://host:port/0", "Redis URL")],
)
def test_a_store_that_cannot_serve_is_refused_before_serving(serve, survey, store, why):
    result = serve(survey, "--store", store)
    assert result.exit_code == 1
    assert why in result.stderr
    assert "Traceback" not in result.stderr


def test_the_store_s_password_is_not_printed():
    assert _without_password("redis://user:secret@host:6379/1?password=secret") == "redis://host:6379/1"
    assert _without_password("sqlite:////var/ldp.db") == "sqlite:////var/ldp.db"


@pytest.mark.parametrize("bind", ["127.0.0.1:99999", "nowhere", "127.0.0.1:", ":http"])
def test_an_invalid_address_is_refused(serve, survey, url, bind):
    result = serve(survey, "--store", url, "--bind", bind)
    assert result.exit_code == 2
    assert "HOST:PORT" in result.stderr


@pytest.mark.parametrize("option", ["--bind", "--operator-bind"])
def test_a_port_in_use_ends_the_start_with_one_message(serve, survey, url, option):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = serve(survey, "--store", url, "--bind", "127.0.0.1:0", option, address)
    assert result.exit_code == 1
    assert result.stdout == ""
    reason = "the port is in use; stop what listens on it, or choose another port"
    assert result.stderr == f"Error: {option} {address}: cannot listen there: {reason}\n"


def test_two_equal_addresses_end_the_start_with_one_message(serve, survey, url):
    address = f"127.0.0.1:{free_port()}"
    options = ("--bind", address, "--operator-bind", address)
    result = serve(survey, "--store", url, *options)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert f"--operator-bind {address}: cannot listen there: the port is in use" in result.stderr


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("192.0.2.1:0", "cannot listen there: this machine does not have the address; name one of its own"),
        ("::1:8000", "write an IPv6 address as [::1]:8000"),
    ],
)
def test_an_address_of_another_machine_ends_the_start_with_one_message(serve, survey, url, address, reason):
    result = serve(survey, "--store", url, "--bind", address)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert result.stderr.startswith(f"Error: --bind {address}: {reason}")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied"),
            "this user may not use the port; choose one from 1024 on",
        ),
        (socket.gaierror(socket.EAI_NONAME, "unknown"), "this machine cannot resolve the host"),
        (OSError(errno.EPERM, "Operation not permitted"), "Operation not permitted"),
    ],
)
def test_a_port_without_permission_is_refused_with_the_reason(monkeypatch, error, reason):
    def refuse(*_: object) -> None:  # the tests may run as root, who may bind every port
        raise error

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(SettingsError, match=re.escape(f"--bind localhost:80: cannot listen there: {reason}")):
        require_addresses({"--bind": "localhost:80"})


def test_an_invalid_proxy_address_is_refused(serve, survey, url):
    result = serve(survey, "--store", url, "--trusted-proxy", "proxy.test")
    assert result.exit_code == 2
    assert "for example 10.1.0.2" in result.stderr
