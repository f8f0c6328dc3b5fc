"""Rows of a file to exact counts: the same codes as on a person's device, and clear refusals."""

import csv
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from encoders.errors import RowError
from encoders.survey.features import CategoricalFeature, Feature
from encoders.survey.row_cells import read_boolean
from encoders.survey.silo_plan import SiloPlan
from ldp_silo import rows_file
from ldp_silo.count_rows import CountedRows, count_rows
from ldp_silo.rows_file import FileDigest, RepeatedRowsError, hash_file, open_rows
from tests.ldp_silo.conftest import HEADER, draw_rows
from tests.support.silo_surveys import count_rows as count_coded_rows
from tests.support.silo_surveys import read_silo_survey
from tests.support.surveys import survey_toml

KEY = bytes(range(32))
GOOD = ["yes", "no", "50", "70", "80"]
SECRET = "secret-value"
BOOLEANS = survey_toml(
    id="wards",
    kind="silo",
    rows=100,
    label={"name": "ill", "values": [True, False]},
    features={"smoker": {"values": ["true", "false", "unknown"], "missing": "category"}},
)


def count(
    plan: SiloPlan, path: Path, person: str | None = None, earlier: Sequence[FileDigest] = ()
) -> CountedRows:
    with open_rows(path, KEY, earlier) as file:
        return count_rows(plan, file, person)


def refusal(plan: SiloPlan, path: Path, person: str | None = None) -> str:
    with pytest.raises(RowError) as caught:
        count(plan, path, person)
    assert SECRET not in str(caught.value)
    return str(caught.value)


def code(feature: Feature, text: str) -> int:
    """Code one cell as all readers of rows do."""
    value = feature.from_text(text)
    if isinstance(feature, CategoricalFeature):
        value = read_boolean(value, feature.values)
    return feature.code(value)


def expected_counts(plan: SiloPlan, path: Path) -> list[int]:
    """Count row by row."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [
            (
                [code(feature, row[feature.name]) for feature in plan.features],
                plan.label.code(read_boolean(row[plan.label.name], plan.label.values)),
            )
            for row in csv.DictReader(file)
        ]
    return count_coded_rows(plan, rows)


@pytest.mark.parametrize("most_texts", [0, 30, 1000])
def test_counts_are_those_of_rows_coded_one_by_one(plan, write_rows, monkeypatch, most_texts):
    monkeypatch.setattr("ldp_silo.count_rows.MAX_TEXTS", most_texts)
    path = write_rows(3000)
    counted = count(plan, path)
    assert counted.counts == expected_counts(plan, path)
    assert counted.rows == 3000
    assert set(counted.clipped) == {"age", "weight", "pulse"}


def test_other_spellings_of_booleans_are_read(tmp_path):
    plan = read_silo_survey(BOOLEANS).compile()
    path = tmp_path / "rows.csv"
    path.write_text("ill,smoker\n1,True\n0,FALSE\n1.0,unknown\ntrue,\n")
    assert count(plan, path).counts == expected_counts(plan, path) == [1, 0, 0, 1, 1, 0, 1, 0]


def test_quotes_other_columns_blank_lines_and_a_byte_order_mark_are_read(plan, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(
        b'\xef\xbb\xbfname,pulse,weight,age,"smoker",ill\r\n'
        b'"a, ""b""\nc",80,70,50,"no",yes\r\n\r\n\xc3\xa9,,71,,yes,no\r\n'
    )
    with open_rows(path, KEY, multiline=True) as file:
        counted = count_rows(plan, file)
    assert counted.counts == expected_counts(plan, path)
    assert counted.rows == 2
    message = "rows.csv: line 2: a quoted cell continues on the next line"
    assert refusal(plan, path).startswith(message)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_quotes_that_are_not_escaped_join_no_rows(tmp_path, end, size):
    path = tmp_path / "ward.csv"
    lines = ["note,ill", "x,yes", '"x",yes', "", f'"{SECRET}" x,no', "x,yes", 'x",no', "x,yes", ""]
    path.write_bytes(end.join(lines).replace('" x', " x").encode())
    why = r"^ward\.csv: line 5: a quoted cell continues on the next line\. Write each \" in a cell as \"\" "
    with open_rows(path, KEY) as file, pytest.raises(RowError, match=why):
        list(file.chunks(size))
    with open_rows(path, KEY, multiline=True) as file:
        assert sum(len(chunk.rows) for chunk in file.chunks(size)) == 4
    path.write_bytes(end.join(lines).encode())
    for multiline in (False, True):
        with open_rows(path, KEY, multiline=multiline) as file, pytest.raises(RowError) as caught:
            list(file.chunks(size))
        assert str(caught.value).startswith("ward.csv: line 5: is not valid CSV: ',' expected after '\"'")


def test_a_header_that_continues_on_the_next_line_is_refused(plan, tmp_path):
    path = tmp_path / "ward.csv"
    path.write_text('"ill\nness",smoker\nyes,no\n')
    assert refusal(plan, path).startswith("ward.csv: line 1: a quoted cell continues on the next line")


def test_a_column_is_found_whatever_the_unicode_form_of_its_name(tmp_path):
    (tmp_path / "rows.csv").write_text("x,cafe\u0301\n1,2\n", "utf-8")
    with open_rows(tmp_path / "rows.csv", KEY) as file:
        assert file.find_column("caf\u00e9") == 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_are_split_as_csv_splits_them(tmp_path, end, size):
    lines = ["a,b", "1,2", "", '"x', '","y"",', 'z"', "3,", ",", '5,6"', "7,8", '"9",10', " ,11"]
    for last in ("", end):
        path = tmp_path / "rows.csv"
        path.write_bytes((end.join(lines) + last).encode())
        with path.open(newline="", encoding="utf-8") as file:
            header, *expected = filter(None, csv.reader(file, strict=True))
        with open_rows(path, KEY, multiline=True) as rows_of_file:
            chunks = list(rows_of_file.chunks(size))
        assert rows_of_file.header == header
        assert [row for chunk in chunks for row in chunk.rows] == expected
        firsts = [chunk.first for chunk in chunks]
        assert firsts == [
            1 + sum(len(before.rows) for before in chunks[:place]) for place in range(len(chunks))
        ]


@pytest.mark.parametrize(
    ("column", "cell", "problem"),
    [
        ("smoker", SECRET, "smoker: row 3: is not one of the survey's values"),
        ("smoker", "", "smoker: row 3: is missing"),
        ("age", SECRET, "age: row 3: must be a number"),
        ("age", "inf", "age: row 3: is infinite"),
        ("weight", "nan", "weight: row 3: is missing"),
        ("weight", "", "weight: row 3: is missing"),
        ("weight", "1e999", "weight: row 3: is infinite"),
        ("ill", SECRET, "ill: row 3: is not one of the survey's values"),
        ("ill", "", "ill: row 3: the label is missing"),
    ],
)
@pytest.mark.parametrize("most_texts", [0, 1000])
def test_a_cell_outside_the_survey_is_refused_by_column_and_row(
    plan, write_rows, monkeypatch, column, cell, problem, most_texts
):
    monkeypatch.setattr("ldp_silo.count_rows.MAX_TEXTS", most_texts)
    bad = [cell if name == column else good for name, good in zip(HEADER, GOOD, strict=True)]
    assert refusal(plan, write_rows([GOOD, GOOD, bad, GOOD])).startswith(problem)


def test_the_row_of_a_late_mistake_is_named(plan, write_rows):
    rows = draw_rows(2500)
    rows[2345][3] = SECRET
    assert refusal(plan, write_rows(rows)) == "weight: row 2346: must be a number"


def test_nan_is_a_missing_number_as_on_a_device(plan, write_rows):
    rows = [["yes", "no", "nan", "70", "NaN"], ["yes", "no", "", "70", ""]]
    counts = count(plan, write_rows(rows)).counts
    assert counts == [2 * each for each in count(plan, write_rows(rows[1:])).counts]


def test_more_rows_than_the_survey_allows_are_refused(plan, write_rows):
    small = read_silo_survey(BOOLEANS).compile()
    path = write_rows([["true", "true"]] * 101, ["ill", "smoker"])
    assert "has more than 100 rows" in refusal(small, path)
    assert count(small, write_rows([["true", "true"]] * 100, ["ill", "smoker"])).rows == 100


def test_files_that_are_no_table_are_refused(plan, write_rows, tmp_path):
    empty = tmp_path / "empty.csv"
    empty.touch()
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"ill,smoker,age,weight,pulse\n\xff\xfe\n")
    unclosed = tmp_path / "unclosed.csv"
    unclosed.write_text(f'ill,smoker,age,weight,pulse\nyes,"{SECRET}\n')
    os.mkfifo(tmp_path / "pipe")
    assert refusal(plan, empty) == "empty.csv: has no header: the first line must name the columns"
    assert (
        refusal(plan, write_rows([]))
        == "ward.csv: has no rows, so nothing was counted: give a file with rows"
    )
    assert refusal(plan, binary) == "binary.csv: is not a CSV file in UTF-8: save it as one"
    assert refusal(plan, unclosed).startswith(
        "unclosed.csv: line 2: is not valid CSV: unexpected end of data"
    )
    assert refusal(plan, tmp_path).endswith(": is a directory: give a CSV file")
    assert refusal(plan, tmp_path / "pipe") == "pipe: is not a regular file: give a CSV file"
    assert refusal(plan, tmp_path / "none.csv") == "none.csv: cannot be read: No such file or directory"
    assert (
        refusal(plan, write_rows([["yes", "no"]]))
        == "ward.csv: row 1 has 2 cells, the header has 5: check its commas and quotes"
    )


def test_wrong_headers_are_refused(plan, write_rows):
    semicolons = [";".join(GOOD)]
    assert "separated by ';'" in refusal(plan, write_rows([semicolons], [";".join(HEADER)]))
    assert "separated by tabs" in refusal(plan, write_rows([semicolons], ["\t".join(HEADER)]))
    assert refusal(plan, write_rows([GOOD[1:]], HEADER[1:])) == "ill: ward.csv has no such column: add it"
    assert refusal(plan, write_rows([GOOD[:-1]], HEADER[:-1])) == "pulse: ward.csv has no such column: add it"
    twice = refusal(plan, write_rows([[*GOOD, "1"]], [*HEADER, "age"]))
    assert twice == "age: ward.csv has 2 columns of this name: rename one"
    assert refusal(plan, write_rows([GOOD]), person="id") == "id: ward.csv has no such column: add it"


def change_after_reading(path: Path, monkeypatch: pytest.MonkeyPatch, change: object) -> None:
    """Change a file after its last row was read, and before it is checked."""
    finish = rows_file.RowsFile.finish

    def changed(file: rows_file.RowsFile) -> FileDigest:
        change(path)
        return finish(file)

    monkeypatch.setattr(rows_file.RowsFile, "finish", changed)


def append(path: Path) -> None:
    with path.open("a") as file:
        file.write(",".join(GOOD) + "\n")


def overwrite(path: Path) -> None:
    """Change a byte, and restore the times: the time of the change of the inode remains."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b" ")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path: Path) -> None:
    other = path.with_name("other.csv")
    other.write_bytes(path.read_bytes())
    other.replace(path)


def remove(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("change", [append, overwrite, replace, remove])
def test_a_file_that_changes_while_it_is_read_is_refused(plan, write_rows, monkeypatch, change):
    path = write_rows(300)
    change_after_reading(path, monkeypatch, change)
    assert "while it was read, so nothing was counted" in refusal(plan, path)


def test_the_digest_is_that_of_the_whole_file(plan, write_rows):
    path = write_rows(3000)
    digest = count(plan, path).file
    assert digest == hash_file(path, KEY)
    assert digest.size == path.stat().st_size
    assert digest.digest != hash_file(path, bytes(32)).digest


@pytest.mark.slow
def test_a_file_that_begins_with_an_earlier_file_is_refused(plan, write_rows):
    rows = draw_rows(3000)
    earlier = [hash_file(write_rows(rows[:size]), KEY) for size in (1, 2000, 3000)]
    other = hash_file(write_rows(draw_rows(2000, seed=2)), KEY)
    path = write_rows(rows)
    for each in earlier:
        with pytest.raises(RepeatedRowsError):
            count(plan, path, earlier=[other, each])
    assert count(plan, path, earlier=[other]).counts == count(plan, path).counts
    longer = hash_file(write_rows(draw_rows(4000)), KEY)
    assert count(plan, write_rows(rows), earlier=[longer]).rows == 3000


def test_rows_of_persons_are_counted_and_limited(write_rows):
    plan = read_silo_survey(BOOLEANS.replace("rows = 100", "rows = 100\nrows_per_person = 2")).compile()
    rows = [["a", "true", "true"], [" a ", "false", "true"], ["b", "true", ""]]
    header = ["id", "ill", "smoker"]
    assert count(plan, write_rows(rows, header), "id").persons == {"a": 2, "b": 1}
    more = refusal(plan, write_rows([*rows, rows[0]], header), "id")
    assert more.startswith("id: row 4: this person has more than 2 rows in the file")
    nobody = refusal(plan, write_rows([*rows, [" ", "true", "true"]], header), "id")
    assert nobody == "id: row 4: has no person's id: fill in the cell"
