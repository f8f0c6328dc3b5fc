"""The table as CSV: exact numbers, empty unknown cells, and no cell that a spreadsheet runs."""

import csv
from io import StringIO

import pandas as pd
import pytest

from ldp_aggregator.estimation import estimate_snapshot
from ldp_aggregator.render.csv_file import escape_formula
from ldp_aggregator.snapshot import Snapshot
from ldp_aggregator.views.estimate_rows import build_table, dump_table, list_records
from tests.ldp_aggregator.views.samples import PLAIN_COLUMNS, simulate
from tests.support.surveys import make_plan


def test_csv_restores_every_row_exactly():
    rows = build_table(estimate_snapshot(simulate(2000)))
    read = list(csv.DictReader(StringIO(dump_table(rows))))
    assert tuple(read[0]) == PLAIN_COLUMNS
    for row, cells in zip(list_records(rows), read, strict=True):
        for name, value in row.items():
            if value is None:
                assert cells[name] == ""
            elif isinstance(value, bool):
                assert cells[name] == str(value).lower()
            else:
                assert type(value)(cells[name]) == value


def test_pandas_reads_numbers_marks_and_unknown_cells():
    rows = build_table(estimate_snapshot(simulate(2000)))
    frame = pd.read_csv(StringIO(dump_table(rows)), dtype={"distinguishable": "boolean"})
    assert list(frame.columns) == list(PLAIN_COLUMNS)
    assert frame["estimate"].dtype == float
    assert frame[frame["distinguishable"]]["distinguishable"].all()
    assert frame["value"].isna().tolist() == [row.value is None for row in rows]


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t1", "\uff1d1", "-a"])
def test_texts_that_a_spreadsheet_runs_get_an_apostrophe(text):
    assert escape_formula(text) == f"'{text}"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a;=HYPERLINK(1)", "a;'=HYPERLINK(1)"),
        ("a\t@SUM(A1);-b", "a\t'@SUM(A1);'-b"),
        ("\t=1", "'\t'=1"),
        ("-1;-1", "'-1;'-1"),
        ("a;\uff1d1", "a;'\uff1d1"),
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_delimiter_splits_a_text_into_a_formula(text, escaped, delimiter):
    assert escape_formula(text) == escaped
    cells = next(csv.reader([escaped], delimiter=delimiter))
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\uff1d"))]


@pytest.mark.parametrize(
    "text", ["black", "a=1", "a; b", "a;b", "-1", "+5", "-1.5e-3", "", "3 to 4", "(missing)"]
)
def test_other_texts_and_numbers_stay_as_they_are(text):
    assert escape_formula(text) == text


def test_removing_the_documented_apostrophes_restores_every_text():
    texts = ["=1", "'=1", "'quoted'", "plain", "a;=1", "a;'b'", "\t=1", "'\t;'';=1", "it's;so", "-1"]
    escaped = pd.Series([escape_formula(text) for text in texts])
    restored = escaped.str.replace(r"(^|[;\t\r\n])'", r"\1", regex=True)
    assert restored.tolist() == texts


def test_formulas_in_names_of_a_survey_are_escaped_in_every_column():
    label = {"name": "=label", "values": ["@yes", "-no"]}
    plan = make_plan(label=label, features={"+feature": ["=HYPERLINK(1)", "b"]})
    text = dump_table(build_table(estimate_snapshot(Snapshot(plan, {}, {}))))
    cells = {cell for record in csv.reader(StringIO(text)) for cell in record}
    assert {"'=label", "'@yes", "'-no", "'+feature", "'=HYPERLINK(1)"} <= cells
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
