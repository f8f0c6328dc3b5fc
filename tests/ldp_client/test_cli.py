"""ldp-client: what the person at the device reads, and what they can withdraw."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ldp_client import Response, State, TransportError
from ldp_client.cli import main
from tests.ldp_client.conftest import RECORDED, ROW, FakeTransport, wait_for_attempt

DOWN = TransportError("no network")
CLOSED = Response(410, b'{"reason":"survey-closed","retryable":false}')


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*arguments: str) -> str:
        command, *rest = arguments or ("",)
        main([command, "--journal", str(tmp_path / "journal.db"), *rest] if command else [])
        return capsys.readouterr().out

    return run


def test_status_shows_the_state_of_each_survey(run, client, plan, monkeypatch):
    assert "the person has not agreed to a survey" in run("status")
    transport = FakeTransport(DOWN)
    one = client(transport)
    assert "agreed to, not answered yet" in run("status")
    one.report(ROW, "no")
    shown = run("status")
    assert "answered, waits to be sent" in shown
    assert plan.digest in shown
    transport.responses = [RECORDED]
    one.flush()
    assert "answered and counted" in run("status")
    assert run("status").splitlines()[-1] == "epsilon spent in all: 1"
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    assert "DO_NOT_TRACK is set: nothing is drawn or sent" in run("status")


def test_status_says_how_to_see_why_a_report_waits(run, client):
    one = client(FakeTransport(CLOSED))
    assert "DEBUG" not in run("status")
    one.report(ROW, "no")
    one.flush()
    shown = run("status")
    assert "answered, waits; the collector said once that the survey is closed" in shown
    assert "at level DEBUG" in shown.splitlines()[-1]


def test_preview_shows_the_bytes_of_the_queued_report(run, client):
    assert run("preview") == "nothing waits to be sent\n"
    transport = FakeTransport(DOWN)
    one = client(transport)
    one.report(ROW, "no")
    wait_for_attempt(one)
    shown = run("preview", "sleep")
    assert transport.bodies[0] is not None
    assert transport.bodies[0].hex() in "".join(shown.split())
    assert "<- this one" in shown
    assert "<- the truth" not in shown


def test_purge_withdraws_and_deletes(run, client):
    one = client(FakeTransport(DOWN))
    one.report(ROW, "no")
    assert run("purge", "sleep").startswith("sleep: withdrawn")
    assert one.flush(0.05).state is State.WITHDRAWN
    assert run("purge", "--all").startswith("sleep: withdrawn")
    assert run("preview") == "nothing waits to be sent\n"


def test_a_damaged_journal_is_explained_and_can_be_forgotten(run, tmp_path, client):
    (tmp_path / "journal.db").write_bytes(b"this is not a database, and long enough to see that" * 20)
    with pytest.raises(SystemExit, match="purge --damaged"):
        run("status")
    receipt = client(FakeTransport(RECORDED), granted=False).grant()
    assert (receipt.state, receipt.reason) == (State.UNAVAILABLE, "journal-damaged")
    run("purge", "--damaged")
    assert "the person has not agreed to a survey" in run("status")


@pytest.mark.parametrize("arguments", [["purge", "diet"], ["preview", "diet"]])
def test_a_survey_that_is_not_known_is_named(run, client, arguments):
    client(FakeTransport(RECORDED))
    with pytest.raises(SystemExit, match=r"diet.*ldp-client status"):
        run(*arguments)


@pytest.mark.parametrize("arguments", [[], ["purge"], ["purge", "sleep", "--all"], ["erase"]])
def test_a_wrong_command_lists_the_commands(run, arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        run(*arguments)
    assert caught.value.code == 2
    assert "Usage: ldp-client" in capsys.readouterr().err
