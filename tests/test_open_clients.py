"""After each test, no client of it sends, logs or is open."""

from encoders.survey import read_survey
from ldp_client import Client, Response, State, TransportError
from tests.support.open_clients import client_threads, close_clients
from tests.support.servers import wait_for
from tests.support.surveys import SLEEP

ROW = {"age": "old", "hours": 7.5}
URL = "http://collector.test/v1/surveys/sleep"


class Unreachable:
    """A collector that is out of reach, and counts the attempts to reach it."""

    attempts = 0

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        self.attempts += 1
        raise TransportError("no network")


def test_clients_that_a_test_leaves_open_are_closed_without_another_attempt(tmp_path, monkeypatch):
    monkeypatch.setattr("ldp_client.retry_after.draw_backoff", lambda failures, draw: 0.001)
    plan, tried, untried = read_survey(SLEEP).compile(), Unreachable(), Unreachable()
    clients = [
        Client(plan, URL, journal=tmp_path / "tried.db", transport=tried, spread=0),
        Client(plan, URL, journal=tmp_path / "untried.db", transport=untried, spread=1e9),
    ]
    for client in clients:
        client.grant()
        client.report(ROW, "no")
    wait_for(lambda: tried.attempts > 2)
    assert len(client_threads()) == 2
    close_clients()
    assert client_threads() == []
    attempts = tried.attempts
    for client in clients:
        assert client.report(ROW, "no").reason == "client-closed"
        assert client.flush(0.01).state is State.QUEUED
    assert (tried.attempts, untried.attempts) == (attempts, 0)
