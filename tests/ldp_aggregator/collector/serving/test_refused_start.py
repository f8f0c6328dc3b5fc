"""What ends the start of a collector before it serves: one message, and exit code 1 or 2."""

import errno
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from click.testing import Result

from encoders.randomness import SystemEntropy
from encoders.report import MEDIA_TYPE
from encoders.survey import Plan, read_survey
from ldp_aggregator.cli.serve import _without_password
from ldp_aggregator.collector.errors import SettingsError
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.invitations import create_tokens
from ldp_aggregator.collector.serving import server
from ldp_aggregator.collector.serving.server import require_addresses
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.collector.startup import publish_surveys
from ldp_aggregator.snapshot import counter_names
from ldp_aggregator.stores import open_store
from ldp_aggregator.stores.failure import MissingSurveyError
from ldp_aggregator.stores.store import TEXTS
from ldp_client import make_report
from tests.ldp_aggregator.collector.conftest import INVITED, REPORTS, ROW, SURVEY, make_client, make_store
from tests.support.commands import command
from tests.support.relays import relayed_plan
from tests.support.servers import free_port
from tests.support.surveys import SLEEP, SLEEP_TEXTS

Serve = Callable[..., Result]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Return the command `ldp-collector serve` as a function; it fails if it would begin to serve."""

    def run_server(*_: object) -> None:
        pytest.fail("the server was started")

    monkeypatch.setattr(server, "serve", run_server)
    return partial(command, "ldp-collector", "serve", check=False)


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


CHANGED = SURVEY.replace("epsilon = 1.0", "epsilon = 1.5")


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.slow)])
def any_url(request: pytest.FixtureRequest) -> str:
    """Return the URL of a store of each kind that can be served."""
    if request.param == "sqlite":
        return request.getfixturevalue("url")
    return request.getfixturevalue("server").url


def fill(url: str, plan: Plan, reports: int = 0) -> None:
    with closing(open_store(url)) as store:
        store.publish(plan.id, plan.json, counter_names(plan))
        for _ in range(reports):
            Intake(plan, store).record_body(make_report(plan, ROW, "yes"))


def read_plans(url: str) -> dict[str, bytes]:
    with closing(open_store(url)) as store:
        return store.plans()


def test_a_changed_survey_with_reports_is_refused_and_the_message_counts_them(serve, survey, any_url, plan):
    fill(any_url, plan, reports=3)
    survey.write_text(CHANGED)
    other = survey.with_name("other.toml")
    other.write_text(SURVEY.replace('"sleep"', '"other"'))
    result = serve(other, survey, "--store", any_url, "--bind", "127.0.0.1:0")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "another plan of survey 'sleep' with 3 reports" in result.stderr
    assert "give the changed survey a new id, or serve the plan that was answered" in result.stderr
    assert read_plans(any_url) == {plan.id: plan.json}  # without the other survey


def test_a_changed_survey_with_tokens_is_refused(serve, survey, url):
    survey.write_text(INVITED)
    plan = read_survey(INVITED).compile()
    fill(url, plan)
    with closing(open_store(url)) as store:
        assert len(list(create_tokens(store, plan, 7, SystemEntropy()))) == 7
    survey.write_text(INVITED.replace("epsilon = 1.0", "epsilon = 1.5"))
    result = serve(survey, "--store", url, "--bind", "127.0.0.1:0")
    assert (result.exit_code, read_plans(url)) == (1, {plan.id: plan.json})
    assert "with 0 reports and 7 tokens" in result.stderr


def test_a_changed_survey_without_reports_replaces_the_old_one(survey, any_url, plan):
    fill(any_url, plan)
    survey.write_text(CHANGED)
    settings = CollectorSettings(surveys=(survey,), store=any_url)
    published = publish_surveys(settings)
    changed = read_survey(CHANGED).compile()
    assert read_plans(any_url) == {plan.id: changed.json}
    survey.write_text(SURVEY)  # a reload replaces it, too
    assert publish_surveys(settings, published).stored_plans == {plan.id: plan.json}
    survey.write_text(CHANGED)  # of the collector that served the other plan: it does not replace it back
    assert publish_surveys(settings, published).stored_plans == {plan.id: changed.json}
    assert read_plans(any_url) == {plan.id: plan.json}
    store = published.make_app().extensions["ldp"].store
    with pytest.raises(MissingSurveyError, match="has another plan of it"):
        store.check_ready()
    store.close()


def test_the_texts_of_a_replaced_plan_do_not_stand_for_those_of_the_new_plan(serve, tmp_path, url, plan):
    texts = SLEEP + SLEEP_TEXTS
    first, second = (read_survey(each).compile() for each in (texts, texts.replace("bins = 4", "bins = 3")))
    fill(url, first)
    with closing(open_store(url)) as store:
        store.set_note(TEXTS, first.id, first.texts.json)
    path = tmp_path / "plan.json"
    path.write_bytes(second.json)
    result = serve(path, "--store", url, "--bind", "127.0.0.1:0")
    assert (result.exit_code, read_plans(url)) == (1, {first.id: first.json})
    assert "the texts of sleep are not beside its plan" in result.stderr


def test_operator_pages_of_a_replaced_plan_show_no_counts_of_the_new_plan(plan):
    store = make_store(plan)
    client = make_client(store, operator_token="the-token-of-the-operator")
    store.publish(plan.id, read_survey(CHANGED).compile().json)
    headers = {"Authorization": "Bearer the-token-of-the-operator"}
    for page in ("snapshot", "progress", "estimates", "estimates.csv"):
        assert client.get(f"/v1/surveys/sleep/{page}", headers=headers).status_code == 503
    report = make_report(plan, ROW, "yes")
    assert client.post(REPORTS, data=report, content_type=MEDIA_TYPE).status_code == 503
    assert store.totals(plan.id) == {}


@pytest.mark.parametrize(
    ("name", "content", "options", "why"),
    [
        ("bad.toml", SURVEY.replace("epsilon = 1.0", "epsilon = -1"), [], "survey.epsilon"),
        ("same.toml", SURVEY, [], "two survey files have the id sleep"),
        ("relayed.json", relayed_plan().json.decode(), [], "--role relay"),
        ("relayed.json", relayed_plan().json.decode(), ["--tokens", "token"], "relayed.json.key"),
        ("other.toml", SURVEY.replace('"sleep"', '"b"'), ["--operator-token-file", "none"], "cannot be read"),
        ("other.toml", SURVEY.replace('"sleep"', '"b"'), ["--config", "bad-config"], "no such setting"),
        ("other.toml", SURVEY.replace('"sleep"', '"b"'), ["--bind", "192.0.2.1:0"], "cannot listen there"),
    ],
)
def test_a_start_that_fails_leaves_no_file_and_no_survey(
    serve, survey, tmp_path, monkeypatch, plan, name, content, options, why
):
    monkeypatch.chdir(tmp_path)
    for file, text in {
        name: content,
        "token": f'[tokens.relay]\nrole = "relay"\nsha256 = "{"0" * 64}"',
        "bad-config": "x = 1\n",
    }.items():
        Path(file).write_text(text)
    before = sorted(os.listdir())
    result = serve("--bind", "127.0.0.1:0", *options, survey, name)
    assert result.exit_code in (1, 2)
    assert why in result.stderr
    assert sorted(os.listdir()) == before
    former = read_survey(SURVEY.replace('"sleep"', '"former"')).compile()
    fill("sqlite:///ldp.db", former)
    assert serve("--bind", "127.0.0.1:0", *options, survey, name).stderr == result.stderr
    assert read_plans("sqlite:///ldp.db") == {former.id: former.json}


def test_a_store_that_cannot_be_filled_leaves_no_file(serve, survey, url, tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("ldp_aggregator.stores.sqlite_file.create_tables", fail)
    before = sorted(os.listdir(tmp_path))
    result = serve(survey, "--store", url, "--bind", "127.0.0.1:0")
    assert result.stderr.startswith("Error: the SQLite store cannot be used")
    assert sorted(os.listdir(tmp_path)) == before


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
