"""has_consent: what an application asks when it starts."""

import subprocess
import sys

import pytest

import ldp_client
from ldp_client import Client, JournalError, TransportError, has_consent
from tests.ldp_client.conftest import RECORDED, ROW, URL, FakeTransport
from tests.ldp_client.test_device_size import ROOT

OTHER = "http://collector.test/v1/surveys/other"
HEAVY = (
    *("asyncio", "concurrent", "dataclasses", "email", "encoders.survey", "fractions", "http", "inspect"),
    *("ipaddress", "json", "ldp_client.client", "ldp_client.journal", "logging", "msgpack", "pathlib"),
    *("socket", "ssl", "urllib"),
)
"""Modules that nothing of the cheap question may load."""
ASK = """
import sys
sys.path.insert(0, {root!r})
before = set(sys.modules)
import ldp_client
print(ldp_client.has_consent({url!r}, journal={journal!r}))
print(*(set(sys.modules) - before))
"""


@pytest.fixture(autouse=True)
def device(tmp_path, monkeypatch):
    monkeypatch.setenv("LDP_JOURNAL", str(tmp_path / "journal.db"))
    return tmp_path / "journal.db"


def test_consent_is_there_from_grant_to_withdrawal(plan, device):
    assert not has_consent(URL)
    assert not device.exists()  # the question makes no file
    with Client(plan, URL, transport=FakeTransport(RECORDED), spread=0) as one:
        assert not has_consent(URL)
        one.grant()
        assert has_consent(URL)
        assert has_consent(f"{URL}/", journal=device)
        assert has_consent(URL, journal=one._journal)
        assert not has_consent(OTHER)
        assert not has_consent(URL, person="ann")
        one.report(ROW, "no")
        assert has_consent(URL)
        one.flush()
        assert has_consent(URL)


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_withdrawal_ends_it(plan, is_answered):
    with Client(plan, URL, transport=FakeTransport(TransportError("away"))) as one:
        one.grant()
        if is_answered:
            one.report(ROW, "no")
        one.withdraw()
        assert not has_consent(URL)


def test_a_person_has_their_own(plan):
    with Client(plan, URL, person="ann", transport=FakeTransport(RECORDED)) as one:
        one.grant()
    assert has_consent(URL, person="ann")
    assert not has_consent(URL, person="bob")
    assert not has_consent(URL)


@pytest.mark.parametrize("name", ["DO_NOT_TRACK", "LDP_CLIENT_OFF", "LDP_REHEARSAL"])
def test_a_variable_that_forbids_reports_is_a_no(plan, monkeypatch, name):
    with Client(plan, URL, transport=FakeTransport(RECORDED)) as one:
        one.grant()
    monkeypatch.setenv(name, "1")
    assert not has_consent(URL)


def test_the_survey_is_that_of_the_environment(plan, monkeypatch):
    with Client(plan, URL, transport=FakeTransport(RECORDED)) as one:
        one.grant()
    monkeypatch.setenv("LDP_SURVEY_URL", URL)
    assert has_consent()


@pytest.mark.parametrize("data", [b"", b"this is no database" * 100])
def test_the_state_of_a_device_raises_nothing(device, data):
    device.write_bytes(data)
    assert not has_consent(URL)
    device.with_name("journal.db.damaged").touch()
    assert not has_consent(URL)


def test_a_device_without_a_home_has_no_consent(monkeypatch):
    for name in ("LDP_JOURNAL", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert not has_consent(URL)


def test_mistakes_of_the_application_are_named():
    for survey in (None, "", "sleep", 7):
        with pytest.raises(TransportError, match="give the survey's URL"):
            has_consent(survey)
    with pytest.raises(JournalError, match="give person or journal, not both"):
        has_consent(URL, person="ann", journal="j.db")
    with pytest.raises(JournalError, match="person must be"):
        has_consent(URL, person="an/n")
    with pytest.raises(JournalError, match="cannot be a journal's"):
        has_consent(URL, journal=7)


@pytest.mark.slow
@pytest.mark.parametrize("is_granted", [False, True])
def test_the_question_loads_neither_client_nor_network(plan, tmp_path, is_granted):
    journal = tmp_path / "other.db"
    if is_granted:
        with Client(plan, URL, journal=journal, transport=FakeTransport(RECORDED)) as one:
            one.grant()
    code = ASK.format(root=str(ROOT), url=URL, journal=str(journal))
    run = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    answer, modules = run.stdout.splitlines()
    assert answer == str(is_granted)
    loaded = set(modules.split())
    assert not {name for name in loaded for heavy in HEAVY if f"{name}.".startswith(f"{heavy}.")}
    assert ("sqlite3" in loaded) == is_granted
    ours = {name for name in loaded if name.startswith(("ldp_client.", "encoders."))}
    assert len(ours) <= 6


def test_it_is_public():
    assert "has_consent" in ldp_client.__all__
