"""XLSForms that cannot be converted: the error names the file, the row and the fix, without a traceback."""

import re
import zipfile
from pathlib import Path

import openpyxl
import pytest
from click.testing import Result

from ldp_design.authoring.xlsform import form as form_module
from tests.ldp_design.authoring.xlsform.workbooks import write_workbook
from tests.support.commands import command

CHOICES = """
| choices |
| | list_name | name | label |
| | yn | yes | Yes |
| | yn | no | No |
| settings |
| | form_id | default_language |
| | form | English (en) |
"""
HEADER = "| survey |\n| | type | name | label | required | relevant | constraint |\n"
GOOD = "| | select_one yn | good | Good? | yes |\n"


def run(path: Path, *arguments: str) -> Result:
    return command("ldp-survey", "init", "--from", path, *arguments, check=False)


def fail(table: str, tmp_path: Path, *arguments: str) -> str:
    """Return the error message about a form."""
    result = run(write_workbook(table, tmp_path / "form.xlsx"), *arguments)
    assert result.exit_code == 1
    assert not result.stdout
    return result.stderr


def rows(*lines: str) -> str:
    return HEADER + "".join(f"| | {line} |\n" for line in lines) + CHOICES


LONG = "x" * 301
BAD = {
    "a cycle of conditions": (
        rows("select_one yn | a | A | | ${b} = 'yes' |", "select_one yn | b | B | | ${a} = 'yes' |"),
        ["survey sheet, row 2", "survey sheet, row 3", "cycle, or depends on one"],
    ),
    "a condition on the question itself": (
        rows("select_one yn | a | A | | ${a} = 'yes' |"),
        ['survey sheet, row 2: "a" (select_one yn) is left out', "cycle, or depends on one"],
    ),
    "a cycle through a group and a number": (
        rows(
            "begin_group | g | G | | ${b} > 3 |",
            "select_one yn | a | A |",
            "end_group |",
            "integer | b | B | | ${a} = 'yes' |",
        ),
        ["survey sheet, row 3", "survey sheet, row 5", "cycle"],
    ),
    "choices that are equal in NFC": (
        rows("select_one l | a | A |") + "| choices |\n| | list_name | name | label |\n"
        "| | l | caf\u00e9 | A |\n| | l | cafe\u0301 | B |\n",
        ['survey sheet, row 2: "a" (select_one l) is left out: its list has two choices with one name ("caf'],
    ),
    "10,000 choices": (
        rows("select_one yn | a | A |", "select_one l | b | B |")
        + "| choices |\n| | list_name | name | label |\n"
        "| | yn | yes | Yes |\n" + "".join(f"| | l | v{each} | V{each} |\n" for each in range(10_000)),
        ['row 3: "b" (select_one l) is left out: it has 10,000 choices, more than 1,000: merge choices'],
    ),
    "2,001 questions": (
        rows(*(f"text | t{each} | T |" for each in range(2_001))),
        ["survey sheet, row 2002: the form has more than 2,000 questions: split it"],
    ),
    "two columns of one language": (
        "| survey |\n| | type | name | label::English (en) | label::Anglais (en) |\n"
        "| | select_one yn | a | A | A |" + CHOICES,
        ['"English (en)" and "Anglais (en)" have one language tag: change one'],
    ),
    "a question with one choice": (
        rows("select_one l | a | A | yes |")
        + "| choices |\n| | list_name | name | label |\n| | l | x | X |\n",
        ['survey sheet, row 2: "a" (select_one l) is left out: it has one choice only'],
    ),
    "a choice with a semicolon": (
        rows("select_multiple l | a | A | yes |") + "| choices |\n| | list_name | name | label |\n"
        "| | l | x;y | X |\n| | l | z | Z |\n",
        ['row 2: "a" (select_multiple l) is left out: features.a.choices: ', "';'"],
    ),
    "no question that can be asked": (
        rows("text | t | T |", "geopoint | gps | Where? |", "integer | n | N |"),
        ["form.xlsx: no question can be asked privately", 'row 3: "gps" (geopoint) is left out', "row 4"],
    ),
    "an unknown type": (
        rows("selekt yn | a | A |"),
        ['row 2: "a" (selekt yn) is left out: its type is not one of the XLSForm standard'],
    ),
    "a list that does not exist": (
        rows("select_one nope | a | A |"),
        ['row 2: "a" (select_one nope) is left out: its list of choices is not in the choices sheet'],
    ),
    "a group without an end, and others": (
        rows(
            "end_repeat |", "begin_group | g | G |", "begin_repeat | r | R |", "end_group |", "text | t | T |"
        ),
        [
            'survey sheet, row 2: "end_repeat" does not end the last open group',
            'survey sheet, row 5: "end_group" does not end the last open group',
            'survey sheet, row 3: the group "g" has no end: add a row that ends it',
        ],
    ),
    "a reference to nothing": (
        rows("select_one yn | a | A | | ${nothing} = 'yes' |"),
        ['row 2: "a" (select_one yn) is left out: its condition `${nothing} = ', "that does not exist"],
    ),
    "a workbook without questions": (
        "| people |\n| | a | b |\n| | 1 | 2 |\n",
        ["not a valid XLSForm", "type"],
    ),
}


SLOW = ("10,000 choices", "2,001 questions")


@pytest.mark.parametrize(
    "case", [pytest.param(each, marks=[pytest.mark.slow] if each in SLOW else []) for each in BAD]
)
def test_the_error_names_the_row_and_the_fix(case, tmp_path):
    table, parts = BAD[case]
    message = fail(table, tmp_path)
    assert message.startswith("Error: ")
    for part in ["form.xlsx: ", *parts]:
        assert part in message


LABELS = {
    "unknown": (
        rows("select_one yn | a | A | yes |"),
        '"lab" is not a select_one question that can be asked: "a"',
    ),
    "a number": (
        rows("select_one yn | a | A | yes |", "integer | lab | L | yes | | . >= 0 and . <= 9 |"),
        '"lab" is not a select_one question that can be asked: "a"',
    ),
    "with a condition": (
        rows("select_one yn | a | A | yes |", "select_one yn | lab | L | yes | ${a} = 'yes' |"),
        'survey sheet, row 3: "lab" is not asked of everybody: delete its condition (relevant)',
    ),
    "optional": (
        rows("select_one yn | a | A | yes |", "select_one yn | lab | L |"),
        'survey sheet, row 3: "lab" may be left empty: write yes into the column required',
    ),
    "alone": (
        rows("select_one yn | lab | L | yes |", "text | t | T |"),
        "no question can be asked privately besides the label: a survey needs another one",
    ),
}


@pytest.mark.parametrize("case", LABELS)
def test_a_label_that_does_not_fit_is_refused(case, tmp_path):
    table, part = LABELS[case]
    assert part in fail(table, tmp_path, "--label", "lab")


def test_every_formula_without_a_value_in_a_cell_that_is_read_is_listed(tmp_path):
    path = write_workbook(HEADER + GOOD + CHOICES, tmp_path / "form.xlsx")
    workbook = openpyxl.load_workbook(path)
    workbook["survey"]["C2"] = '="Are you "&"well?"'
    workbook["survey"]["D2"] = "=TRUE()"
    workbook["choices"]["C3"] = '="No"'
    workbook["settings"]["B1"] = '="default_language"'
    workbook.save(path)
    why = "the formula has no stored value: save the form in a spreadsheet program, or write the value"
    cells = ["survey sheet, row 2, cell C2", "survey sheet, row 2, cell D2", "choices sheet, row 3, cell C3"]
    lines = [f"{place}: {why}" for place in [*cells, "settings sheet, row 1, cell B1"]]
    assert run(path).stderr == "Error: form.xlsx: " + "\n".join(lines) + "\n"


def test_an_untitled_worksheet_or_a_csv_sample_is_no_form(tmp_path):
    workbook = openpyxl.Workbook()
    workbook.active.append(["age", "ill"])
    workbook.active.append([30, "yes"])
    workbook.save(tmp_path / "sample.xlsx")
    assert "sample.xlsx: not a valid XLSForm: " in run(tmp_path / "sample.xlsx").stderr


@pytest.mark.parametrize("name", ["form.xlsx", "form.xls", "form.XLSX"])
@pytest.mark.parametrize(
    "content", [b"", b"not a workbook", b"PK\x03\x04damaged", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" * 64]
)
def test_a_damaged_file_is_refused_without_a_traceback(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    result = run(tmp_path / name)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {name}: ")
    assert result.stderr.count("\n") == 1


def test_every_truncation_of_a_workbook_is_refused(tmp_path):
    data = write_workbook(HEADER + GOOD + CHOICES, tmp_path / "whole.xlsx").read_bytes()
    for size in range(0, len(data) - 1, 211):
        (tmp_path / "form.xlsx").write_bytes(data[:size])
        result = run(tmp_path / "form.xlsx")
        assert result.exit_code == 1
        assert "as .xlsx" in result.stderr


@pytest.mark.parametrize("name", ["form.xlsx", "form.xls", "form.xlsm"])
def test_a_file_of_another_type_is_named_as_such(tmp_path, name):
    (tmp_path / name).write_text("type,name,label")
    assert "is not an Excel workbook of this type: save it as .xlsx" in run(tmp_path / name).stderr


@pytest.mark.slow
def test_a_workbook_with_millions_of_empty_cells_is_refused(tmp_path):
    path = write_workbook(HEADER + GOOD + CHOICES, tmp_path / "form.xlsx")
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    wide = b"".join(b'<row r="%d"><c r="XFD%d"/></row>' % (row, row) for row in range(9, 9000))
    files[sheet] = files[sheet].replace(b"</sheetData>", wide + b"</sheetData>")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    assert "has too large worksheets: delete empty rows and columns" in run(path).stderr


def test_a_worksheet_that_claims_all_rows_and_columns_is_read_to_its_last_cell(tmp_path):
    path = write_workbook(HEADER + GOOD + CHOICES, tmp_path / "form.xlsx")
    openpyxl.load_workbook(path).save(path)
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    changed = re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="A1:XFD1048576"', files[sheet])
    assert changed != files[sheet]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (files | {sheet: changed}).items():
            archive.writestr(name, data)
    assert run(path).exit_code == 0


@pytest.mark.slow
def test_large_files_are_refused_before_they_are_read(tmp_path, monkeypatch):
    path = write_workbook(HEADER + GOOD + CHOICES, tmp_path / "form.xlsx")
    monkeypatch.setattr(form_module, "load_workbook", lambda *_, **__: pytest.fail("the file is read"))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet9.xml", bytes(50_000_001))
    assert "has too large worksheets: delete empty rows" in run(path).stderr
    with path.open("ab") as file:
        file.truncate(10_000_001)
    assert "is larger than 10 MB: delete images" in run(path).stderr


@pytest.mark.slow
def test_a_failed_conversion_writes_no_file(tmp_path):
    fail(rows("text | t | T |"), tmp_path, "-o", str(tmp_path / "survey.toml"))
    assert not (tmp_path / "survey.toml").exists()


YES_NO = [["list_name", "name", "label"], ["yn", "yes", "Yes"], ["yn", "no", "No"]]
QUESTION = ["select_one yn", "good", "Good?"]
LARGE = {
    "many columns": ([["type", "name", "label", *map(str, range(1_000))], QUESTION], YES_NO),
    "one long text in many cells": (
        [["type", "name", "label"], *(["note", f"n{row}", "x" * 30_000] for row in range(70))],
        YES_NO,
    ),
    "many cells": (
        [["type", "name", "label"], QUESTION],
        [*YES_NO, *(["yn", str(row), *[None] * 399, row] for row in range(500))],
    ),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("sheet", ["survey", "External_Choices"])
@pytest.mark.slow
def test_a_small_file_of_many_or_long_cells_is_refused_before_it_is_converted(
    tmp_path, monkeypatch, name, sheet
):
    workbook, path = openpyxl.Workbook(write_only=True), tmp_path / "form.xlsx"
    good = [["type", "name", "label"], QUESTION], YES_NO
    sheets = dict(zip(("survey", "choices"), LARGE[name] if sheet == "survey" else good, strict=True))
    if sheet != "survey":
        sheets[sheet] = max(LARGE[name], key=lambda rows: sum(map(len, rows)) + len(str(rows)))
    for title, rows in sheets.items():
        worksheet = workbook.create_sheet(title)
        for row in rows:
            worksheet.append(row)
    workbook.save(path)
    monkeypatch.setattr(form_module, "get_xlsform", lambda _: pytest.fail("the file is converted"))
    assert "has too large worksheets: delete empty rows and columns, long texts" in run(path).stderr


@pytest.mark.slow
def test_lists_that_many_questions_share_are_bounded(tmp_path):
    questions = [f"select_one many | q{number} | Q |" for number in range(210)]
    choices = "".join(f"| | many | c{number} | C |\n" for number in range(500))
    table = rows(*questions).replace("| settings |", f"{choices}| settings |")
    message = fail(table, tmp_path)
    assert "survey sheet, row 202: up to here, the questions have more than 200,000 choices" in message
