"""An application's tests with the recorder connect to nothing, up to the exit of their process.

A real server listens where the application would send, and Python's audit events show attempts to connect.
"""

import os
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
        self.folder, self.events = folder, folder / "events"
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1/surveys/sleep"
        for name, text in (("app.py", APPLICATION), ("conftest.py", CONFTEST), ("survey.toml", SLEEP)):
            (folder / name).write_text(text)
        self.events.touch()

    def run(self, tests: str) -> str:
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
        assert result.returncode == 0, result.stdout + result.stderr
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


def test_tests_with_the_recorder_connect_to_nothing(application, listener):
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
            report_from_all(5)
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
    assert connections(listener) == 0
    assert application.events.read_text() == ""
    assert not (application.folder / "own.db").exists()


@pytest.mark.parametrize("exists", [True, False])
def test_a_report_that_a_test_leaves_in_a_journal_of_the_application_is_never_sent(
    application, listener, exists
):
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
    assert connections(listener) == 0
    assert application.events.read_text() == ""
