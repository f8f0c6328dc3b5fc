"""Drafts from exports of survey tools: header lines, identifiers, codes, spellings, and no rare text."""

import csv
import io
import tomllib

import pytest

from encoders.errors import SurveyError
from encoders.survey import read_survey
from ldp_aggregator.rows.table_input import TableError
from ldp_design.authoring.column_types import (
    LeftOut,
    find_choices,
    find_codes,
    find_unsuitable,
    infer_feature,
)
from ldp_design.authoring.draft import DraftError, draft_survey
from ldp_design.authoring.sample_row import read_sample
from tests.support.commands import command

ROWS = 40


def knows_missing_codes() -> bool:
    text = '[survey]\nid = "a"\nepsilon = 1\n[features.a]\nrange = [0, 9]\nbins = 2\nmissing_codes = [99]\n'
    try:
        read_survey(text).compile()
    except SurveyError:
        return False
    return True


needs_missing_codes = pytest.mark.skipif(not knows_missing_codes(), reason="surveys have no missing_codes")


@pytest.fixture
def draft(tmp_path):
    """Draft a survey from a header line and rows with the command, check it, and return it as parsed TOML."""

    def run(*records, multiline=False, lines="", label=None):
        text = io.StringIO()
        csv.writer(text).writerows(records)
        path, output = tmp_path / "sample.csv", tmp_path / "survey.toml"
        output.unlink(missing_ok=True)
        path.write_text(lines + text.getvalue(), "utf-8")
        options = ["--multiline"] * multiline + (["--label", label] if label else [])
        result = command("ldp-survey", "init", "--from", path, "-o", output, *options)
        command("ldp-survey", "check", output)
        document = tomllib.loads(output.read_text("utf-8"))
        return document["features"], output.read_text("utf-8"), result.stderr

    return run


def rows(*columns):
    """Return ROWS rows; each column is a list that repeats, or a function of the row's number."""
    return [
        [each(row) if callable(each) else each[row % len(each)] for each in columns] for row in range(ROWS)
    ]


YES_NO = ["yes", "no"]


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (lambda row: f"person{row}@example.org", "e-mail"),
        (lambda row: f"Person {row} <p{row}@example.org>", "e-mail"),
        (lambda row: f"192.0.2.{row}", "network addresses"),
        (lambda row: f"2001:db8::{row:x}", "network addresses"),
        (lambda row: f"fe80::{row:x}%eth0", "network addresses"),
        (lambda row: f"[2001:db8:0:0:0:0:0:{row:x}]:443", "network addresses"),
        (lambda row: f"02:00:5e:10:00:{row:02x}", "network addresses"),
        (lambda row: f"+49 170 55501{row:02d}", "telephone numbers"),
        (lambda row: f"2026-01-{row % 28 + 1:02d} 10:00:00", "dates or times"),
        (lambda row: f"2026-01-{row % 28 + 1:02d}T10:00:00.000Z", "dates or times"),
        (lambda row: f"2026/01/{row % 28 + 1} 9:10:00 am GMT+1", "dates or times"),
        (lambda row: f"{row % 28 + 1:02d}.03.19{row % 20 + 60}", "dates or times"),
        (lambda row: f"{row % 12 + 1}/{row % 28 + 1}/26 9:10", "dates or times"),
        (lambda row: f"Jan {row % 28 + 1}, 2026", "dates or times"),
        (lambda row: f"Mon, {row % 28 + 1} Feb 2026 10:00", "dates or times"),
        (lambda row: f"{row % 28 + 1}. Januar 2026", "dates or times"),
        (lambda row: f"199{row % 10}07{row % 28 + 1:02d}", "dates or times"),
        (lambda row: f"{row % 24}:{row % 60:02d}", "dates or times"),
        (lambda row: 1000 + row, "identifier"),
        (lambda row: 12_345_678_901 - 7 * row**2, "identifier"),
        (lambda row: f"R_{row:05d}", "a different text in most rows"),
        (lambda row: f"name {row if row % 5 else 0}", "a different text in most rows"),
        (lambda row: f"{60 + row % 30},{row % 10}", "decimal commas"),
        (lambda row: f"{1 + row},{100 + 7 * row}", "separators of thousands"),
        (lambda row: f"1.{row % 30 + 100}.000,50", "decimal commas"),
        (lambda row: f"{row % 30} %", "currencies or %"),
        (lambda row: f"${row % 30}.50", "currencies or %"),
        (lambda row: f"1 {100 + row % 30}", "separators of thousands"),
        (lambda row: f"EUR {row % 30}", "currencies"),
        (lambda row: f"1_{100 + row % 30}", "underscores"),
        (lambda row: f"0x{row % 30:X}", "hexadecimal"),
        (lambda row: "".join(chr(0x660 + int(digit)) for digit in str(row % 30)), "another script"),
        (lambda row: "".join(chr(0xFF10 + int(digit)) for digit in str(row % 30)), "another script"),
    ],
)
def test_identifiers_dates_and_formatted_numbers_are_left_out_with_the_reason(column, why):
    cells = [str(column(row)) for row in range(ROWS)]
    text = draft_survey({"a": cells, "b": YES_NO * (ROWS // 2)}, None, "sample")
    assert list(tomllib.loads(text)["features"]) == ["b"]
    (reason,) = [line for line in text.splitlines() if line.startswith('#   "a": ')]
    assert why in reason
    assert not any(cell in text for cell in cells if len(cell) > 4)


@pytest.mark.parametrize("name", ["id", "Case", "User ID", "ResponseId", "row_no", "LastName", "Latitude"])
def test_a_column_is_left_out_for_its_name(name):
    text = draft_survey({name: list(map(str, range(ROWS))), "b": YES_NO * (ROWS // 2)}, None, "sample")
    assert list(tomllib.loads(text)["features"]) == ["b"]


@pytest.mark.parametrize(
    "column",
    [
        ["18-25", "26-40"],
        ["1.5", "2.5"],
        ["1st", "2nd"],
        ["1-2 times", "3-4 times"],
        ["5:1", "x"],
        ["10", "20"],
    ],
)
def test_ordinary_answers_are_not_taken_for_dates_or_formatted_numbers(column):
    assert not find_unsuitable(column)
    assert infer_feature(column * 9)


def test_no_text_of_a_single_cell_is_written_or_printed(draft):
    secret = [
        "unique-a",
        "unique-b@example.org",
        "unique-c",
        "unique-d;x",
        "unique-e, x",
        "NA",
        "3.75",
        "77777",
    ]
    table = rows(*[["x", "y", "z"]] * 3, ["x;y", "y"], ["x, y", "x", "y"], ["x;y", "y"], [0.5, 1.5], [1, 2])
    for place, text in enumerate(secret):
        table[7 * place % ROWS] = [
            *table[7 * place % ROWS][:place],
            text,
            *table[7 * place % ROWS][place + 1 :],
        ]
    features, text, printed = draft(list("abcdefgh"), *table)
    assert {"a", "c", "d", "e", "f", "g"} <= features.keys()
    assert not [each for each in ("unique", "3.75", "77777", '"NA"') if each in text + printed]
    assert features["a"]["values"] == ["x", "y", "z", "other"]
    assert features["d"]["choices"] == ["x", "y"]
    assert features["g"]["range"] == [0.5, 4]


def test_the_label_has_no_value_of_a_single_cell(draft):
    table = rows(YES_NO, ["a", "b", "c"])
    table[3][0] = "unique"
    _, text, printed = draft(["ill", "b"], *table, label="ill")
    assert 'values = ["no", "yes", "other"]' in text
    assert "unique" not in text + printed


QUALTRICS = [
    ["StartDate", "IPAddress", "Progress", "ResponseId", "Q1", "Q2"],
    [
        "Start Date",
        "IP Address",
        "Progress",
        "Response ID",
        "How often do you ride?\nOne answer",
        "Your age?",
    ],
    [
        f'{{"ImportId":"{name}"}}'
        for name in ("startDate", "ipAddress", "progress", "_recordId", "QID1", "QID2")
    ],
]
ANSWERS = rows(
    lambda row: f"2026-01-01 10:00:{row}", lambda row: f"192.0.2.{row}", [100], lambda row: f"R_{row}",
    [1, 2, 3], [20, 33, 47, 50],
)  # fmt: skip


@pytest.mark.parametrize("lines", [2, 3])
def test_the_further_header_lines_of_qualtrics_are_no_rows(draft, lines):
    features, _, printed = draft(*QUALTRICS[:lines], *ANSWERS, multiline=True)
    assert features["Q1"]["values"] == [1, 2, 3]
    assert features["Q2"]["values"] == ["20", "33", "47", "50", "other"]
    assert list(features) == ["Q1", "Q2"]
    assert f"header lines below the first one: {lines - 1}" in printed


def test_a_row_that_repeats_names_is_a_row_if_others_do_too(draft):
    table = rows(["Tea", ""], ["Coffee", ""], [1, 2])
    features, _, printed = draft(["Tea", "Coffee", "n"], *table)
    assert features["Tea"] == {"values": ["Tea"], "missing": "category"}
    assert not printed


def test_the_columns_of_a_question_of_surveymonkey_are_one_feature(draft):
    header = [
        ["Respondent ID", "Drinks?", "", "", "", "How much?", "", "Your age"],
        ["", "Tea; hot", "Coffee", "None", "Other (please specify)", "At home", "At work", "Response"],
    ]
    table = rows(
        lambda row: 1000 + row, ["Tea; hot", ""], ["Coffee", "Coffee", ""], [""],
        lambda row: f"x{row}" * (row < 3), ["much", "little"], ["little", "much", "much"], ["18-29", "30-44"],
    )  # fmt: skip
    features, text, printed = draft(*header, *table)
    assert features == {
        "Drinks?": {"choices": ["Coffee", "None", "Tea, hot"], "missing": "category"},
        "How much?: At home": {"values": ["little", "much"]},
        "How much?: At work": {"values": ["little", "much"]},
        "Your age": {"values": ["18-29", "30-44"]},
    }
    assert '"Drinks?: Other (please specify)": ' in text
    assert "header lines below the first one: 1" in printed


def test_columns_without_names_are_ordinary_without_a_second_header_line(draft):
    features, _, printed = draft(["a", "", ""], *rows(YES_NO, ["x", "y"], ["x", "y"]))
    assert (list(features), printed) == (["a"], "")


def test_the_separator_line_of_excel_is_skipped(draft, tmp_path):
    features, _, _ = draft(["a", "b"], *rows(YES_NO, [1, 2]), lines="sep=,\n")
    assert list(features) == ["a", "b"]
    path = tmp_path / "semicolons.csv"
    path.write_text("sep=;\na;b\n1;2\n")
    with pytest.raises(TableError, match="separated by ';'; save it with commas"):
        read_sample(path)


def test_long_repeated_and_broken_names_become_usable(draft):
    long = "How often did you travel, " * 12
    header = [long + "by bus?", long + "by car?", "Do you own\na bicycle?", "age", "age"]
    features, _, printed = draft(header, *rows(*[YES_NO] * 5), multiline=True)
    first, second, *others = features
    assert second == f"{first} (2)"
    assert others == ["Do you own a bicycle?", "age", "age (5)"]
    assert len(first) <= 100
    assert printed.count("a column with a longer or repeated name") == 4


@pytest.mark.parametrize("footer", ["Total: 60 rows", "Grand total", "n = 60", "Source: us", "Mean"])
def test_a_total_below_the_rows_is_left_out(draft, footer):
    features, _, printed = draft(["age", "b"], *rows([20, 30, 40], YES_NO), [footer, ""])
    assert features["age"]["values"] == ["20", "30", "40", "other"]
    assert f"row {ROWS + 1}, the last one, seems to be a total" in printed
    assert footer not in printed


@pytest.mark.slow
def test_many_columns_are_drafted():
    columns = {f"V{number}": ["1", "2", "3", "2", "1", "3"] * 5 for number in range(1200)}
    assert len(read_survey(draft_survey(columns, None, "wide")).compile().features) == 1200


@pytest.mark.parametrize("word", ["NA", "N/A", "n/a", "null", ".", "-", "", " "])
def test_words_for_a_missing_answer_are_no_choices_and_no_numbers(draft, word):
    table = rows(["a;b", "b", word, "a"], [*range(20, 35), word], [1, 2, word])
    features, text, _ = draft(["several", "number", "code"], *table)
    assert features["several"] == {"choices": ["a", "b"], "missing": "category"}
    assert features["number"]["range"] == [20, 34]
    assert features["code"] == {"values": [1, 2], "missing": "category"}
    assert text.count(f'("{word}") mean no answer: empty them') == (3 if word.strip() else 0)


@pytest.mark.parametrize(
    ("column", "choices"),
    [
        (["Bus", "Car", "Bus, Car"], ["Bus", "Car"]),
        (["Bus", "Train, tram", "Bus, Train, tram", "Car", "Car, Train, tram"], []),
        (["bus", "car", "bus car", "tram car", "tram"], ["bus", "car", "tram"]),
        (["1,3", "1", "3", "2,3", "2"], ["1", "2", "3"]),
        (["very good", "good", "bad", "very bad"], []),
        (["strongly agree", "agree", "disagree", "strongly disagree"], []),
        (["Berlin, Germany", "Bonn, Germany", "Paris, France"], []),
        (["a;b", "a", "NA"], ["a", "b"]),
    ],
)
def test_joined_answers_become_choices_where_they_can_be_split_safely(column, choices):
    assert find_choices(dict.fromkeys(column, 2)) == choices


def test_joined_answers_that_cannot_be_split_get_a_hint():
    entries = infer_feature(["Bus", "Train, tram", "Bus, Train, tram", "Car, Bus"] * 3)
    assert any('joined by commas, separate them by ";"' in line for line in entries)
    with pytest.raises(LeftOut, match='joined by commas, separate them by ";"'):
        infer_feature([f"Bus, a{row}" for row in range(60)])


@pytest.mark.parametrize(
    ("column", "hint"),
    [
        (["Yes", "yes", "YES ", "no"], '"YES ", "Yes", "yes": spellings differ in case or blanks only'),
        (["North", " North", "South"], '" North", "North": spellings differ'),
        (["1. Agree", "2. Disagree", ".d: Do not know"], "codes of statistical software"),
        (["(1) Agree", "(2) Disagree"], "codes of statistical software"),
        (["-1. Inapplicable", "1 = Agree", "2 - Disagree"], "codes of statistical software"),
        (["yes", "NA"], '"NA": if it means "no answer"'),
        (["m", "f", "-99"], '"-99": numbers among texts: if they are codes for "no answer"'),
    ],
)
def test_odd_spellings_get_a_hint(column, hint):
    assert any(hint in line for line in infer_feature(column * 3))


@pytest.mark.parametrize(
    ("numbers", "codes", "doubtful"),
    [
        ([18, 25, 70, 999, -99], [-99, 999], []),
        ([1, 2, 3, 4, 5, 99], [99], []),
        ([1, 2, 8, 9], [], [8, 9]),
        ([1, 2, 3, 4, 9], [9], []),
        ([1, 2, 3, 4, 5, 9], [], [9]),
        ([1, 2, 3, 4, 5, -9, -8], [-9, -8], []),
        ([*range(11), -99, 99], [-99, 99], []),
        ([*range(18, 91), 99], [], [99]),
        ([*range(18, 91), 8888], [8888], []),
        ([*range(1, 11)], [], []),
        ([*range(1, 10)], [], []),
        ([*range(60, 100)], [], []),
        ([0, 1, 2, 97, 98, 99], [97, 98, 99], []),
        ([0, 1, -1], [], [-1]),
        ([0.5, 1.5, 99], [99], []),
        ([100, 90_000, -99], [], [-99]),
        ([1, 99], [], []),
    ],
)
def test_codes_lie_apart_from_all_other_numbers(numbers, codes, doubtful):
    assert find_codes(dict.fromkeys(map(float, numbers), 10)) == (codes, doubtful)


def test_a_column_of_codes_alone_is_left_out():
    for codes in (["-99", "999"], ["999"], ["-9", ""]):
        with pytest.raises(LeftOut, match="only codes for missing answers, such as -99 or 999"):
            infer_feature(codes * 20)
    assert infer_feature(["8", "9"] * 20)


def test_a_number_in_fewer_than_ten_cells_is_no_code_and_is_not_written():
    cells = [*map(str, [*range(20, 61)] * 3), *["999"] * 9]
    entries = infer_feature(cells)
    assert "range = [20, 60]" in entries
    assert "# 9 cells are far from all others: if they mean no answer, list them in missing_codes" in entries
    assert "999" not in "".join(entries)
    assert "missing_codes = [999]" in infer_feature([*cells, "999"])


@needs_missing_codes
def test_codes_are_drafted_and_accepted(draft):
    table = rows([18, 25, 70, -99], [1, 2, 3, 99], [1, 2, 8, 9])
    features, text, _ = draft(["age", "rooms", "smokes"], *table)
    assert features["age"]["missing_codes"] == [-99]
    assert features["rooms"] == {"values": [1, 2, 3], "missing": "category", "missing_codes": [99]}
    assert features["smokes"] == {"values": ["1", "2", "8", "9", "other"]}
    assert (
        "# if these mean no answer, take them out of the values or the range, and write missing_codes ="
        in text
    )


def test_a_survey_that_cannot_be_compiled_is_no_draft():
    with pytest.raises(DraftError, match="leave out or shorten these columns of the sample"):
        draft_survey({"a" * 150: [f"{'b' * 60};{'c' * 60}", "b" * 60] * 2}, None, "sample")
