"""An application's tests with the recorder connect to nothing, up to the exit of their process.

A real server listens where the application would send, and Python's audit events show attempts to connect.
"""

import os
import re
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from encoders.survey import read_survey
from ldp_client import Journal, State
from tests.support.surveys import SLEEP

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
CONFTEST = """
import os, sys

EVENTS = ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.sendmsg")

def watch(event, arguments):
    if event in EVENTS:
        with open(os.environ["APP_EVENTS"], "a") as file:
            print(event, *arguments[1:], file=file)

sys.addaudithook(watch)  # until the process has exited
pytest_plugins = ["ldp_client.testing"]
"""
APPLICATION = """
import os
import ldp_client

URL = os.environ["APP_URL"]
ROW = {"age": "old", "hours": 7.5}
client = ldp_client.configure(URL, spread=0)
for_ann = ldp_client.Client(URL, person="ann", spread=0)
asynchronous = ldp_client.AsyncClient(URL, person="bob", spread=0)
with_journal = ldp_client.Client(URL, journal=os.environ["APP_JOURNAL"], spread=0)

def submit():
    client.grant()
    return ldp_client.report(ROW, "no").state

async def submit_for_bob():
    await asynchronous.grant()
    return (await asynchronous.report(ROW, "no")).state
"""


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def connections(listener: socket.socket) -> int:
    """Return how many connections were made to a listener."""
    count = 0
    while True:
        try:
            listener.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1


class Application:
    """An application whose tests run in another process."""

    def __init__(self, folder: Path, listener: socket.socket) -> None:
        self.folder, self.events, self.listener = folder, folder / "events", listener
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1/surveys/sleep"
        for name, text in (("app.py", APPLICATION), ("conftest.py", CONFTEST), ("survey.toml", SLEEP)):
            (folder / name).write_text(text)
        self.events.touch()

    def require_no_connection(self) -> None:
        assert connections(self.listener) == 0
        assert self.events.read_text() == ""

    def run(self, tests: str, code: int = 0) -> str:
        """Run tests, which must exit with a code; return what they print."""
        (self.folder / "test_app.py").write_text(textwrap.dedent(tests))
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # the plugins of this environment take seconds to load
            "APP_URL": self.url,
            "APP_EVENTS": str(self.events),
            "APP_JOURNAL": str(self.folder / "explicit.db"),
            "LDP_JOURNAL": str(self.folder / "own.db"),
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(self.folder)]
        result = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        assert result.returncode == code, result.stdout + result.stderr
        return result.stdout


@pytest.fixture
def application(tmp_path: Path, listener: socket.socket) -> Application:
    return Application(tmp_path, listener)


def test_the_watch_sees_an_application_that_sends(application, listener):
    application.run(
        """
        import app, ldp_client

        def test_without_the_recorder(tmp_path):
            plan = ldp_client.load_plan("survey.toml")
            client = ldp_client.Client(plan, app.URL, journal=tmp_path / "journal.db", spread=0)
            client.grant()
            client.report(app.ROW, "no")
            client.flush(1)
        """
    )
    assert connections(listener) > 0
    assert "socket.connect" in application.events.read_text()


def test_tests_with_the_recorder_connect_to_nothing(application):
    output = application.run(
        """
        import asyncio
        import ldp_client, pytest
        import app
        from ldp_client import State
        from ldp_client.testing import BEHAVIOURS

        @pytest.fixture(autouse=True)
        def collector(ldp_recorder):
            ldp_recorder.serve(ldp_client.load_plan("survey.toml"))
            return ldp_recorder

        def report_from_all(seconds, begin_trouble=lambda: None):
            clients = [app.client, app.for_ann, ldp_client.Client(app.URL, person="carl", spread=0)]
            for client in clients:
                client.grant()
            asyncio.run(app.asynchronous.grant())
            begin_trouble()
            for client in clients:
                assert client.report(app.ROW, "no").state is State.QUEUED
                client.flush(seconds)

            async def report_from_bob():
                assert (await app.asynchronous.report(app.ROW, "no")).state is State.QUEUED
                await app.asynchronous.flush(seconds)

            asyncio.run(report_from_bob())

        def test_reports_are_recorded(collector):
            report_from_all(60)
            assert len(collector.reports) == 4

        @pytest.mark.parametrize("behaviour", BEHAVIOURS)
        def test_reports_that_still_wait_when_the_test_ends(collector, behaviour):
            report_from_all(0.05, lambda: collector.respond(behaviour, seconds=60))

        def test_reports_of_a_test_without_a_network(collector):
            report_from_all(0.05, lambda: setattr(collector, "offline", True))

        def test_clients_that_are_never_sent_or_closed(collector):
            made = [ldp_client.Client(app.URL, person=str(n), spread=1e9) for n in range(3)]
            for client in made:
                client.grant()
                client.report(app.ROW, "no")
            globals()["kept"] = made

        def test_a_plan_and_a_preview(collector):
            assert app.client.plan.id == "sleep"
            app.client.preview(app.ROW, "no")
            ldp_client.load_plan(app.URL)

        def test_the_address_of_the_environment(collector, monkeypatch):
            monkeypatch.setenv("LDP_SURVEY_URL", app.URL)
            monkeypatch.setattr(ldp_client, "_client", None)
            assert ldp_client.report(app.ROW, "no").state is State.NO_CONSENT
        """
    )
    assert "11 passed" in output
    application.require_no_connection()
    assert not (application.folder / "own.db").exists()


@pytest.mark.parametrize("exists", [True, False])
def test_a_report_that_a_test_leaves_in_a_journal_of_the_application_is_never_sent(application, exists):
    journal = Journal(application.folder / "explicit.db")
    if exists:
        journal.grant(read_survey(SLEEP).compile(), application.url)
    application.run(
        """
        import app, ldp_client

        def test_without_a_network(ldp_recorder):
            ldp_recorder.serve(ldp_client.load_plan("survey.toml"))
            app.with_journal.grant()
            ldp_recorder.offline = True
            assert app.with_journal.report(app.ROW, "no").state == "queued"

        def test_the_next(ldp_recorder):
            assert app.with_journal.status().state == "withdrawn"
        """
    )
    application.run("import app\ndef test_nothing(): pass")  # reads the journal, and exits
    assert [entry.state for entry in journal.entries()] == [State.WITHDRAWN]
    application.require_no_connection()


def test_clients_made_at_import_use_the_recorder_and_the_test_s_journal(application):
    output = application.run("""
        import asyncio, os
        import ldp_client, pytest
        import app
        from ldp_client import State

        clients = [app.client, app.for_ann, app.asynchronous.client]
        paths = [client._journal.path for client in clients]

        @pytest.mark.parametrize("run", range(2))
        def test_each_client_reports_once(ldp_recorder, tmp_path, run):
            ldp_recorder.serve(ldp_client.load_plan("survey.toml"))
            assert app.submit() == "queued"
            assert app.submit() == "already_reported"
            assert app.for_ann.report(app.ROW, "no").state == "no_consent"
            assert asyncio.run(app.submit_for_bob()) == "queued"
            assert len(ldp_recorder.reports) == 2
            assert app.client.outcomes[State.SENT] == 1
            assert all(client._journal.path.startswith(str(tmp_path)) for client in clients)
            assert app.with_journal._journal.path == os.environ["APP_JOURNAL"]

        def test_a_test_that_closes_the_client_does_not_close_it_for_the_next(ldp_recorder):
            ldp_client.configure(app.URL)
            assert "later configure()" in app.client.grant().why

        def test_an_explicit_journal_is_kept_and_reports_to_the_recorder(ldp_recorder):
            ldp_recorder.serve(ldp_client.load_plan("survey.toml"))
            app.with_journal.grant()
            assert app.with_journal.report(app.ROW, "no").state == "queued"
            assert len(ldp_recorder.reports) == 1

        def test_afterwards_the_clients_are_as_before():
            assert ldp_client._client is app.client
            assert [client._journal.path for client in clients] == paths
            assert not any(client.outcomes for client in clients)
            assert all(type(client.transport) is ldp_client.HttpTransport for client in clients)
            assert app.client.status().state == "no_consent"
    """)
    assert "5 passed" in output
    application.require_no_connection()
    assert not (application.folder / "own.db").exists()
    assert [entry.state for entry in Journal(application.folder / "explicit.db").entries()] == [State.SENT]


def test_the_example_of_the_documentation_passes(application):
    page = (ROOT / "docs" / "embedding.md").read_text("utf-8")
    [example] = re.findall(r"```python\n(# app\.py\n.*?)```", page, re.DOTALL)
    _, *parts = re.split(r"^# (\w+\.py)\n", example, flags=re.MULTILINE)
    files = dict(zip(parts[::2], parts[1::2], strict=True))
    assert set(files) == {"app.py", "conftest.py", "test_app.py"}
    url = "https://collector.example/v1/surveys/sleep-2026"
    assert url in files["app.py"]
    served = f"{application.url.rpartition('/')[0]}/sleep-2026"  # a request would be seen
    (application.folder / "app.py").write_text(files["app.py"].replace(url, served))
    (application.folder / "conftest.py").write_text(files["conftest.py"])
    survey = SLEEP.replace('id = "sleep"', 'id = "sleep-2026"')
    (application.folder / "survey.toml").write_text(survey)
    output = application.run(files["test_app.py"])
    assert "2 passed" in output
    application.require_no_connection()
    assert not (application.folder / "own.db").exists()


def test_a_request_that_would_reach_the_network_fails_the_test(application):
    output = application.run(
        """
        import app, ldp_client, pytest
        from ldp_client.testing import UnrecordedRequestError

        def test_a_client_with_http_of_its_own(ldp_recorder):
            http = ldp_client.HttpTransport()
            assert ldp_client.Client(app.URL, transport=http).grant().state == "unavailable"
            with pytest.raises(UnrecordedRequestError):
                ldp_client.Client(app.URL, transport=http, strict=True).grant()
        """,
        code=1,
    )
    assert "1 passed, 1 error" in output
    assert f"UnrecordedRequestError: GET {application.url} was not sent" in output
    application.require_no_connection()
