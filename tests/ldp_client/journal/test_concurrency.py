"""Threads, processes and forks that share one journal."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from ldp_client import Journal, JournalError, State
from tests.support.journals import IDENTITY, PLAN, URL, commit, state_of
from tests.support.threads import in_threads


@pytest.mark.parametrize("path", [":memory:", "j.db"])
def test_threads_make_one_report_between_them(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    journal = Journal(path)
    results = in_threads(lambda number: commit(journal, bytes([number])), range(8))
    assert sum(created for _, created in results) == 1
    assert len({report for report, _ in results}) == 1


def _race(path: Path, number: int, results: multiprocessing.Queue[tuple[bytes | None, bool]]) -> None:
    results.put(commit(Journal(path), bytes([number])))


@pytest.mark.slow
def test_processes_make_one_report_between_them(tmp_path):
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
    def make(_: object) -> bytes:
        os.kill(os.getpid(), signal.SIGKILL)
        return b""

    journal = Journal(path)
    journal.grant(PLAN, URL)
    journal.commit(IDENTITY, PLAN, make)


@pytest.mark.slow
def test_a_process_killed_while_randomising_leaves_the_survey_unanswered(tmp_path):
    victim = multiprocessing.get_context("spawn").Process(target=_die_inside, args=(tmp_path / "j.db",))
    victim.start()
    victim.join(60)
    assert victim.exitcode == -signal.SIGKILL
    assert commit(Journal(tmp_path / "j.db"), b"later") == (b"later", True)


def test_a_locked_journal_is_waited_for_then_named(tmp_path, monkeypatch):
    monkeypatch.setattr("ldp_client.journal.file._LOCK_TIMEOUT_SECONDS", 0.05)
    commit(Journal(tmp_path / "j.db"), b"first")
    holder = sqlite3.connect(tmp_path / "j.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalError, match="locked"):
        Journal(tmp_path / "j.db").record_outcome(IDENTITY, State.SENT)
    assert state_of(Journal(tmp_path / "j.db")) is State.QUEUED  # reading waits for nobody
    holder.close()


@pytest.mark.slow
def test_reading_inside_a_transaction_keeps_the_lock(tmp_path):
    path = tmp_path / "j.db"
    code = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"

    def make(_: object) -> bytes:
        assert state_of(Journal(path)) is State.READY
        run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
        assert "database is locked" in run.stderr
        return b"report"

    journal = Journal(path)
    journal.grant(PLAN, URL)
    assert journal.commit(IDENTITY, PLAN, make)[1]


def _report_in_child(path: Path, pipe: int) -> None:
    _, created = commit(Journal(path), b"child", f"child-{os.getpid()}")
    os.write(pipe, b"1" if created else b"0")
    os._exit(0)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_children_forked_while_threads_write_find_an_intact_journal(tmp_path):
    path, stop = tmp_path / "j.db", threading.Event()

    def keep_writing(name: str) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            start = time.monotonic()
            commit(Journal(path), b"thread", f"{name}-{number}")
            time.sleep(
                time.monotonic() - start
            )  # SQLite's lock is not fair: leave the children half of the time

    writers = [threading.Thread(target=keep_writing, args=(name,)) for name in "ab"]
    for writer in writers:
        writer.start()
    ours, theirs = os.pipe()
    try:
        for _ in range(10):
            if (child := os.fork()) == 0:
                _report_in_child(path, theirs)
            ended = select.select([ours], [], [], 60)[0]
            if not ended:
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            assert ended, "the child waits for ever"
            assert os.read(ours, 1) == b"1"
    finally:
        stop.set()
        for writer in writers:
            writer.join()
        os.close(ours)
        os.close(theirs)
    assert len([entry for entry in Journal(path).entries() if entry.report == b"child"]) == 10
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def _report_many(path: Path, count: int, results: multiprocessing.Queue[list[bool]]) -> None:
    journal, mine = Journal(path), os.getpid().to_bytes(4, "big")
    results.put([commit(journal, mine, f"survey-{number}")[1] for number in range(count)])


@pytest.mark.slow
def test_processes_share_one_journal_without_a_lost_or_double_entry(tmp_path):
    # tools/endurance does it with 8 processes and 1,000 surveys
    processes, count = 4, 25
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[list[bool]] = context.Queue()
    args = (tmp_path / "j.db", count, results)
    racers = [context.Process(target=_report_many, args=args) for _ in range(processes)]
    for racer in racers:
        racer.start()
    created = [results.get(timeout=120) for _ in racers]
    for racer in racers:
        racer.join()
    assert [sum(column) for column in zip(*created, strict=True)] == [1] * count
    assert len(Journal(tmp_path / "j.db").entries()) == count
