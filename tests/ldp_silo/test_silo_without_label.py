"""Silos of a survey without a label, with several answers to one question."""

import re
from pathlib import Path

import pytest

from encoders.errors import RowError
from encoders.randomness import FastStream
from encoders.report import unpack
from encoders.survey.silo_plan import SiloPlan
from ldp_silo.cli import main
from ldp_silo.count_rows import CountedRows, count_rows
from ldp_silo.message_preview import make_message
from ldp_silo.rows_file import open_rows
from tests.ldp_client.conftest import Collector
from tests.support import silo_surveys
from tests.support.silo_surveys import HABITS, WARDS, read_silo_survey

ROWS = """smoker,drinks,weight,pulse
yes,beer; wine,80,
no,;,70,60

no,,95.5,100
no,wine;beer;wine,140,80
"""
"""A blank line, ticks in any order, no ticks, and a missing answer."""
URL = "http://collector.test/v1/surveys/habits"
EMPTY_NAMES = re.compile(r"\(\)|\'\'|\"\"|: ,|, ,| by ,|\| *\|")


@pytest.fixture
def plan() -> SiloPlan:
    return read_silo_survey(HABITS).compile()


def count(plan: SiloPlan, text: str, tmp_path: Path) -> CountedRows:
    path = tmp_path / "rows.csv"
    path.write_text(text, encoding="utf-8")
    with open_rows(path, bytes(32)) as file:
        return count_rows(plan, file)


def test_every_row_is_counted_once_in_each_table(plan, tmp_path):
    counted = count(plan, ROWS, tmp_path)
    assert (counted.rows, counted.clipped) == (4, ("weight",))
    assert counted.counts[:11] == [1, 3, 1, 2, 1, 1, 2, 1, 3, 0, 1]
    rows = [
        ("yes", ["beer", "wine"], 80, None),
        ("no", [], 70, 60),
        ("no", None, 95.5, 100),
        ("no", ["wine", "beer"], 140, 80),
    ]
    names = ("smoker", "drinks", "weight", "pulse")
    coded = [([each.code(row[names.index(each.row_name)]) for each in plan.features], 0) for row in rows]
    assert counted.counts == silo_surveys.count_rows(plan, coded)


def test_a_column_of_several_answers_is_counted_by_class_too(tmp_path):
    text = WARDS + '[features.drinks]\nchoices = ["beer", "wine"]\n'
    plan = read_silo_survey(text).compile()
    rows = "ill,smoker,age,weight,pulse,drinks\nyes,yes,3,80,70,beer;wine\nno,no,,70,60,wine\n"
    tables = [count(plan, rows, tmp_path).counts[t.start : t.end] for t in plan.mechanism.tables[-2:]]
    assert tables == [[0, 1, 1, 0], [0, 0, 1, 1]]  # no and yes of beer, then of wine, by (yes, no)


def test_the_error_of_a_wrong_choice_names_the_column_and_the_row(plan, tmp_path):
    with pytest.raises(RowError, match="contains something else than the survey's choices") as caught:
        count(plan, ROWS.replace("wine;beer;wine", "beer;rum"), tmp_path)
    assert str(caught.value).startswith("drinks: row 4: ")
    assert "rum" not in str(caught.value)


def test_lines_that_are_blank_are_skipped_between_chunks(plan, tmp_path):
    text = ROWS + "\n" * 300 + "no,beer,70,60\n"
    assert count(plan, text, tmp_path).rows == 5


def test_messages_pass_the_collectors_checks_and_lies_do_not(plan, tmp_path):
    counts = count(plan, ROWS, tmp_path).counts
    message = unpack(make_message(plan, counts, bytes(16), FastStream(1)), plan.max_report_bytes)
    assert plan.mechanism._is_valid(message.payload)
    inflated = [each + 10_000 * (place < 2) for place, each in enumerate(counts)]
    lie = unpack(make_message(plan, inflated, bytes(16), FastStream(1)), plan.max_report_bytes)
    assert not plan.mechanism._is_valid(lie.payload)


def test_no_text_of_the_command_mentions_a_label(plan, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("ldp_silo.silo.HttpTransport", lambda: Collector(plan))
    rows = tmp_path / "rows.csv"
    rows.write_text(ROWS, encoding="utf-8")
    printed = ""
    for command in (
        "grant URL",
        "preview URL ROWS",
        "report URL ROWS",
        "flush URL",
        "status",
        "withdraw URL",
    ):
        words = command.replace("URL", URL).replace("ROWS", str(rows)).split()
        with pytest.raises(SystemExit) as ended:
            main([*words, "--journal", str(tmp_path / "silo.db")])
        assert not ended.value.code
        captured = capsys.readouterr()
        printed += captured.out + captured.err
    assert "Survey habits counts rows by each of: smoker, drinks, weight" in " ".join(printed.split())
    assert re.search(r"drinks: wine +yes +2 ", printed)
    assert "epoch 1: counted by the collector" in printed
    assert "label" not in printed.replace(str(tmp_path), "")
    assert not EMPTY_NAMES.search(printed.replace(str(tmp_path), ""))
