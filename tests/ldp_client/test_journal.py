"""The journal: one report per survey, whoever asks and whatever breaks."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import sys
import threading
from pathlib import Path

import pytest

from ldp_client import Journal, JournalError, State
from ldp_client.journal import default_path


def _commit(
    journal: Journal, report: bytes, survey: str = "sleep", family: str = ""
) -> tuple[bytes | None, bool]:
    entry, created = journal.commit(survey, family or survey, "digest", "url", "1", lambda: report)
    return entry.report, created


def test_the_first_report_is_the_only_one(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    assert _commit(journal, b"first") == (b"first", True)
    assert _commit(journal, b"second") == (b"first", False)
    assert _commit(journal, b"other", "diet") == (b"other", True)
    assert _commit(Journal(tmp_path / "j.db"), b"third") == (b"first", False)


@pytest.mark.parametrize("rounds", [["pilot", "second"], ["second", "pilot"], ["second", "third"]])
def test_a_family_of_surveys_gets_one_report(tmp_path: Path, rounds: list[str]) -> None:
    first, later = rounds
    assert _commit(Journal(tmp_path / "j.db"), b"first", first, "pilot") == (b"first", True)
    journal = Journal(tmp_path / "j.db")
    entry, created = journal.commit(later, "pilot", "digest", "url", "1", lambda: b"later")
    assert (entry.survey, entry.report, created) == (first, b"first", False)
    assert journal.find(later) is None
    assert _commit(journal, b"other", "diet") == (b"other", True)


def test_a_journal_without_families_is_brought_up_to_date(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "j.db") as old:
        old.execute(
            "CREATE TABLE answers (survey TEXT PRIMARY KEY, digest TEXT NOT NULL, url TEXT NOT NULL, "
            "epsilon TEXT NOT NULL, report BLOB, state TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '') "
            "WITHOUT ROWID"
        )
        old.execute("INSERT INTO answers VALUES ('sleep', 'digest', 'url', '1', x'01', 'queued', '')")
    old.close()
    journal = Journal(tmp_path / "j.db")
    assert _commit(journal, b"second") == (b"\x01", False)
    assert _commit(journal, b"second", "sleep-2", "sleep") == (b"\x01", False)
    assert _commit(journal, b"third", "diet") == (b"third", True)


def test_a_journal_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "j.db") as newer:
        newer.execute("PRAGMA user_version = 2")
    newer.close()
    with pytest.raises(JournalError, match="newer version"):
        _commit(Journal(tmp_path / "j.db"), b"first")


def test_a_settled_report_is_forgotten_but_stays_answered(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    _commit(journal, b"first")
    journal.settle("sleep", State.REJECTED, "wrong-plan")
    entry = journal.find("sleep")
    assert entry is not None
    assert (entry.report, entry.state, entry.reason) == (None, State.REJECTED, "wrong-plan")
    assert _commit(journal, b"second") == (None, False)
    assert b"first" not in (tmp_path / "j.db").read_bytes()


def test_a_failure_while_randomising_spends_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    with pytest.raises(ZeroDivisionError):
        journal.commit("sleep", "sleep", "digest", "url", "1", lambda: bytes(1 // 0))
    assert journal.find("sleep") is None
    assert _commit(journal, b"later") == (b"later", True)


def test_memory_journals_are_apart_and_forget(tmp_path: Path) -> None:
    one, two = Journal(":memory:"), Journal(":memory:")
    assert _commit(one, b"one") == (b"one", True)
    assert _commit(two, b"two") == (b"two", True)
    assert _commit(one, b"again") == (b"one", False)


def test_a_thousand_memory_journals_in_turn_never_meet() -> None:
    for number in range(1000):
        report = number.to_bytes(2, "big")
        assert _commit(Journal(":memory:"), report) == (report, True)


def test_threads_share_a_memory_journal() -> None:
    journal, results = Journal(":memory:"), []
    threads = [
        threading.Thread(target=lambda i=i: results.append(_commit(journal, bytes([i])))) for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(created for _, created in results) == 1


def test_a_broken_or_unreachable_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "broken.db").write_bytes(b"this is not a database, and long enough to tell" * 20)
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "broken.db", tmp_path / "file" / "j.db", tmp_path):
        with pytest.raises(JournalError):
            _commit(Journal(path), b"report")


def test_threads_make_one_report_between_them(tmp_path: Path) -> None:
    journal, results = Journal(tmp_path / "j.db"), []
    threads = [
        threading.Thread(target=lambda i=i: results.append(_commit(journal, bytes([i])))) for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(created for _, created in results) == 1
    assert len({report for report, _ in results}) == 1


def _race(path: Path, number: int, results: multiprocessing.Queue[tuple[bytes | None, bool]]) -> None:
    results.put(_commit(Journal(path), bytes([number])))


def test_processes_make_one_report_between_them(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[tuple[bytes | None, bool]] = context.Queue()
    racers = [context.Process(target=_race, args=(tmp_path / "j.db", i, results)) for i in range(4)]
    for racer in racers:
        racer.start()
    outcomes = [results.get(timeout=60) for _ in racers]
    for racer in racers:
        racer.join()
    assert sum(created for _, created in outcomes) == 1
    assert len({report for report, _ in outcomes}) == 1


def _die_inside(path: Path) -> None:
    def make() -> bytes:
        os.kill(os.getpid(), signal.SIGKILL)
        return b""

    Journal(path).commit("sleep", "sleep", "digest", "url", "1", make)


def test_a_process_killed_while_randomising_leaves_the_survey_unanswered(tmp_path: Path) -> None:
    victim = multiprocessing.get_context("spawn").Process(target=_die_inside, args=(tmp_path / "j.db",))
    victim.start()
    victim.join(60)
    assert victim.exitcode == -signal.SIGKILL
    assert _commit(Journal(tmp_path / "j.db"), b"later") == (b"later", True)


def test_a_locked_journal_is_waited_for_then_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldp_client.journal._BUSY_SECONDS", 0.05)
    _commit(Journal(tmp_path / "j.db"), b"first")
    holder = sqlite3.connect(tmp_path / "j.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalError, match="locked"):
        Journal(tmp_path / "j.db").find("sleep")
    holder.close()


def test_the_default_place_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LDP_JOURNAL", str(tmp_path / "deep" / "j.db"))
    _commit(Journal(), b"first")
    assert (tmp_path / "deep" / "j.db").exists()


def test_a_process_that_changes_its_directory_finds_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    journal = Journal("j.db")
    assert _commit(journal, b"first") == (b"first", True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert _commit(journal, b"second") == (b"first", False)


def test_an_empty_path_is_refused() -> None:
    with pytest.raises(JournalError, match="path"):
        Journal("")


@pytest.mark.skipif(sys.platform != "linux", reason="the XDG specification is Linux's")
def test_a_relative_data_home_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LDP_JOURNAL", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert default_path() == tmp_path / ".local" / "share" / "ldp-client" / "journal.db"


def test_a_later_verdict_changes_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    _commit(journal, b"first")
    journal.settle("sleep", State.SENT)
    journal.settle("sleep", State.REJECTED, "id-reused")
    assert journal.find("sleep").state is State.SENT  # type: ignore[union-attr]


def test_a_state_of_a_newer_version_is_a_clear_error(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    _commit(journal, b"first")
    with sqlite3.connect(tmp_path / "j.db") as other:
        other.execute("UPDATE answers SET state = 'teleported'")
    other.close()
    with pytest.raises(JournalError, match="newer"):
        journal.find("sleep")


def test_without_a_home_the_journal_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("LDP_JOURNAL", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    with pytest.raises(JournalError, match="LDP_JOURNAL"):
        default_path()
