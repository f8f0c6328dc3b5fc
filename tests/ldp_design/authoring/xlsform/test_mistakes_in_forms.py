"""Mistakes in a form that cost one question, choice or column: a line names each, the rest is kept."""

import tomllib

import openpyxl
import pytest

from ldp_design.authoring.draft import DraftError
from ldp_design.authoring.xlsform.survey_file import convert_xlsform
from tests.ldp_design.authoring.xlsform.workbooks import write_workbook

CHOICES = """
| choices |
| | list_name | name | label |
| | yn | yes | Yes |
| | yn | no | No |
"""
HEADER = "| survey |\n| | type | name | label | required | relevant | parameters | read_only |\n"


def convert(rows, tmp_path, choices="", label=None):
    """Return the features of the survey, and the notes without those about languages."""
    table = HEADER + "".join(f"| | {row} |\n" for row in rows) + CHOICES + choices
    text, notes = convert_xlsform(write_workbook(table, tmp_path / "form.xlsx"), label)
    return tomllib.loads(text)["features"], [note for note in notes if "has no tag" not in note]


def test_only_a_true_cell_of_read_only_leaves_a_question_out(tmp_path):
    rows = [
        f"select_one yn | q{cell} | Q | | | | {cell} "
        for cell in ("FALSE", "No", "False", "no", "TRUE", "Yes", "false()")
    ]
    assert list(convert(rows, tmp_path)[0]) == ["qFALSE", "qNo", "qFalse", "qno", "qfalse()"]


def test_the_followers_of_a_bad_question_are_left_out_with_it(tmp_path):
    chain = [f"select_one yn | q{n} | Q | | ${{q{n - 1}}} = 'yes'" for n in range(2, 20)]
    rows = ["select_multiple bad | q0 | Q", "select_one yn | q1 | Q | | selected(${q0}, 'z')", *chain]
    features, notes = convert(
        [*rows, "select_one yn | last | L"], tmp_path, "| | bad | x;y | X |\n| | bad | z | Z |\n"
    )
    assert list(features) == ["last"]
    assert len(notes) == 20
    assert all("refers to a question that" in note for note in notes[1:])


@pytest.mark.parametrize("first", [True, False])
def test_a_question_with_the_name_of_a_choice_is_renamed(tmp_path, first):
    rows = ["select_one yn | q: yes | Q", "select_multiple yn | q | Q"]
    features, notes = convert(rows if first else rows[::-1], tmp_path)
    assert set(features) == {"q: yes_2", "q"}
    why = 'is named "q: yes_2", because other questions have its name'
    assert notes == [f'survey sheet, row {3 - first}: "q: yes" (select_one yn) {why}']


def test_names_that_look_alike_are_told_apart(tmp_path):
    features, notes = convert(["select_one yn | ❤\ufe0f | A", "select_one yn | ❤ | B"], tmp_path)
    assert len(features) == 2
    assert "survey sheet, row 3: " in notes[0]
    assert "because other questions have its name" in notes[0]


@pytest.mark.slow
def test_tables_with_the_label_that_are_too_large_are_left_out(tmp_path):
    large = [f"select_one v | big{number} | Q | yes" for number in range(12)]
    many = "".join(f"| | v | v{number} | V{number} |\n" for number in range(300))
    rows = ["select_one v | lab | Q | yes", *large, "select_one yn | q | Q | yes"]
    features, notes = convert(rows, tmp_path, many, "lab")
    assert list(features) == ["q"]
    assert len(notes) == 12
    assert notes[0].startswith(
        'survey sheet, row 3: "big0" (select_one v) is left out: features.big0: 300 val'
    )


@pytest.mark.slow
def test_too_many_texts_are_an_error_about_the_form(tmp_path):
    table = HEADER.replace("| label |", "| label::English (en) |") + "".join(
        f"| | select_one v | q{number} | Q |\n" for number in range(10)
    )
    table += CHOICES + "".join(f"| | v | v{number} | {'x' * 150}{number} |\n" for number in range(200))
    table = table.replace("| name | label |", "| name | label::English (en) |")
    with pytest.raises(DraftError) as caught:
        convert_xlsform(write_workbook(table, tmp_path / "form.xlsx"), None)
    why = "has more than 256 KiB of texts, or more than 100 languages: delete languages or questions"
    assert str(caught.value) == f"form.xlsx: {why}"


def test_a_choice_without_a_name_or_a_list_is_named(tmp_path):
    _, notes = convert(["select_one yn | q | Q"], tmp_path, "| | yn | | Maybe |\n| | | maybe | Maybe |\n")
    assert notes == ["choices sheet, row 4, 5: each choice needs a list_name and a name"]


def test_a_misspelt_column_is_named_and_columns_of_other_tools_are_not(tmp_path):
    misspelt = {"relevent": "relevant", "label:English(en)": "label::English(en)", "Lable::fr": "label::fr"}
    foreign = [
        "$kuid",
        "$xpath",
        "kobo--score-choices",
        "bind::odk:length",
        "body::accuracyThreshold",
        "note",
    ]
    foreign += [
        "instance::odk:tag",
        "media::image::fr",
        "required_message::fr",
        "Constraint Message",
        "account",
    ]
    foreign += [
        "guidance_hint::fr",
        "trigger",
        "big-image::fr",
        "repeat_count",
        "save_to",
        "default",
        "section",
    ]
    headers = ["type", "name", "label::Français (fr)", *misspelt, *foreign]
    cells = ["select_one yn", "q", *("x" for _ in headers[2:])]
    table = f"| survey |\n| | {' | '.join(headers)} |\n| | {' | '.join(cells)} |\n{CHOICES}"
    _, notes = convert_xlsform(write_workbook(table, tmp_path / "form.xlsx"), None)
    assert [note for note in notes if "is not read" in note] == [
        f'survey sheet, row 1: the column "{column}" is not read: write "{name}"'
        for column, name in misspelt.items()
    ]


def test_the_parameters_of_a_range_are_read_or_named(tmp_path):
    rows = [
        f"range | {name} | R | | | {parameters}"
        for name, parameters in {"a": "start=.5 end=3.", "b": "start=3 end=3", "c": "start=x end=3"}.items()
    ]
    features, notes = convert(rows, tmp_path)
    assert features["a"]["range"] == [0.5, 3]
    assert list(features) == ["a"]
    why = "is left out: its parameters do not give two different limits: write for example start=0 end=10"
    assert notes == [f'survey sheet, row {row}: "{name}" (range) {why}' for row, name in [(3, "b"), (4, "c")]]


def test_the_settings_may_follow_an_empty_row(tmp_path):
    path = write_workbook(HEADER + "| | select_one yn | q | Q |\n" + CHOICES, tmp_path / "form.xlsx")
    workbook = openpyxl.load_workbook(path)
    for row in (["form_id", "default_language"], [None], ["sleep", "English (en)"]):
        workbook["settings"].append(row) if "settings" in workbook else workbook.create_sheet(
            "settings"
        ).append(row)
    workbook.save(path)
    document = tomllib.loads(convert_xlsform(path, None)[0])
    assert document["survey"]["id"] == "sleep"
    assert list(document["texts"]) == ["en"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("write to <a@b.c>", "write to <a@b.c>"),
        ("x <b and y> c", "x <b and y> c"),
        ('<span style="color: red">a</span> <br/>b <a href=x>c</a>', "a b c"),
    ],
)
def test_only_html_tags_are_removed_from_texts(tmp_path, written, read):
    table = (
        HEADER.replace("label", "label::English (en)") + f"| | select_one yn | q | {written} |\n" + CHOICES
    )
    text, _ = convert_xlsform(write_workbook(table, tmp_path / "form.xlsx"), None)
    assert tomllib.loads(text)["texts"]["en"]["features"]["q"]["title"].split() == read.split()
