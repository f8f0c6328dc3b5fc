"""Journals of other versions of the client, and files of other programs."""

import sqlite3
from contextlib import closing

import pytest

from ldp_client import Journal, JournalError
from tests.support.journals import IDENTITY, commit


@pytest.mark.parametrize("version", [-1, 1, 3, 6])
def test_a_journal_of_another_version_is_refused_and_stays(tmp_path, version):
    journal = Journal(tmp_path / "j.db")
    commit(journal, b"first")
    with closing(sqlite3.connect(tmp_path / "j.db")) as other, other:
        other.execute(f"PRAGMA user_version = {version}")
    before = (tmp_path / "j.db").read_bytes()
    with pytest.raises(JournalError, match=f"version {version}, and only 5 is supported: use the release"):
        commit(journal, b"second")
    assert (tmp_path / "j.db").read_bytes() == before


def test_a_journal_without_relays_is_extended_and_keeps_its_entries(tmp_path):
    journal = Journal(tmp_path / "j.db")
    commit(journal, b"first")
    with closing(sqlite3.connect(tmp_path / "j.db")) as former, former:
        former.execute("ALTER TABLE surveys DROP COLUMN sealed")
        former.execute("PRAGMA user_version = 4")
    entry = Journal(tmp_path / "j.db").find(IDENTITY)
    assert (entry.report, entry.sealed, entry.post) == (b"first", None, (f"{entry.url}/reports", b"first"))


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
