"""Journals of older and newer versions of the client."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ldp_client import Journal, JournalError
from ldp_client.survey_identity import SurveyIdentity
from tests.support.journals import IDENTITY, PLAN, URL, commit


@pytest.mark.parametrize("version", [0, 1])
def test_a_journal_of_an_older_version_is_brought_up_to_date(tmp_path: Path, version: int) -> None:
    with closing(sqlite3.connect(tmp_path / "j.db")) as old, old:
        family = "family TEXT NOT NULL, " if version else ""
        old.execute(
            f"CREATE TABLE answers (survey TEXT PRIMARY KEY, {family}digest TEXT NOT NULL, "
            "url TEXT NOT NULL, epsilon TEXT NOT NULL, report BLOB, state TEXT NOT NULL, "
            "reason TEXT NOT NULL DEFAULT '') WITHOUT ROWID"
        )
        family = "'sleep', " if version else ""
        line = f"INSERT INTO answers VALUES ('sleep', {family}'{PLAN.digest}', '{URL}', '1', ?, 'queued', '')"
        old.execute(line, (b"\x01",))
        old.execute(f"PRAGMA user_version = {version}")
    journal = Journal(tmp_path / "j.db")
    assert commit(journal, b"second") == (b"\x01", False)
    assert commit(journal, b"second", "sleep-2", "sleep") == (b"\x01", False)
    assert commit(journal, b"third", "diet") == (b"third", True)


def test_a_journal_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "j.db") as newer:
        newer.execute("PRAGMA user_version = 4")
    newer.close()
    with pytest.raises(JournalError, match="newer version"):
        commit(Journal(tmp_path / "j.db"), b"first")


def test_a_state_of_a_newer_version_is_a_clear_error(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    commit(journal, b"first")
    with sqlite3.connect(tmp_path / "j.db") as other:
        other.execute("UPDATE surveys SET state = 'teleported'")
    other.close()
    with pytest.raises(JournalError, match="newer"):
        journal.find(IDENTITY)


def test_a_journal_of_version_2_takes_origins_from_its_urls(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "j.db")) as old, old:
        old.execute(
            "CREATE TABLE surveys (survey TEXT PRIMARY KEY, family TEXT NOT NULL, url TEXT NOT NULL, "
            "digest TEXT NOT NULL, signer TEXT NOT NULL DEFAULT '', epsilon TEXT NOT NULL DEFAULT '0', "
            "state TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '', plan BLOB, report BLOB)"
        )
        old.execute("CREATE INDEX families ON surveys (family)")
        old.execute("CREATE INDEX waiting ON surveys (survey) WHERE state = 'queued'")
        line = "INSERT INTO surveys VALUES ('sleep', 'health', ?, ?, 'key', '1', 'queued', '', ?, ?)"
        old.execute(line, ("https://Collector.Test:443/v1/surveys/sleep", PLAN.digest, PLAN.json, b"\x01"))
        old.execute("PRAGMA user_version = 2")
    journal = Journal(tmp_path / "j.db")
    assert journal.queued_surveys() == [IDENTITY._replace(signer="key")]
    assert commit(journal, b"second") == (b"\x01", False)
    found = journal.find_answered(SurveyIdentity("later", IDENTITY.origin), "health")
    assert found is not None
    assert (found.epsilon, found.plan, found.family) == ("1", PLAN.json, "health")


def test_another_application_s_database_is_no_journal(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "app.db")) as other, other:
        other.execute("CREATE TABLE notes (text TEXT)")
    with pytest.raises(JournalError, match="another application"):
        commit(Journal(tmp_path / "app.db"), b"first")
    for version in (-1, 4):
        with closing(sqlite3.connect(tmp_path / "app.db")) as other, other:
            other.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(JournalError, match="newer version"):
            commit(Journal(tmp_path / "app.db"), b"first")
