"""Rows that do not fit: named in the receipt, kept nowhere, never quoted."""

import gc
import sqlite3
import weakref

import pytest

from ldp_client import Receipt, RowError, State, TransportError
from tests.ldp_client.conftest import RECORDED, ROW, FakeTransport


def test_an_invalid_row_spends_nothing_and_can_be_corrected(client):
    one = client(FakeTransport(RECORDED))
    receipt = one.report({"age": "secret", "hours": 1}, "no")
    assert (receipt.state, receipt.field, receipt.epsilon) == (State.INVALID, "age", 0.0)
    assert "secret" not in repr(receipt)
    assert one.report(ROW, "no").state is State.QUEUED


def test_a_receipt_names_every_entry_that_does_not_fit_and_nothing_is_drawn(transport, client):
    outcomes: list[Receipt] = []
    one = client(transport, on_outcome=outcomes.append)
    receipt = one.report({"age": "s3cret", "hours": float("inf")}, True)
    assert receipt.problems == (
        ("age", receipt.why),
        (
            "hours",
            "is infinite: give a finite number, or None (in a CSV file, an empty cell) if it is missing",
        ),
        (
            "rested",
            'is not one of the survey\'s values: "yes", "no" (a bool is read as the text "true" or "false")',
        ),
    )
    assert (receipt.state, receipt.field, receipt.epsilon) == (State.INVALID, "age", 0.0)
    assert outcomes == [receipt]
    assert "s3cret" not in repr(receipt)
    assert one.status().state is State.READY
    assert not transport.bodies


class Secret(str):
    """A value that can be watched."""


@pytest.mark.parametrize("row", [["age"], ["age", "hours"], ["age", "more"]])
def test_a_refused_row_leaves_memory_at_once(client, row):
    one, values = client(FakeTransport(RECORDED)), {name: Secret("s3cret") for name in row}
    watched = [weakref.ref(value) for value in values.values()]
    gc.disable()  # what only a later collection would free counts as kept
    try:
        receipt = one.report(values, "maybe")
        del values
        assert [ref() for ref in watched] == [None] * len(row)
    finally:
        gc.enable()
    assert receipt.state is State.INVALID


def test_strict_clients_raise(client):
    with pytest.raises(RowError) as caught:
        client(FakeTransport(RECORDED), strict=True).report({"age": "old"}, "maybe")
    assert [each.field for each in caught.value.problems] == ["hours", "rested"]


def test_a_receipt_names_the_numbers_that_were_clipped(client):
    receipt = client(FakeTransport(RECORDED)).report({**ROW, "hours": 13}, "yes")
    assert (receipt.state, receipt.clipped) == (State.QUEUED, ("hours",))


class Trap(dict[str, object]):
    """A row that raises something of its own, with its value in the text."""

    def __getitem__(self, name: str) -> object:
        raise OSError("no such drive: old")


def test_nothing_unexpected_reaches_the_application(client):
    receipt = client(FakeTransport(RECORDED)).report(Trap(ROW), "no")
    assert (receipt.state, receipt.reason) == (State.UNAVAILABLE, "internal-error")
    assert "OSError" in receipt.why
    assert "old" not in repr(receipt)
    with pytest.raises(OSError, match="drive"):
        client(FakeTransport(RECORDED), strict=True).report(Trap(ROW), "no")


def test_a_receipt_prints_its_state_and_cause(client):
    one = client(FakeTransport(TransportError("no network")), granted=False)
    assert str(one.status()) == "no_consent (no-consent)"
    assert repr(one.grant()) == "Receipt(state=<State.READY: 'ready'>, survey='sleep')"
    invalid = one.report({"age": "secret", "hours": 1}, "no")
    assert str(invalid) == """invalid (age: is not one of the survey's values: "young", "old")"""
    why = repr(invalid.why)
    assert repr(invalid) == (
        "Receipt(state=<State.INVALID: 'invalid'>, survey='sleep', reason='invalid-row', field='age', "
        f"why={why}, problems=(('age', {why}),))"
    )
    several = one.report({"age": "secret", "hours": "long"}, "no")
    assert str(several).startswith(f"invalid (age: {invalid.why}; hours: ")
    queued = one.report({**ROW, "hours": 13}, "no")
    assert str(queued) == "queued (clipped: hours)"
    assert repr(queued).endswith("survey='sleep', epsilon=1.0, clipped=('hours',))")
    assert str(one.flush(0)).startswith("queued (")


# -- errors of the application's row ------------------------------------------------------------


class Diary(dict[str, object]):
    """A row that is read from an application's own storage, which fails for one entry."""

    def __init__(self, entry: str, error: Exception) -> None:
        super().__init__(ROW)
        self.entry, self.error = entry, error

    def __getitem__(self, name: str) -> object:
        if name == self.entry:
            raise self.error
        return super().__getitem__(name)


def _damaged() -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError("database disk image is malformed: HIV-positive")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


@pytest.mark.parametrize("entry", ["age", "hours"])
@pytest.mark.parametrize(
    "error", [OSError("HIV-positive"), _damaged(), sqlite3.OperationalError("HIV-positive")]
)
def test_errors_of_a_row_are_neither_quoted_nor_mistaken_for_errors_of_the_journal(
    client, tmp_path, entry, error
):
    one = client(FakeTransport(RECORDED))
    receipt = one.report(Diary(entry, error), "no")
    assert (receipt.state, receipt.reason) == (State.UNAVAILABLE, "internal-error")
    assert "HIV" not in repr(receipt)
    assert [path.name for path in tmp_path.iterdir()] == ["journal.db"]
    assert one.report(ROW, "no").state is State.QUEUED


def test_a_row_is_read_once_and_not_changed(client):
    reads: list[str] = []

    class Row(dict[str, object]):
        def __getitem__(self, name: str) -> object:
            reads.append(name)
            return super().__getitem__(name)

        def __missing__(self, name: str) -> object:
            raise AssertionError("read an absent entry")

    one = client(FakeTransport(RECORDED))
    assert one.report(Row(age="old"), "no").field == "hours"
    assert one.report(Row(ROW), "no").state is State.QUEUED
    assert reads == ["age", "age", "hours"]
