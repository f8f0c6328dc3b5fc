"""Epochs: each row is counted once, and no person spends more than epsilon."""

import pytest

from ldp_client import State
from ldp_silo import Silo, SiloJournal
from ldp_silo.silo_ledger import sum_epsilon
from tests.ldp_client.conftest import FakeTransport
from tests.ldp_silo.conftest import DOWN, HEADER, RECORDED, draw_rows
from tests.support.silo_surveys import WARDS, read_silo_survey

WITH_PERSON = ("id", *HEADER)
TWO_ROWS = WARDS.replace("rows_per_person = 1", "rows_per_person = 2")


SECOND = 'id = "wards-2"\nfamily = "wards"'
"""Makes a later survey of the family from a survey of the wards."""


def join(journal: SiloJournal, text: str, **options: object) -> Silo:
    """Agree to another survey with the journal of a silo."""
    plan = read_silo_survey(text).compile()
    options = {"transport": FakeTransport(RECORDED), **options}
    other = Silo(plan, f"http://collector.test/v1/surveys/{plan.id}", journal=journal, **options)
    other.grant()
    return other


def name_rows(first: int, last: int) -> list[list[str]]:
    """Return rows of the persons with these numbers."""
    rows = draw_rows(last - first, seed=first)
    return [[f"person-{first + place}", *row] for place, row in enumerate(rows)]


def test_a_later_epoch_needs_a_statement_that_its_rows_are_new(ward, transport, write_rows):
    ward.report(write_rows(50), epoch="march")
    later = write_rows(draw_rows(20, seed=2))
    assert ward.report(later, epoch="april").reason == "rows-not-stated-new"
    assert ward.report(later, epoch="april", new_rows=True).state is State.SENT
    assert [(each.name, each.rows) for each in ward.epochs()] == [("march", 50), ("april", 20)]
    assert ward.status("march").state is State.SENT
    assert ward.status("may").state is State.READY
    assert len(set(transport.bodies)) == 2


def test_a_file_that_repeats_an_earlier_file_is_refused_in_any_case(silo, write_rows):
    ward = silo()
    rows = draw_rows(60)
    ward.report(write_rows(rows[:50]))
    for repeated in (rows[:50], rows):
        receipt = ward.report(write_rows(repeated), epoch="2", new_rows=True)
        assert (receipt.state, receipt.reason) == (State.REJECTED, "repeated-rows")
    assert len(ward.epochs()) == 1


def test_persons_are_compared_over_all_epochs(ward, transport, write_rows):
    assert ward.report(write_rows(name_rows(0, 50), WITH_PERSON), person="id").state is State.SENT
    overlapping = write_rows(name_rows(49, 60), WITH_PERSON)
    receipt = ward.report(overlapping, epoch="2", person="id", new_rows=True)
    assert (receipt.state, receipt.reason, receipt.field) == (State.INVALID, "invalid-row", "id")
    assert receipt.why.startswith("row 1: 1 person with more than 1 row over all epochs, ")
    assert "person-49" not in str(receipt)
    later = write_rows(name_rows(50, 60), WITH_PERSON)
    assert ward.report(later, epoch="2", person="id").state is State.SENT
    assert len(transport.requests) == 2


def test_a_refused_epoch_leaves_no_persons_in_the_ledger(silo, write_rows):
    ward = silo()
    ward.report(write_rows(name_rows(0, 50), WITH_PERSON), person="id")
    ward.report(write_rows(name_rows(49, 60), WITH_PERSON), epoch="2", person="id")
    assert ward.report(write_rows(name_rows(50, 60), WITH_PERSON), epoch="2", person="id").state == "sent"


def test_a_rehearsal_compares_the_rows_with_the_ledger_and_records_nothing(
    ward, transport, write_rows, monkeypatch
):
    rows = name_rows(0, 50)
    first = write_rows(rows, WITH_PERSON, name="first.csv")
    ward.report(first, person="id")
    later = write_rows(name_rows(50, 60), WITH_PERSON, name="later.csv")
    monkeypatch.setenv("LDP_REHEARSAL", "1")
    assert ward.report(first, person="id").state is State.ALREADY_REPORTED
    assert ward.report(later, person="id").reason == "epoch-used"
    overlapping = write_rows(name_rows(49, 60), WITH_PERSON)
    receipt = ward.report(overlapping, epoch="2", person="id")
    assert (receipt.state, receipt.field) == (State.INVALID, "id")
    grown = write_rows([*rows, *name_rows(50, 60)], WITH_PERSON)
    assert ward.report(grown, epoch="2", person="id").reason == "repeated-rows"
    assert ward.report(later, epoch="2").reason == "rows-not-stated-new"
    assert ward.report(later, epoch="no name").reason == "bad-option"
    for _ in range(2):  # the first one leaves no persons in the ledger
        receipt = ward.report(later, epoch="2", person="id")
        assert (receipt.state, receipt.reason) == (State.READY, "rehearsal")
        assert receipt.why.startswith("the rows fit the survey and the ledger; ")
    assert len(ward.epochs()) == len(transport.requests) == 1
    monkeypatch.delenv("LDP_REHEARSAL")
    assert ward.report(later, epoch="2", person="id").state is State.SENT


def test_a_rehearsal_refuses_what_exceeds_the_total_epsilon(silo, write_rows, monkeypatch):
    ward = silo(max_total_epsilon=0.5)
    monkeypatch.setenv("LDP_REHEARSAL", "1")
    assert ward.report(write_rows(5)).reason == "total-epsilon-spent"
    assert not ward.epochs()


def test_rows_of_a_person_add_up_to_rows_per_person(silo, write_rows):
    plan = read_silo_survey(TWO_ROWS).compile()
    ward = silo(survey=plan)
    assert ward.report(write_rows(5)).reason == "bad-option"
    once, again, more = (
        [[f"person-{place}", *row] for place, row in enumerate(draw_rows(50, seed))] for seed in (1, 2, 3)
    )
    assert ward.report(write_rows(once, WITH_PERSON), person="id").state is State.SENT
    assert ward.report(write_rows(again, WITH_PERSON), epoch="2", person="id").state is State.SENT
    receipt = ward.report(write_rows(more, WITH_PERSON), epoch="3", person="id")
    assert receipt.why.startswith("rows 1, 2, 3, 4, 5, ...: 50 persons with more than 2 rows over all epochs")


def test_a_survey_of_the_family_with_other_noise_counts_none_of_the_persons(silo, write_rows):
    ward = silo()
    ward.report(write_rows(name_rows(0, 50), WITH_PERSON), person="id")
    other = join(ward.journal, TWO_ROWS.replace('id = "wards"', SECOND))
    assert other.report(write_rows(name_rows(49, 60), WITH_PERSON), person="id").field == "id"
    assert other.report(write_rows(name_rows(50, 60), WITH_PERSON), person="id").state is State.SENT


def test_a_journal_in_memory_keeps_the_persons(silo, write_rows):
    ward = silo(journal=":memory:")
    for epoch, first in (("1", 0), ("2", 10), ("3", 20)):
        rows = write_rows(name_rows(first, first + 10), WITH_PERSON)
        assert ward.report(rows, epoch=epoch, person="id").state is State.SENT
    rows = write_rows(name_rows(25, 35), WITH_PERSON)
    assert ward.report(rows, epoch="4", person="id").field == "id"


def test_persons_of_another_family_are_counted_apart(silo, write_rows):
    other = join(silo().journal, TWO_ROWS.replace('id = "wards"', 'id = "other"'))
    twice = [row for row in name_rows(0, 50) for _ in range(2)]
    assert other.report(write_rows(twice, WITH_PERSON), person="id").state is State.SENT
    assert silo().report(write_rows(name_rows(0, 50), WITH_PERSON), person="id").state is State.SENT


@pytest.mark.parametrize(
    ("first", "second", "new_rows", "reason"),
    [
        ("id", "id", False, ""),
        ("id", None, False, "rows-not-stated-new"),
        ("id", None, True, ""),
        (None, "id", False, "rows-not-stated-new"),
        (None, "id", True, ""),
        ("id", "age", True, "other-person-column"),
    ],
)
def test_persons_are_checked_if_all_epochs_name_them(silo, write_rows, first, second, new_rows, reason):
    ward = silo()
    ward.report(write_rows(name_rows(0, 9), WITH_PERSON), person=first)
    later = [[row[0], *row[1:3], str(place), *row[4:]] for place, row in enumerate(name_rows(9, 20))]
    path = write_rows(later, WITH_PERSON)
    assert ward.report(path, epoch="2", person=second, new_rows=new_rows).reason == reason


def test_surveys_of_a_family_count_as_one(silo, plan, write_rows):
    silo().report(write_rows(50))
    journal = silo().journal
    other = join(journal, WARDS.replace('id = "wards"', SECOND))
    assert other.report(write_rows(50)).reason == "repeated-rows"
    assert other.report(write_rows(draw_rows(9, seed=2))).reason == "rows-not-stated-new"
    assert other.report(write_rows(draw_rows(9, seed=2)), new_rows=True).state is State.SENT
    assert sum_epsilon(journal.epochs()) == 1


def test_a_survey_of_the_family_with_a_greater_epsilon_needs_the_difference(silo, write_rows):
    silo().report(write_rows(50))
    second = WARDS.replace('id = "wards"', SECOND).replace("epsilon = 1.0", "epsilon = 2.0")
    journal = silo().journal
    for limit, outcome in ((1.9, State.REJECTED), (2, State.SENT), (1.9, State.SENT)):
        other = join(journal, second, max_total_epsilon=limit)
        epochs = len(journal.epochs())
        path = write_rows(draw_rows(9, seed=2 + epochs))
        receipt = other.report(path, epoch=str(epochs), new_rows=True)
        assert receipt.state is outcome
        assert receipt.reason == ("" if outcome is State.SENT else "total-epsilon-spent")
    assert sum_epsilon(journal.epochs()) == 2


def test_another_survey_of_the_same_rows_adds_its_epsilon(silo, write_rows):
    silo().report(write_rows(50))
    journal, other = silo().journal, WARDS.replace('id = "wards"', 'id = "other"')
    for limit, reason in ((1.5, "total-epsilon-spent"), (2, "")):
        assert join(journal, other, max_total_epsilon=limit).report(write_rows(50)).reason == reason
    assert sum_epsilon(journal.epochs()) == 2


def test_flush_sends_every_epoch_that_waits(silo, write_rows):
    transport = FakeTransport(DOWN)
    ward = silo(transport)
    for epoch in ("1", "2"):
        rows = write_rows(draw_rows(20, seed=int(epoch)))
        assert ward.report(rows, epoch=epoch, new_rows=True, timeout=0).state is State.QUEUED
    assert ward.flush(0).state is State.QUEUED
    transport.responses = [RECORDED]
    assert ward.flush().state is State.SENT
    assert [each.state for each in ward.epochs()] == [State.SENT, State.SENT]


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "é", None])
def test_the_name_of_an_epoch_is_checked(silo, write_rows, name):
    receipt = silo().report(write_rows(5), epoch=name)
    assert receipt.reason == "bad-option"


def test_a_journal_is_found_by_its_absolute_path(silo, write_rows, tmp_path, monkeypatch):
    path = write_rows(5)
    silo().report(path)
    monkeypatch.chdir(tmp_path)
    assert silo(journal="ward.journal", granted=False).report(path).state is State.ALREADY_REPORTED
