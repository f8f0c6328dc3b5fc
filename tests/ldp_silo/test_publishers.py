"""Publishers: a family's name reveals nobody, and one publisher counts as one, by origin or by key."""

import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from unicodedata import normalize

import pytest

from encoders.survey.invitation import format_token
from encoders.survey.signature import signature_text
from ldp_client import Receipt, Response, State
from ldp_design.authoring.signing import KeyPair, make_keys, sign
from ldp_silo import Epoch, Silo, SiloJournal
from ldp_silo.silo_ledger import sum_epsilon
from tests.ldp_client.conftest import Collector
from tests.ldp_silo.conftest import HEADER, WriteRows, draw_rows
from tests.support.silo_surveys import WARDS, read_silo_survey

HIV = WARDS.replace('id = "wards"', 'id = "wards"\nfamily = "hiv-study"')
NEXT = WARDS.replace('id = "wards"', 'id = "next"\nfamily = "hiv-study"')
TWO_ROWS = HIV.replace("rows_per_person = 1", "rows_per_person = 2")
AUTHOR, OTHER = make_keys(), make_keys()
Join = Callable[..., Silo]
"""The type of the fixture `join`."""
Report = Callable[..., Receipt]
"""The type of the fixture `report`."""


@pytest.fixture
def journal(tmp_path: Path) -> SiloJournal:
    return SiloJournal(tmp_path / "ward.journal")


@pytest.fixture
def join(journal: SiloJournal) -> Join:
    """Agree to the survey of a publisher, with or without the author's key."""

    def join(host: str, author: KeyPair | None = None, text: str = HIV, **options: object) -> Silo:
        plan = read_silo_survey(text).compile()
        key = author.public_key if author else None
        url = f"http://{host}.test/v1/surveys/{plan.id}"
        transport = Collector(plan, signature_text(sign(plan, author.private_pem)) if author else "")
        silo = Silo(url, journal=journal, transport=transport, public_key=key, **options)
        assert silo.grant().state is State.READY
        return silo

    return join


@pytest.fixture
def report(write_rows: WriteRows) -> Report:
    """Report one row of each name, as an epoch with a number that is new."""
    numbers = itertools.count(1)

    def report(silo: Silo, *names: str, new_rows: bool = False) -> Receipt:
        number = next(numbers)
        rows = [[name, *row] for name, row in zip(names, draw_rows(len(names), seed=number), strict=True)]
        path = write_rows(rows, ("id", *HEADER), name=f"{number}.csv")
        return silo.report(path, epoch=str(number), person="id", new_rows=new_rows)

    return report


def is_refused(receipt: Receipt) -> bool:
    """Return whether a report was refused because of a person; it was counted otherwise."""
    if receipt.state is State.INVALID:
        assert (receipt.reason, receipt.field) == ("invalid-row", "id")
        return True
    assert receipt.state is State.SENT, receipt
    return False


# -- persons -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [HIV, NEXT])
@pytest.mark.parametrize(
    ("first", "second", "known"),
    [
        (("a", None), ("a", AUTHOR), True),
        (("a", AUTHOR), ("a", None), True),
        (("a", AUTHOR), ("a", OTHER), True),
        (("a", AUTHOR), ("b", AUTHOR), True),
        (("a", None), ("b", None), False),
        (("a", AUTHOR), ("b", None), False),
        (("a", None), ("b", AUTHOR), False),
        (("a", AUTHOR), ("b", OTHER), False),
    ],
)
def test_a_person_is_known_to_one_publisher_of_a_family(join, report, text, first, second, known):
    assert not is_refused(report(join(*first), "ann", "bob"))
    assert is_refused(report(join(*second, text), "bob", "eve")) is known
    assert not is_refused(report(join(*second, text), "sue", "joe"))


def test_a_key_that_only_the_consent_pins_identifies_the_publisher(join, report, journal):
    assert not is_refused(report(join("a", AUTHOR), "ann"))
    signed = join("b", AUTHOR)
    unpinned = Silo(signed.journal.entries()[0].url, journal=journal, transport=signed._binding.transport)
    assert is_refused(report(unpinned, "ann"))
    assert [epoch.origin for epoch in unpinned.epochs()] == ["http://a.test:80"]
    assert not is_refused(report(unpinned, "bob"))


def test_a_consent_that_another_process_moves_while_rows_are_counted_stops_the_report(join, report, journal):
    assert not is_refused(report(join("b"), "ann"))

    def move(line: str) -> None:
        if line.startswith("counting"):
            join("b", AUTHOR)

    receipt = report(join("a", AUTHOR, show=move), "ann")
    assert (receipt.state, receipt.reason) == (State.NO_CONSENT, "no-consent")
    assert "http://b.test" in receipt.why
    assert len(journal.epochs()) == 1


def test_a_message_that_the_key_does_not_allow_keeps_its_token(join, journal, write_rows):
    text = HIV.replace("[label]", 'enrolment = "token"\n[label]')
    plan, path = read_silo_survey(text).compile(), write_rows(3)
    first, second = (format_token(plan, bytes(2) + bytes([place]) * 14) for place in range(2))
    unsigned = join("a", None, text, token=first)
    unsigned._binding.transport.responses = [Response(409, b'{"reason":"id-reused","retryable":false}')]
    assert unsigned.report(path).reason == "id-reused"
    before = journal.epochs()
    receipt = join("a", AUTHOR, text, token=second).report(path)
    assert (receipt.state, receipt.reason) == (State.REJECTED, "plan-changed")
    assert journal.epochs() == before


@pytest.mark.parametrize("column", ["pr\u00e9nom", "pre\u0301nom"])
def test_the_column_of_persons_is_found_in_any_unicode_form(join, write_rows, journal, column):
    path = write_rows([["ann", *draw_rows(1)[0]]], ("pre\u0301nom", *HEADER))
    assert join("a").report(path, person=column).state is State.SENT
    assert journal.epochs()[0].person_column == "pr\u00e9nom"


def test_rows_of_a_person_add_up_over_the_epochs_that_match(join, report):
    first, second, third = ("a", None, TWO_ROWS), ("a", AUTHOR, TWO_ROWS), ("b", AUTHOR, TWO_ROWS)
    assert not is_refused(report(join(*first), "ann"))
    assert not is_refused(report(join(*second), "ann"))
    assert not is_refused(report(join(*third), "ann"))  # it matches the second epoch only
    assert is_refused(report(join(*third), "ann"))
    assert is_refused(report(join(*second), "ann"))
    assert not is_refused(report(join("c", None, TWO_ROWS), "ann"))


def test_a_second_plan_of_a_survey_is_refused(join, report):
    report(join("a"), "ann")
    report(join("b", AUTHOR, TWO_ROWS), "bob")
    both = join("a", AUTHOR)  # each plan matches, by origin or by key
    receipt = report(both, "eve")
    assert (receipt.state, receipt.reason) == (State.REJECTED, "plan-changed")


def test_a_refused_file_leaves_no_rows_in_a_journal_in_memory(write_rows, silo):
    ward = silo(journal=":memory:")
    rows = [[name, *row] for name, row in zip(("ann", "bob", "eve"), draw_rows(3), strict=True)]
    assert ward.report(write_rows(rows[:2], ("id", *HEADER)), person="id").state is State.SENT
    assert ward.report(write_rows(rows[1:], ("id", *HEADER)), epoch="2", person="id").field == "id"
    assert ward.report(write_rows(rows[2:], ("id", *HEADER)), epoch="2", person="id").state is State.SENT


# -- names in Unicode ----------------------------------------------------------------------------

ACCENTS = "Zo\u00eb \u1ebf"
SPELLINGS = [normalize("NFC", ACCENTS), normalize("NFD", ACCENTS), "Zo\u00eb \u00ea\u0301"]
"""Three spellings of a name; the last one is in neither normal form."""


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(SPELLINGS, 2)))
def test_two_spellings_in_unicode_are_one_person(join, report, one, other):
    silo = join("a")
    receipt = report(silo, one, "ann", other)
    assert is_refused(receipt)
    assert receipt.why.startswith("row 3: this person has more than 1 row in the file")
    assert not is_refused(report(silo, one))
    receipt = report(silo, "ann", other)
    assert is_refused(receipt)
    assert receipt.why.startswith("row 2: 1 person with more than 1 row over all epochs")
    assert not is_refused(report(silo, "Zoe", "zo\u00eb \u1ebf"))


# -- epsilon ----------------------------------------------------------------------------------------


def test_a_publisher_with_and_without_a_key_counts_once(join, report, journal):
    report(join("a"), "ann")
    report(join("a", AUTHOR), "bob")
    assert sum_epsilon(journal.epochs()) == 1
    report(join("b", AUTHOR), "ann")  # it may count persons of the first epoch
    assert sum_epsilon(journal.epochs()) == 2


@pytest.mark.parametrize("hosts", [("a", "b"), ("b", "a")])
@pytest.mark.parametrize(("limit", "reason"), [(1.5, "total-epsilon-spent"), (2, "")])
def test_a_limit_reveals_only_what_all_surveys_spend(join, report, hosts, limit, reason):
    report(join(hosts[0]), "ann")
    assert [
        report(join(hosts[1], max_total_epsilon=limit), name, new_rows=True).reason
        for name in ("ann", "bob", "eve")
    ] == [reason] * 3


def draw_epochs(epoch: Epoch, draw: random.Random) -> list[Epoch]:
    return [
        replace(
            epoch,
            number=number,
            survey=draw.choice(("x", "y")),
            origin=draw.choice("ab"),
            signer=draw.choice(("", "k", "l")),
            family=draw.choice(("", "f", "g")),
            epsilon=draw.choice(("0.5", "1", "2")),
        )
        for number in range(draw.randint(1, 7))
    ]


@pytest.mark.slow
def test_the_sum_of_epsilon_is_never_below_what_a_person_can_spend(join, report, journal):
    report(join("a"), "ann")
    (epoch,) = journal.epochs()
    draw = random.Random(1)
    exact = 0
    for _ in range(300):
        epochs = draw_epochs(epoch, draw)
        most = max(
            sum((Fraction(each.epsilon) for each in chosen), Fraction(0))
            for size in range(len(epochs) + 1)
            for chosen in itertools.combinations(epochs, size)
            if not any(one.matches(other) for one, other in itertools.combinations(chosen, 2))
        )
        sums = [sum_epsilon(epochs[:count]) for count in range(len(epochs) + 1)]
        assert sums == sorted(sums)  # a further epoch never lowers it
        assert sums[-1] >= most
        exact += sums[-1] == most
    assert exact > 250
