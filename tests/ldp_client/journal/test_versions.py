"""Journals of other versions of the client, and files of other programs."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ldp_client import Journal, JournalError, State
from tests.support.journals import IDENTITY, RELAYED, RELAYED_IDENTITY, commit


@pytest.mark.parametrize("version", [-1, 1, 3, 9])
def test_a_journal_of_another_version_is_refused_and_stays(tmp_path, version):
    journal = Journal(tmp_path / "j.db")
    commit(journal, b"first")
    with closing(sqlite3.connect(tmp_path / "j.db")) as other, other:
        other.execute(f"PRAGMA user_version = {version}")
    before = (tmp_path / "j.db").read_bytes()
    with pytest.raises(JournalError, match=f"version {version}, and only 8 is supported: use the release"):
        commit(journal, b"second")
    assert (tmp_path / "j.db").read_bytes() == before


def drop_series(journal: sqlite3.Connection) -> None:
    journal.execute("ALTER TABLE surveys DROP COLUMN series")
    journal.execute("DROP TABLE series")


def test_a_journal_without_series_is_extended_and_keeps_its_entries(tmp_path):
    journal = Journal(tmp_path / "j.db")
    commit(journal, b"first")
    with closing(sqlite3.connect(tmp_path / "j.db")) as former, former:
        drop_series(former)
        former.execute("PRAGMA user_version = 7")
    extended = Journal(tmp_path / "j.db")
    assert (extended.find(IDENTITY).report, extended.find(IDENTITY).series) == (b"first", "")
    assert extended.standing("sleep KEY") is None


def test_a_journal_without_relays_is_extended_and_keeps_its_entries(tmp_path):
    journal = Journal(tmp_path / "j.db")
    commit(journal, b"first")
    with closing(sqlite3.connect(tmp_path / "j.db")) as former, former:
        former.execute("DROP INDEX messages")
        former.execute("ALTER TABLE surveys DROP COLUMN sealed")
        former.execute("ALTER TABLE surveys DROP COLUMN closes")
        drop_series(former)
        former.execute("ALTER TABLE surveys DROP COLUMN wave")
        former.execute("ALTER TABLE surveys DROP COLUMN wave_name")
        former.execute("PRAGMA user_version = 4")
    entry = Journal(tmp_path / "j.db").find(IDENTITY)
    assert (entry.report, entry.sealed, entry.closes) == (b"first", None, None)
    assert entry.post == (f"{entry.url}/reports", b"first")


def make_version_5(path: Path, report: bytes, sealed: bytes, **changes: object) -> None:
    """Write a journal with the report in clear beside its message, as version 5 did."""
    journal = Journal(path)
    journal.grant(RELAYED, RELAYED.relay.url)
    journal.commit(RELAYED_IDENTITY, RELAYED, lambda _: sealed)
    with closing(sqlite3.connect(path)) as former, former:
        former.execute("UPDATE surveys SET report = ?", (report,))
        for name, value in changes.items():
            former.execute(f"UPDATE surveys SET {name} = ?", (value,))
        former.execute("DROP INDEX messages")
        former.execute("ALTER TABLE surveys DROP COLUMN closes")
        drop_series(former)
        former.execute("ALTER TABLE surveys DROP COLUMN wave")
        former.execute("ALTER TABLE surveys DROP COLUMN wave_name")
        former.execute("PRAGMA user_version = 5")
    assert report in path.read_bytes()


def test_a_report_in_clear_is_deleted_and_its_message_stays_the_same(tmp_path):
    report, sealed = b"a report in clear", b"its sealed message"
    make_version_5(tmp_path / "j.db", report, sealed)
    journal = Journal(tmp_path / "j.db")
    assert journal.queued_surveys() == [RELAYED_IDENTITY]
    assert all(report not in each.read_bytes() for each in tmp_path.iterdir())
    entry = journal.find(RELAYED_IDENTITY)
    assert (entry.state, entry.post) == (State.QUEUED, (f"{entry.url}/{entry.digest}", sealed))
    assert (entry.report, entry.closes) == (None, RELAYED.relay.closes)
    assert journal.commit(RELAYED_IDENTITY, RELAYED, lambda _: pytest.fail("was drawn")) == (entry, False)


def test_a_sent_message_of_version_5_stays_until_it_is_withdrawn(tmp_path):
    make_version_5(tmp_path / "j.db", b"a report in clear", b"message", state="sent", plan=None)
    journal = Journal(tmp_path / "j.db")
    journal.forget_messages(RELAYED.relay.closes + 10 * 86_400)
    assert journal.find(RELAYED_IDENTITY).sealed == b"message"
    assert journal.withdraw(RELAYED_IDENTITY).state is State.WITHDRAWN


def test_a_state_of_another_version_is_a_clear_error(tmp_path):
    journal = Journal(tmp_path / "j.db")
    commit(journal, b"first")
    with sqlite3.connect(tmp_path / "j.db") as other:
        other.execute("UPDATE surveys SET state = 'teleported'")
    other.close()
    with pytest.raises(JournalError, match="another version"):
        journal.find(IDENTITY)


def test_another_application_s_database_is_no_journal(tmp_path):
    with closing(sqlite3.connect(tmp_path / "app.db")) as other, other:
        other.execute("CREATE TABLE notes (text TEXT)")
    with pytest.raises(JournalError, match="another application"):
        commit(Journal(tmp_path / "app.db"), b"first")
