"""Codes for missing answers in the rows of a silo: counted as empty cells, or their rows are left out."""

import itertools
import logging

import pytest

from encoders.errors import RowError
from ldp_client.receipt import State
from ldp_silo.count_rows import MAX_TEXTS, count_rows
from ldp_silo.rows_file import open_rows
from tests.ldp_silo.conftest import HEADER, URL, draw_rows
from tests.ldp_silo.test_cli import collector, run  # noqa: F401

CODES = {"age": [-99], "pulse": [999, 8888.5], "weight": [-9], "smoker": ["NA"]}
OPTIONS = ["--missing-codes", "age=-99", "--missing-codes", "pulse=999,8888.5"]
OPTIONS += ["--missing-codes", "weight=-9", "--missing-codes", "smoker=NA"]
AGE, PULSE, WEIGHT, SMOKER = (HEADER.index(name) for name in ("age", "pulse", "weight", "smoker"))


def code_rows(rows: list[list[str]]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the rows with codes, and the rows that mean the same without codes."""
    coded, plain = [], []
    spellings = itertools.cycle(["999", "8888.5", " 999.0", "8.8885e3"])
    for number, row in enumerate(rows):
        with_codes, without = list(row), list(row)
        if number % 3 == 0:
            with_codes[AGE], without[AGE] = "-99", ""
        if number % 5 == 0:
            with_codes[PULSE], without[PULSE] = next(spellings), ""
        if number % 7 == 0:
            with_codes[WEIGHT if number % 2 else SMOKER] = "-9.0" if number % 2 else "NA"
        coded.append(with_codes)
        if number % 7:
            plain.append(without)
    return coded, plain


@pytest.mark.parametrize("texts", [MAX_TEXTS, 10], ids=["texts", "numbers"])
def test_codes_count_as_the_rows_without_them(plan, write_rows, monkeypatch, texts):
    monkeypatch.setattr("ldp_silo.count_rows.MAX_TEXTS", texts)
    counted = []
    for number, rows in enumerate(code_rows(draw_rows(700))):
        with open_rows(write_rows(rows, name=f"{number}.csv"), bytes(32)) as file:
            counted.append(count_rows(plan, file, codes=CODES))
    coded, plain = counted
    assert (coded.counts, coded.rows, coded.clipped) == (plain.counts, 600, plain.clipped)
    dropped = "100 of 700 rows are left out, because they contain a missing code."
    assert coded.notes == (*plain.notes, dropped)
    assert "999" not in repr(coded)


def test_codes_without_an_option_are_shown_to_the_holder_of_the_rows(plan, write_rows):
    rows = [["yes", "no", "50", "70", "999" if number < 40 else "80"] for number in range(100)]
    with open_rows(write_rows(rows), bytes(32)) as file:
        [note] = count_rows(plan, file).notes
    assert note.startswith(
        "pulse: 40 of 100 cells are outside of 40 to 160, and are clipped. 40 of them are 999:"
    )


def test_the_numbers_outside_take_little_memory(plan, write_rows, monkeypatch):
    monkeypatch.setattr("ldp_silo.count_rows.MAX_OUTSIDE", 50)
    monkeypatch.setattr("ldp_silo.count_rows.MAX_TEXTS", 10)
    numbers = [f"{1000 + number / 8}" for number in range(500)] + ["8888"] * 200
    with open_rows(write_rows([["yes", "no", "50", "70", each] for each in numbers]), bytes(32)) as file:
        [note] = count_rows(plan, file).notes
    assert note.startswith(
        "pulse: 700 of 700 cells are outside of 40 to 160, and are clipped. 200 of them are 8888:"
    )


def test_a_file_of_codes_alone_counts_nothing(plan, write_rows, silo, transport):
    rows = write_rows([["yes", "no", "50", "-9", "80"]] * 3)
    made = silo(transport, missing_codes=CODES, strict=True)
    with pytest.raises(RowError, match="all rows contain a missing code"):
        made.report(rows)
    assert made.epochs() == []


def test_wrong_codes_draw_nothing(write_rows, silo):
    wrong = [
        ({"agee": [-9]}, "agee: is no feature"),
        ({"age": [50]}, "age: the missing code 50"),
        ({"age": -9}, "age: needs a list"),
        ({"smoker": "NA"}, "smoker: needs a list"),
    ]
    for codes, why in wrong:
        with pytest.raises(RowError, match=why):
            silo(missing_codes=codes, strict=True).report(write_rows(3))
    assert silo().epochs() == []


def test_a_program_logs_neither_codes_nor_counts(write_rows, silo, transport, caplog, recwarn):
    caplog.set_level(logging.DEBUG)
    lines: list[str] = []
    notes: list[str] = []
    rows = write_rows([["yes", "no", "50", "70", "999"]] * 30 + [["yes", "no", "50", "-9", "999"]] * 11)
    made = silo(transport, missing_codes={"weight": [-9]}, show=lines.append, show_rows=notes.append)
    receipt = made.report(rows)
    assert (receipt.state, receipt.clipped, made.epochs()[0].rows) == (State.SENT, ("pulse",), 30)
    assert [each.partition(":")[0] for each in notes] == [
        "pulse",
        "11 of 41 rows are left out, because they contain a missing code.",
    ]
    seen = " ".join([*lines, caplog.text, repr(receipt), *(str(each.message) for each in recwarn)])
    assert not any(each in seen for each in ("999", "30", "41", "11 "))


def test_commands_take_codes(run, write_rows, plan):  # noqa: F811
    rows, _ = code_rows(draw_rows(70))
    path = write_rows(rows)
    run("grant", URL)
    code, out, err = run("preview", URL, path, *OPTIONS)
    assert code == 0
    assert "All 60 rows fit the survey" in out
    assert "10 of 70 rows are left out, because they contain a missing code." in err.splitlines()
    code, out, err = run("report", URL, path, *OPTIONS)
    assert (code, out.splitlines()[0]) == (0, "epoch 1: counted by the collector")
    assert "10 of 70 rows are left out, because they contain a missing code." in err.splitlines()
    assert "999" not in out + err


@pytest.mark.parametrize("option", ["age", "agee=-9", "age=50"])
def test_commands_refuse_wrong_codes(run, write_rows, option):  # noqa: F811
    run("grant", URL)
    code, _, err = run("report", URL, write_rows(3), "--missing-codes", option)
    assert code == 1
    assert err.splitlines()[-1].startswith("Error: ")
    assert run("status")[1].count("epoch") == 0
