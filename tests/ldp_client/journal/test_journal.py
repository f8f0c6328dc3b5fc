"""The journal: one report per survey, under the plan that the person agreed to, within a total epsilon."""

import subprocess
import sys
import textwrap
from fractions import Fraction

import pytest

from encoders.survey import read_survey
from ldp_client import BudgetError, ConsentError, Journal, JournalError, PlanError, State
from tests.support.journals import IDENTITY, PLAN, PLAN_TEXT, URL, commit, identity_of, plan_of, state_of


def test_the_first_report_is_the_only_one(tmp_path):
    journal = Journal(tmp_path / "j.db")
    assert commit(journal, b"first") == (b"first", True)
    assert commit(journal, b"second") == (b"first", False)
    assert commit(journal, b"other", "diet") == (b"other", True)
    assert commit(Journal(tmp_path / "j.db"), b"third") == (b"first", False)


@pytest.mark.parametrize("rounds", [["pilot", "second"], ["second", "pilot"], ["second", "third"]])
def test_a_family_of_surveys_gets_one_report(tmp_path, rounds):
    first, later = rounds
    assert commit(Journal(tmp_path / "j.db"), b"first", first, "pilot") == (b"first", True)
    journal = Journal(tmp_path / "j.db")
    journal.grant(plan_of(later, "pilot"), URL)
    entry, created = journal.commit(identity_of(later), plan_of(later, "pilot"), lambda _: b"later")
    assert (entry.survey, entry.report, created) == (first, b"first", False)
    assert state_of(journal, later) is State.READY
    assert commit(journal, b"other", "diet") == (b"other", True)


def test_a_settled_report_is_forgotten_but_stays_answered(tmp_path):
    journal = Journal(tmp_path / "j.db")
    commit(journal, b"first")
    journal.record_outcome(IDENTITY, State.REJECTED, "wrong-plan")
    entry = journal.find(IDENTITY)
    assert entry is not None
    assert (entry.report, entry.state, entry.reason) == (None, State.REJECTED, "wrong-plan")
    assert commit(journal, b"second") == (None, False)
    assert b"first" not in (tmp_path / "j.db").read_bytes()


def test_a_failure_while_randomising_spends_nothing(tmp_path):
    journal = Journal(tmp_path / "j.db")
    journal.grant(PLAN, URL)
    with pytest.raises(ZeroDivisionError):
        journal.commit(IDENTITY, PLAN, lambda _: bytes(1 // 0))
    assert state_of(journal) is State.READY
    assert commit(journal, b"later") == (b"later", True)


def test_memory_journals_are_independent(tmp_path):
    one, two = Journal(":memory:"), Journal(":memory:")
    assert commit(one, b"one") == (b"one", True)
    assert commit(two, b"two") == (b"two", True)
    assert commit(one, b"again") == (b"one", False)


@pytest.mark.slow
def test_a_thousand_memory_journals_in_turn_share_nothing():
    for number in range(1000):
        report = number.to_bytes(2, "big")
        assert commit(Journal(":memory:"), report) == (report, True)


@pytest.mark.slow
def test_a_memory_journal_is_open_until_the_very_end():
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


def test_a_process_that_changes_its_directory_finds_its_journal(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    journal = Journal("j.db")
    assert commit(journal, b"first") == (b"first", True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert commit(journal, b"second") == (b"first", False)


def test_an_empty_path_is_refused():
    with pytest.raises(JournalError, match="path"):
        Journal("")


def test_a_later_outcome_changes_nothing(tmp_path):
    journal = Journal(tmp_path / "j.db")
    commit(journal, b"first")
    journal.record_outcome(IDENTITY, State.SENT)
    journal.record_outcome(IDENTITY, State.REJECTED, "id-reused")
    assert state_of(journal) is State.SENT


# -- consent ------------------------------------------------------------------------------------


def test_without_consent_nothing_is_drawn(tmp_path):
    journal = Journal(tmp_path / "j.db")
    with pytest.raises(ConsentError):
        journal.commit(IDENTITY, PLAN, lambda _: pytest.fail("was drawn"))
    journal.grant(PLAN, URL)
    journal.withdraw(IDENTITY)
    assert state_of(journal) is State.NO_CONSENT
    with pytest.raises(ConsentError):
        journal.commit(IDENTITY, PLAN, lambda _: pytest.fail("was drawn"))
    assert commit(journal, b"after all") == (b"after all", True)


def test_withdrawing_without_consent_or_after_counting_changes_nothing(tmp_path):
    journal = Journal(tmp_path / "j.db")
    assert journal.withdraw(IDENTITY) is None
    commit(journal, b"first")
    journal.record_outcome(IDENTITY, State.SENT)
    journal.withdraw(IDENTITY)
    assert state_of(journal) is State.SENT


def test_a_device_is_bound_to_the_plan_it_saw_first(tmp_path):
    journal = Journal(tmp_path / "j.db")
    journal.grant(PLAN, URL)
    tampered = read_survey(PLAN_TEXT.replace("1.5", "1.6")).compile()
    for _ in range(2):
        with pytest.raises(PlanError, match=tampered.digest):
            journal.grant(tampered, URL)
        with pytest.raises(PlanError, match=PLAN.digest):
            journal.commit(IDENTITY, tampered, lambda _: pytest.fail("was drawn"))
        journal.withdraw(IDENTITY)  # the binding outlives the consent
    assert commit(journal, b"as agreed") == (b"as agreed", True)


def test_second_consent_changes_only_the_url(tmp_path):
    journal = Journal(tmp_path / "j.db")
    journal.grant(PLAN, URL)
    moved = URL.replace("/v1", "/behind/a/proxy/v1")
    assert journal.grant(PLAN, moved, "key").url == moved
    assert commit(journal, b"first") == (b"first", True)
    assert journal.grant(PLAN, URL).report == b"first"


# -- closed surveys -----------------------------------------------------------------------------

DAY = 86_400.0


def test_report_expires_if_its_survey_is_still_closed_a_day_later(tmp_path):
    journal = Journal(tmp_path / "j.db")
    commit(journal, b"first")
    for now in (1000.0, 1001.0, 1000.0 + DAY - 1):
        assert not journal.record_closed(IDENTITY, now)
        entry = journal.find(IDENTITY)
        assert entry is not None
        assert (entry.state, entry.reason, entry.report) == (State.QUEUED, "closed-once", b"first")
        journal = Journal(tmp_path / "j.db")  # another run counts from the same time
    assert journal.record_closed(IDENTITY, 1000.0 + DAY)
    entry = journal.find(IDENTITY)
    assert entry is not None
    assert (entry.state, entry.reason, entry.report) == (State.EXPIRED, "survey-closed", None)


def test_clock_set_back_restarts_the_day_before_expiry(tmp_path):
    journal = Journal(tmp_path / "j.db")
    commit(journal, b"first")
    assert not journal.record_closed(IDENTITY, 10 * DAY)
    assert not journal.record_closed(IDENTITY, 2 * DAY)
    assert not journal.record_closed(IDENTITY, 2.5 * DAY)
    assert journal.record_closed(IDENTITY, 3 * DAY)


def test_survey_that_opens_again_accepts_the_report(tmp_path):
    journal = Journal(tmp_path / "j.db")
    commit(journal, b"first")
    journal.record_closed(IDENTITY, 1000.0)
    journal.record_outcome(IDENTITY, State.SENT)
    assert not journal.record_closed(IDENTITY, 10 * DAY)  # what has ended stays as it is
    entry = journal.find(IDENTITY)
    assert entry is not None
    assert (entry.state, entry.reason, entry.report) == (State.SENT, "", None)


# -- total epsilon and length of the queue ------------------------------------------------------


def test_the_total_over_all_surveys_is_kept_exactly(tmp_path):
    journal = Journal(tmp_path / "j.db")
    names = [f"survey-{number}" for number in range(5)]
    for name in names:
        journal.grant(plan_of(name), URL)
    for name in names[:3]:  # 1.5 each; one is withdrawn, yet was drawn: it may have been on its way
        journal.commit(identity_of(name), plan_of(name), lambda _: b"report", Fraction("4.5"))
    journal.withdraw(identity_of(names[0]))
    with pytest.raises(BudgetError, match=r"4\.5 of 4\.5") as caught:
        journal.commit(identity_of(names[3]), plan_of(names[3]), lambda _: b"drawn", Fraction("4.5"))
    assert caught.value.reason == "total-epsilon-spent"
    assert journal.commit(identity_of(names[3]), plan_of(names[3]), lambda _: b"report", Fraction(6))[1]


def test_a_full_queue_refuses_and_drops_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("ldp_client.journal.journal.MAX_QUEUED_REPORTS", 2)
    journal = Journal(tmp_path / "j.db")
    for name in ("one", "two"):
        commit(journal, b"report", name)
    with pytest.raises(JournalError) as caught:
        commit(journal, b"report", "three")
    assert caught.value.reason == "queue-full"
    assert len(journal.queued_surveys()) == 2
    journal.record_outcome(identity_of("one"), State.SENT)
    assert commit(journal, b"report", "three") == (b"report", True)


def test_a_signature_once_checked_is_not_forgotten(tmp_path):
    journal = Journal(tmp_path / "j.db")
    journal.grant(PLAN, URL, "key")
    assert journal.grant(PLAN, URL).signer == "key"
