"""Where a journal is: the default path, and one journal per person at a shared device or process."""

import asyncio
import itertools
import os
import sys
from pathlib import Path

import pytest

import ldp_client
from ldp_client import AsyncClient, Client, Journal, JournalError, State
from ldp_client.cli import main
from ldp_client.stored_consent import default_path
from tests.ldp_client.conftest import RECORDED, ROW, URL, FakeTransport

PEOPLE = ("ann", "Ann", "ANN", "con", "_", "-", "0", "a" * 64, "Z" * 64)


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the default journal of a device."""
    path = tmp_path / "device" / "journal.db"
    monkeypatch.setenv("LDP_JOURNAL", str(path))
    return path


@pytest.mark.slow
def test_each_person_agrees_and_answers_for_themselves(ldp_recorder, plan):
    url = ldp_recorder.serve(plan)
    with Client(url, spread=0) as shared:
        shared.grant()
        shared.report(ROW, "no")
    for person in PEOPLE:
        with Client(url, person=person, spread=0) as client:
            assert client.report(ROW, "no").state is State.NO_CONSENT
            assert client.grant().state is State.READY
            assert client.report(ROW, "no").state is State.QUEUED
        with Client(url, person=person) as again:
            assert again.report(ROW, "yes").state is State.ALREADY_REPORTED
    assert len(ldp_recorder.reports) == 1 + len(PEOPLE)


def test_the_asynchronous_client_and_configure_take_a_person(ldp_recorder, plan):
    url = ldp_recorder.serve(plan)

    async def main() -> None:
        async with AsyncClient(url, person="ann") as client:
            await client.grant()
            assert (await client.report(ROW, "no")).state is State.QUEUED

    asyncio.run(main())
    ldp_client.configure(url, person="bea")
    assert ldp_client.report(ROW, "no").state is State.NO_CONSENT
    ldp_client.configure(url, person="ann")
    assert ldp_client.report(ROW, "no").state is State.ALREADY_REPORTED


def test_a_person_s_journal_is_beside_the_default_one(device):
    assert Path(Journal(person="ann").path) == device.parent / "journal.db.people" / "person-ann.db"
    paths = [Path(Journal(person=person).path) for person in PEOPLE]
    assert {path.parent for path in paths} == {device.parent / "journal.db.people"}
    assert len({path.name.casefold() for path in paths}) == len(PEOPLE)


def test_two_names_of_the_default_journal_lead_to_one_journal_of_a_person(device, monkeypatch):
    first = Journal(person="ann").path
    device.parent.mkdir()
    device.touch()
    (device.parent / "link.db").symlink_to(device)
    monkeypatch.setenv("LDP_JOURNAL", str(device.parent / "link.db"))
    assert Journal(person="ann").path == first


@pytest.mark.parametrize(
    "person", ["", ".", "..", "../ann", "a/b", "a\\b", "ann.db", "ann\n", "a" * 65, "änn", "ann ", "+a", 7]
)
def test_a_name_that_is_not_valid_is_refused_and_not_repeated(plan, person):
    for make in (lambda: Client(plan, URL, person=person), lambda: Journal(person=person)):
        with pytest.raises(JournalError, match="person must be 1 to 64") as caught:
            make()
        assert caught.value.reason == "bad-person"
        assert not person or f"{person!r}" not in str(caught.value)


def test_a_person_and_a_journal_together_are_refused(plan):
    for journal in (":memory:", Path("ann.db"), Journal(":memory:")):
        with pytest.raises(JournalError, match="person or journal, not both"):
            Client(plan, URL, person="ann", journal=journal)


def test_command_shows_and_withdraws_the_consent_of_one_person(device, plan, capsys):
    with Client(plan, URL, person="Ann", transport=FakeTransport(RECORDED), spread=1e9) as client:
        client.grant()

    def run(*arguments: str) -> str:
        main(arguments)
        return capsys.readouterr().out

    assert "the person has not agreed to a survey" in run("status")
    assert "agreed to, not answered yet" in run("status", "--person", "Ann")
    assert "nothing waits" in run("preview", "--person", "Ann")
    assert "the person has not agreed to a survey" in run("purge", "--all", "--person", "ann")
    assert run("purge", "--all", "--person", "Ann").startswith("sleep: not agreed to")
    with pytest.raises(SystemExit, match="person must be"):
        run("status", "--person", "../ann")
    with pytest.raises(SystemExit):
        run("status", "--person", "Ann", "--journal", str(device))


@pytest.mark.slow
def test_a_shared_journal_is_named_once_after_ten_repeated_answers(client, monkeypatch, caplog):
    monkeypatch.setattr("ldp_client.receipt._repeat_numbers", itertools.count(1))
    client(FakeTransport(RECORDED)).report(ROW, "no")
    for number in range(30):
        with client(FakeTransport(RECORDED)) as each:
            assert each.report(ROW, "no").state is State.ALREADY_REPORTED
        assert len(caplog.records) == (number >= 9)
    (record,) = caplog.records
    assert (record.levelname, record.name) == ("WARNING", "ldp_client")
    assert "one journal" in record.getMessage()
    assert "person=" in record.getMessage()


def test_repeated_answers_of_a_named_person_are_not_taken_for_a_shared_journal(
    plan, device, monkeypatch, caplog
):
    monkeypatch.setattr("ldp_client.receipt._repeat_numbers", itertools.count(1))
    with Client(plan, URL, person="ann", transport=FakeTransport(RECORDED), spread=0) as one:
        one.grant()
        for _ in range(12):
            one.report(ROW, "no")
    assert not caplog.records


def test_the_default_path_can_be_set(plan, tmp_path, monkeypatch):
    monkeypatch.setenv("LDP_JOURNAL", str(tmp_path / "deep" / "j.db"))
    Journal().grant(plan, URL)
    assert (tmp_path / "deep" / "j.db").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the XDG specification is Linux's")
def test_a_relative_data_home_is_ignored(tmp_path, monkeypatch):
    monkeypatch.delenv("LDP_JOURNAL", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert Path(default_path()) == tmp_path / ".local" / "share" / "ldp-client" / "journal.db"


def test_without_a_home_directory_the_error_names_the_variable(monkeypatch):
    monkeypatch.delenv("LDP_JOURNAL", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as without a home directory
    with pytest.raises(JournalError, match="LDP_JOURNAL"):
        default_path()
    journal = Journal()  # nothing that is the matter with a device may stop the application's start
    with pytest.raises(JournalError, match="LDP_JOURNAL"):
        journal.entries()


def test_invalid_path_is_a_clear_error():
    with pytest.raises(JournalError, match="cannot be a journal"):
        Journal("nul\0byte")
    assert Journal("~/j.db").path == os.path.realpath(Path.home() / "j.db")
