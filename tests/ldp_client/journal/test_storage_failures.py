"""Damaged files, full and read-only disks, and what protects the file."""

from __future__ import annotations

import errno
import multiprocessing
import os
import sys
from pathlib import Path

import pytest

from ldp_client import Journal, JournalError, State
from ldp_client.journal.file import _file_id
from tests.ldp_client.conftest import SYNCHRONOUS
from tests.support.journals import IDENTITY, PLAN, URL, commit, state_of


def test_an_unreachable_file_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "file" / "j.db", tmp_path):
        with pytest.raises(JournalError, match="cannot be used"):
            commit(Journal(path), b"report")


def _damage(path: Path, way: str) -> None:
    whole = path.read_bytes()
    page = os.urandom(4096)
    damaged = {"garbage": page * 3, "no header": page + whole[4096:], "cut": whole[: len(whole) // 2]}
    path.write_bytes(damaged[way])


@pytest.mark.slow
@pytest.mark.parametrize("way", ["garbage", "no header", "cut"])
def test_damaged_journal_is_renamed_and_no_survey_is_reported_twice(tmp_path, way):
    path = tmp_path / "j.db"
    for number in range(40):
        commit(Journal(path), os.urandom(300), f"survey-{number}")
    _damage(path, way)
    damaged = path.read_bytes()
    for _ in range(3):
        for survey in ("survey-0", "another"):
            with pytest.raises(JournalError) as caught:
                commit(Journal(path), b"report", survey)
            assert caught.value.reason == "journal-damaged"
    assert (tmp_path / "j.db.damaged").read_bytes() == damaged
    Journal(path).forget_damaged()
    assert commit(Journal(path), b"afresh") == (b"afresh", True)
    assert [file.name for file in tmp_path.iterdir()] == ["j.db"]


def _fill_the_disk(path: Path, results: multiprocessing.Queue[str]) -> None:
    import resource

    journal = Journal(path)
    journal.grant(PLAN, URL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, resource.RLIM_INFINITY))
    try:
        journal.commit(IDENTITY, PLAN, lambda _: os.urandom(4000))
    except JournalError as error:
        results.put(error.reason)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX limits")
def test_a_full_disk_is_a_clear_error_and_spends_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[str] = context.Queue()
    process = context.Process(target=_fill_the_disk, args=(tmp_path / "j.db", results))
    process.start()
    assert results.get(timeout=60) == "journal-unavailable"
    process.join()
    assert state_of(Journal(tmp_path / "j.db")) is State.READY
    assert commit(Journal(tmp_path / "j.db"), b"later") == (b"later", True)


def test_a_read_only_disk_is_a_clear_error(tmp_path, monkeypatch):
    journal = Journal(tmp_path / "j.db")
    journal.grant(PLAN, URL)

    def read_only(path: str, flags: int, mode: int = 0o777) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))  # mode bits do not stop root

    monkeypatch.setattr("ldp_client.journal.file.os.access", lambda path, mode: False)
    monkeypatch.setattr("ldp_client.journal.file.os.open", read_only)
    with pytest.raises(JournalError, match="Read-only"):
        journal.commit(IDENTITY, PLAN, lambda _: pytest.fail("was drawn"))


def test_a_commit_is_synced_with_its_directory(tmp_path, monkeypatch):
    monkeypatch.setattr("ldp_client.journal.file._SYNCHRONOUS", SYNCHRONOUS)
    # SQLite commits by removing its own journal: unless that is synced, a power cut may undo the commit
    journal = Journal(tmp_path / "j.db")
    with journal._transaction() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
        assert connection.execute("PRAGMA secure_delete").fetchone() == (1,)


def test_two_names_of_one_file_are_one_journal(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "j.db")
    journal, link = Journal(tmp_path / "real" / "j.db"), Journal(tmp_path / "link.db")
    assert link.key == journal.key
    commit(journal, b"first")
    (tmp_path / "real" / "j.db").write_bytes(b"this is not a database, and long enough to see that" * 20)
    for each in (link, journal, link):
        with pytest.raises(JournalError) as caught:
            commit(each, b"second")
        assert caught.value.reason == "journal-damaged"


def test_late_detection_of_damage_leaves_the_new_journal_alone(tmp_path):
    path = tmp_path / "j.db"
    commit(Journal(path), b"first")
    stale = _file_id(os.stat(path))
    path.rename(tmp_path / "elsewhere")
    commit(Journal(path), b"second")
    Journal(path)._rename_damaged(stale)
    assert commit(Journal(path), b"third") == (b"second", False)


def test_a_journal_that_others_could_read_is_made_private(tmp_path):
    path = tmp_path / "j.db"
    path.touch(0o644)
    commit(Journal(path), b"first")
    assert path.stat().st_mode & 0o777 == 0o600
