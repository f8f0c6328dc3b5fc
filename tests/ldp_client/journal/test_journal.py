"""The journal: one report per survey, whoever asks and whatever breaks."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from encoders.survey import Plan, read_survey
from ldp_client import BudgetError, ConsentError, Journal, JournalError, PlanError, State
from ldp_client.journal.file import _file_id
from ldp_client.survey_identity import SurveyIdentity, origin_of_url

PLAN_TEXT = """
    [survey]
    id = "sleep"
    epsilon = 1.5
    [label]
    name = "rested"
    values = ["yes", "no"]
    [features.age]
    values = ["young", "old"]
"""
PLAN = read_survey(PLAN_TEXT).compile()


URL = "https://collector.test/v1/surveys/sleep"
SLEEP = SurveyIdentity("sleep", origin_of_url(URL))


def _identity_of(survey: str) -> SurveyIdentity:
    return SurveyIdentity(survey, SLEEP.origin)


def _plan(survey: str = "sleep", family: str = "") -> Plan:
    return replace(PLAN, id=survey, family=family or survey)


def _commit(
    journal: Journal, report: bytes, survey: str = "sleep", family: str = ""
) -> tuple[bytes | None, bool]:
    plan = _plan(survey, family)
    journal.grant(plan, URL)
    entry, created = journal.commit(_identity_of(survey), plan, lambda: report)
    return entry.report, created


def state(journal: Journal, survey: str = "sleep") -> State | None:
    entry = journal.find(_identity_of(survey))
    return entry.state if entry else None


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
    journal.grant(_plan(later, "pilot"), URL)
    entry, created = journal.commit(_identity_of(later), _plan(later, "pilot"), lambda: b"later")
    assert (entry.survey, entry.report, created) == (first, b"first", False)
    assert state(journal, later) is State.READY
    assert _commit(journal, b"other", "diet") == (b"other", True)


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
    assert _commit(journal, b"second") == (b"\x01", False)
    assert _commit(journal, b"second", "sleep-2", "sleep") == (b"\x01", False)
    assert _commit(journal, b"third", "diet") == (b"third", True)


def test_a_journal_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "j.db") as newer:
        newer.execute("PRAGMA user_version = 4")
    newer.close()
    with pytest.raises(JournalError, match="newer version"):
        _commit(Journal(tmp_path / "j.db"), b"first")


def test_a_settled_report_is_forgotten_but_stays_answered(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    _commit(journal, b"first")
    journal.record_outcome(SLEEP, State.REJECTED, "wrong-plan")
    entry = journal.find(SLEEP)
    assert entry is not None
    assert (entry.report, entry.state, entry.reason) == (None, State.REJECTED, "wrong-plan")
    assert _commit(journal, b"second") == (None, False)
    assert b"first" not in (tmp_path / "j.db").read_bytes()


def test_a_failure_while_randomising_spends_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    journal.grant(PLAN, URL)
    with pytest.raises(ZeroDivisionError):
        journal.commit(SLEEP, PLAN, lambda: bytes(1 // 0))
    assert state(journal) is State.READY
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


def test_a_memory_journal_is_open_until_the_very_end() -> None:
    # the sender's thread reads it at exit, and a closed connection in use crashes the interpreter
    code = """
        import atexit
        atexit.register(lambda: print(journal.entries()))
        from ldp_client import Journal
        journal = Journal(":memory:")
        """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert (run.stdout, run.stderr) == ("[]\n", "")


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


def test_an_unreachable_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "file" / "j.db", tmp_path):
        with pytest.raises(JournalError, match="cannot be used"):
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

    journal = Journal(path)
    journal.grant(PLAN, URL)
    journal.commit(SLEEP, PLAN, make)


def test_a_process_killed_while_randomising_leaves_the_survey_unanswered(tmp_path: Path) -> None:
    victim = multiprocessing.get_context("spawn").Process(target=_die_inside, args=(tmp_path / "j.db",))
    victim.start()
    victim.join(60)
    assert victim.exitcode == -signal.SIGKILL
    assert _commit(Journal(tmp_path / "j.db"), b"later") == (b"later", True)


def test_a_locked_journal_is_waited_for_then_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldp_client.journal.file._LOCK_TIMEOUT_SECONDS", 0.05)
    _commit(Journal(tmp_path / "j.db"), b"first")
    holder = sqlite3.connect(tmp_path / "j.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalError, match="locked"):
        Journal(tmp_path / "j.db").record_outcome(SLEEP, State.SENT)
    assert state(Journal(tmp_path / "j.db")) is State.QUEUED  # reading waits for nobody
    holder.close()


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


def test_a_later_outcome_changes_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    _commit(journal, b"first")
    journal.record_outcome(SLEEP, State.SENT)
    journal.record_outcome(SLEEP, State.REJECTED, "id-reused")
    assert state(journal) is State.SENT


def test_a_state_of_a_newer_version_is_a_clear_error(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    _commit(journal, b"first")
    with sqlite3.connect(tmp_path / "j.db") as other:
        other.execute("UPDATE surveys SET state = 'teleported'")
    other.close()
    with pytest.raises(JournalError, match="newer"):
        journal.find(SLEEP)


# -- what the person agrees to ------------------------------------------------------------------


def test_without_consent_nothing_is_drawn(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    with pytest.raises(ConsentError):
        journal.commit(SLEEP, PLAN, lambda: pytest.fail("was drawn"))
    journal.grant(PLAN, URL)
    journal.withdraw(SLEEP)
    assert state(journal) is State.NO_CONSENT
    with pytest.raises(ConsentError):
        journal.commit(SLEEP, PLAN, lambda: pytest.fail("was drawn"))
    assert _commit(journal, b"after all") == (b"after all", True)


def test_who_withdraws_from_the_queue_never_answers_anew(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    _commit(journal, b"a report of some length")
    journal.withdraw(SLEEP)
    assert state(journal) is State.WITHDRAWN
    assert journal.queued_surveys() == []
    assert b"a report of some length" not in (tmp_path / "j.db").read_bytes()
    assert _commit(journal, b"second") == (None, False)
    assert state(journal) is State.WITHDRAWN


def test_withdrawing_changes_nothing_that_was_counted_or_never_agreed_to(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    assert journal.withdraw(SLEEP) is None
    _commit(journal, b"first")
    journal.record_outcome(SLEEP, State.SENT)
    journal.withdraw(SLEEP)
    assert state(journal) is State.SENT


def test_a_device_is_bound_to_the_plan_it_saw_first(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    journal.grant(PLAN, URL)
    louder = read_survey(PLAN_TEXT.replace("1.5", "1.6")).compile()
    for _ in range(2):
        with pytest.raises(PlanError, match=louder.digest):
            journal.grant(louder, URL)
        with pytest.raises(PlanError, match=PLAN.digest):
            journal.commit(SLEEP, louder, lambda: pytest.fail("was drawn"))
        journal.withdraw(SLEEP)  # the binding outlives the consent
    assert _commit(journal, b"as agreed") == (b"as agreed", True)


def test_agreeing_again_changes_nothing_but_where_to(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    journal.grant(PLAN, URL)
    moved = URL.replace("/v1", "/behind/a/proxy/v1")
    assert journal.grant(PLAN, moved, "key").url == moved
    assert _commit(journal, b"first") == (b"first", True)
    assert journal.grant(PLAN, URL).report == b"first"


# -- which survey is which ----------------------------------------------------------------------


ELSEWHERE = URL.replace("collector.test", "elsewhere.test")


@pytest.mark.parametrize("family", ["sleep", "health"])
def test_an_unsigned_survey_of_another_origin_is_another_survey(tmp_path: Path, family: str) -> None:
    journal = Journal(tmp_path / "j.db")
    plan, other = _plan("sleep", family), SurveyIdentity("sleep", origin_of_url(ELSEWHERE))
    journal.grant(plan, URL)
    assert journal.commit(SLEEP, plan, lambda: b"first")[1]
    assert journal.find(other) is None  # consent is not inherited
    assert journal.find_answered(other, family) is None
    with pytest.raises(ConsentError):
        journal.commit(other, plan, lambda: pytest.fail("was drawn"))
    journal.grant(plan, ELSEWHERE)
    with pytest.raises(BudgetError):  # but what it spends adds up
        journal.commit(other, plan, lambda: pytest.fail("was drawn"), Fraction(2))
    assert journal.commit(other, plan, lambda: b"second")[1]
    journal.withdraw(other)
    found = journal.find(SLEEP)
    assert found is not None
    assert (found.state, found.report) == (State.QUEUED, b"first")


@pytest.mark.parametrize("family", ["sleep", "health"])
def test_a_signed_survey_is_the_same_at_every_origin(tmp_path: Path, family: str) -> None:
    journal = Journal(tmp_path / "j.db")
    plan, moved = _plan("sleep", family), SurveyIdentity("sleep", origin_of_url(ELSEWHERE), "key")
    journal.grant(plan, URL, "key")
    found = journal.find(moved)
    assert found is not None
    assert found.url == URL
    journal.grant(plan, ELSEWHERE, "key")
    assert [entry.url for entry in journal.entries()] == [ELSEWHERE]  # the consent has moved
    assert journal.commit(moved, plan, lambda: b"first") == (journal.find(moved), True)
    back = SurveyIdentity("sleep", SLEEP.origin, "key")
    assert journal.grant(plan, URL, "key").report == b"first"
    assert not journal.commit(back, plan, lambda: pytest.fail("was drawn"))[1]
    assert journal.find_answered(SurveyIdentity("another", SLEEP.origin, "key"), family) is not None
    assert journal.find_answered(SurveyIdentity("another", SLEEP.origin, "other key"), family) is None
    journal.withdraw(back)
    assert journal.queued_surveys() == []


def test_a_key_that_an_application_pins_later_opens_no_second_answer(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    assert _commit(journal, b"unsigned") == (b"unsigned", True)
    assert journal.grant(PLAN, URL, "key").report == b"unsigned"
    signed = SurveyIdentity("sleep", SLEEP.origin, "key")
    assert not journal.commit(signed, PLAN, lambda: pytest.fail("was drawn"))[1]


def test_an_answer_counts_even_if_a_consent_at_another_origin_is_nearer(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    journal.grant(PLAN, ELSEWHERE, "key")
    journal.commit(SurveyIdentity("sleep", origin_of_url(ELSEWHERE), "key"), PLAN, lambda: b"signed")
    journal.grant(PLAN, URL)  # an application without the key asked, too
    found = journal.find(SurveyIdentity("sleep", SLEEP.origin, "key"))
    assert found is not None
    assert found.report == b"signed"


def test_an_application_that_drops_the_author_s_key_opens_no_second_answer(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    first, second = _plan("first", "health"), _plan("second", "health")
    journal.grant(first, URL, "key")
    journal.grant(second, ELSEWHERE, "key")
    journal.commit(SurveyIdentity("first", SLEEP.origin, "key"), first, lambda: b"first")
    unpinned = SurveyIdentity("second", origin_of_url(ELSEWHERE))
    entry, created = journal.commit(unpinned, second, lambda: pytest.fail("was drawn"))
    assert (entry.survey, created) == ("first", False)
    assert journal.find_answered(unpinned, "health") == entry
    journal.withdraw(unpinned)
    assert journal.queued_surveys() == []


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
    assert journal.queued_surveys() == [SLEEP._replace(signer="key")]
    assert _commit(journal, b"second") == (b"\x01", False)
    found = journal.find_answered(SurveyIdentity("later", SLEEP.origin), "health")
    assert found is not None
    assert (found.epsilon, found.plan, found.family) == ("1", PLAN.json, "health")


# -- a survey that is said to be closed ---------------------------------------------------------

DAY = 86_400.0


def test_a_closed_survey_ends_a_report_on_the_second_answer_a_day_later(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    _commit(journal, b"first")
    for now in (1000.0, 1001.0, 1000.0 + DAY - 1):
        assert not journal.record_closed(SLEEP, now)
        entry = journal.find(SLEEP)
        assert entry is not None
        assert (entry.state, entry.reason, entry.report) == (State.QUEUED, "closed-once", b"first")
        journal = Journal(tmp_path / "j.db")  # another run counts from the same time
    assert journal.record_closed(SLEEP, 1000.0 + DAY)
    entry = journal.find(SLEEP)
    assert entry is not None
    assert (entry.state, entry.reason, entry.report) == (State.EXPIRED, "survey-closed", None)


def test_a_clock_that_is_set_back_begins_the_day_anew(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    _commit(journal, b"first")
    assert not journal.record_closed(SLEEP, 10 * DAY)
    assert not journal.record_closed(SLEEP, 2 * DAY)
    assert not journal.record_closed(SLEEP, 2.5 * DAY)
    assert journal.record_closed(SLEEP, 3 * DAY)


def test_a_survey_that_opens_again_still_takes_the_report(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    _commit(journal, b"first")
    journal.record_closed(SLEEP, 1000.0)
    journal.record_outcome(SLEEP, State.SENT)
    assert not journal.record_closed(SLEEP, 10 * DAY)  # what has ended stays as it is
    entry = journal.find(SLEEP)
    assert entry is not None
    assert (entry.state, entry.reason, entry.report) == (State.SENT, "", None)


# -- the budget and the room --------------------------------------------------------------------


def test_the_total_over_all_surveys_is_kept_exactly(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    names = [f"survey-{number}" for number in range(5)]
    for name in names:
        journal.grant(_plan(name), URL)
    for name in names[:3]:  # 1.5 each; one is withdrawn, yet was drawn: it may have been on its way
        journal.commit(_identity_of(name), _plan(name), lambda: b"report", Fraction("4.5"))
    journal.withdraw(_identity_of(names[0]))
    with pytest.raises(BudgetError, match=r"4\.5 of 4\.5") as caught:
        journal.commit(_identity_of(names[3]), _plan(names[3]), lambda: b"drawn", Fraction("4.5"))
    assert caught.value.reason == "total-epsilon-spent"
    assert journal.commit(_identity_of(names[3]), _plan(names[3]), lambda: b"report", Fraction(6))[1]


def test_a_full_queue_refuses_and_drops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldp_client.journal.journal.MAX_QUEUED_REPORTS", 2)
    journal = Journal(tmp_path / "j.db")
    for name in ("one", "two"):
        _commit(journal, b"report", name)
    with pytest.raises(JournalError) as caught:
        _commit(journal, b"report", "three")
    assert caught.value.reason == "queue-full"
    assert len(journal.queued_surveys()) == 2
    journal.record_outcome(_identity_of("one"), State.SENT)
    assert _commit(journal, b"report", "three") == (b"report", True)


# -- what breaks --------------------------------------------------------------------------------


def _damage(path: Path, way: str) -> None:
    whole = path.read_bytes()
    page = os.urandom(4096)
    damaged = {"garbage": page * 3, "no header": page + whole[4096:], "cut": whole[: len(whole) // 2]}
    path.write_bytes(damaged[way])


@pytest.mark.parametrize("way", ["garbage", "no header", "cut"])
def test_a_damaged_journal_is_rename_damaged_and_nothing_is_answered_twice(tmp_path: Path, way: str) -> None:
    path = tmp_path / "j.db"
    for number in range(40):
        _commit(Journal(path), os.urandom(300), f"survey-{number}")
    _damage(path, way)
    damaged = path.read_bytes()
    for _ in range(3):
        for survey in ("survey-0", "another"):
            with pytest.raises(JournalError) as caught:
                _commit(Journal(path), b"report", survey)
            assert caught.value.reason == "journal-damaged"
    assert (tmp_path / "j.db.damaged").read_bytes() == damaged
    Journal(path).forget_damaged()
    assert _commit(Journal(path), b"afresh") == (b"afresh", True)
    assert [file.name for file in tmp_path.iterdir()] == ["j.db"]


def test_a_transaction_inside_another_as_of_a_signal_handler_unlocks_nothing(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    code = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"

    def make() -> bytes:
        assert state(Journal(path)) is State.READY
        run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
        assert "database is locked" in run.stderr
        return b"report"

    journal = Journal(path)
    journal.grant(PLAN, URL)
    assert journal.commit(SLEEP, PLAN, make)[1]


def _fill_the_disk(path: Path, results: multiprocessing.Queue[str]) -> None:
    import resource

    journal = Journal(path)
    journal.grant(PLAN, URL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, resource.RLIM_INFINITY))
    try:
        journal.commit(SLEEP, PLAN, lambda: os.urandom(4000))
    except JournalError as error:
        results.put(error.reason)


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX limits")
def test_a_full_disk_is_a_clear_error_and_spends_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[str] = context.Queue()
    process = context.Process(target=_fill_the_disk, args=(tmp_path / "j.db", results))
    process.start()
    assert results.get(timeout=60) == "journal-unavailable"
    process.join()
    assert state(Journal(tmp_path / "j.db")) is State.READY
    assert _commit(Journal(tmp_path / "j.db"), b"later") == (b"later", True)


def _report_in_child(path: Path, pipe: int) -> None:
    _, created = _commit(Journal(path), b"child", f"child-{os.getpid()}")
    os.write(pipe, b"1" if created else b"0")
    os._exit(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_children_forked_amid_the_acts_of_threads_find_a_sound_journal(tmp_path: Path) -> None:
    path, stop = tmp_path / "j.db", threading.Event()

    def keep_writing(name: str) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            _commit(Journal(path), b"thread", f"{name}-{number}")
            time.sleep(0.001)  # a lock is not fair to who waits for it

    writers = [threading.Thread(target=keep_writing, args=(name,)) for name in "ab"]
    for writer in writers:
        writer.start()
    ours, theirs = os.pipe()
    try:
        for _ in range(10):
            if os.fork() == 0:
                _report_in_child(path, theirs)
            assert os.read(ours, 1) == b"1"
            os.wait()
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
    results.put([_commit(journal, mine, f"survey-{number}")[1] for number in range(count)])


def test_processes_share_one_journal_without_a_lost_or_double_entry(tmp_path: Path) -> None:
    # tests/support/endurance does it with 8 processes and 1,000 surveys
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


def test_a_read_only_disk_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "j.db")
    journal.grant(PLAN, URL)

    def read_only(path: str, flags: int, mode: int = 0o777) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))  # tests run as root too, whom no mode bits stop

    monkeypatch.setattr("ldp_client.journal.file.os.access", lambda path, mode: False)
    monkeypatch.setattr("ldp_client.journal.file.os.open", read_only)
    with pytest.raises(JournalError, match="Read-only"):
        journal.commit(SLEEP, PLAN, lambda: pytest.fail("was drawn"))


def test_a_commit_is_synced_with_its_directory(tmp_path: Path) -> None:
    # SQLite commits by removing its own journal: unless that is synced, a power cut may undo the commit
    journal = Journal(tmp_path / "j.db")
    with journal._transaction() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
        assert connection.execute("PRAGMA secure_delete").fetchone() == (1,)


def test_two_names_of_one_file_are_one_journal(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "j.db")
    journal, link = Journal(tmp_path / "real" / "j.db"), Journal(tmp_path / "link.db")
    assert link.key == journal.key
    _commit(journal, b"first")
    (tmp_path / "real" / "j.db").write_bytes(b"this is not a database, and long enough to tell" * 20)
    for each in (link, journal, link):
        with pytest.raises(JournalError) as caught:
            _commit(each, b"second")
        assert caught.value.reason == "journal-damaged"


def test_who_sees_damage_late_leaves_the_new_journal_alone(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    _commit(Journal(path), b"first")
    stale = _file_id(os.stat(path))
    path.rename(tmp_path / "elsewhere")
    _commit(Journal(path), b"second")
    Journal(path)._rename_damaged(stale)
    assert _commit(Journal(path), b"third") == (b"second", False)


def test_another_application_s_database_is_no_journal(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "app.db")) as other, other:
        other.execute("CREATE TABLE notes (text TEXT)")
    with pytest.raises(JournalError, match="another application"):
        _commit(Journal(tmp_path / "app.db"), b"first")
    for version in (-1, 4):
        with closing(sqlite3.connect(tmp_path / "app.db")) as other, other:
            other.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(JournalError, match="newer version"):
            _commit(Journal(tmp_path / "app.db"), b"first")


def test_a_journal_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    path.touch(0o644)
    _commit(Journal(path), b"first")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_signature_once_checked_is_not_forgotten(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    journal.grant(PLAN, URL, "key")
    assert journal.grant(PLAN, URL).signer == "key"
