"""XLSForms as they are published: what a survey cannot have is left out, and the rest is converted."""

import tomllib
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from tests.ldp_design.authoring.xlsform.workbooks import write_workbook
from tests.support.commands import command

YES_NO = "| choices |\n| | list_name | name | label |\n| | yn | yes | Yes |\n| | yn | no | No |\n"


def survey(*rows: str) -> str:
    return "| survey |\n" + "".join(f"| | {row} |\n" for row in rows)


def convert(table: str | Path, tmp_path: Path, *languages: str) -> tuple[dict[str, Any], list[str]]:
    """Return the document of a survey that `check` accepts, and the lines about what is not kept."""
    path = write_workbook(table, tmp_path / "form.xlsx") if isinstance(table, str) else table
    options = [part for language in languages for part in ("--language", language)]
    result = command("ldp-survey", "init", "--from", str(path), *options, check=False)
    assert result.exit_code == 0, result.stderr
    draft = tmp_path / "survey.toml"
    draft.write_bytes(result.stdout_bytes)
    command("ldp-survey", "check", str(draft))
    return tomllib.loads(draft.read_text("utf-8")), result.stderr.splitlines()


def store_values(path: Path, values: dict[str, str]) -> None:
    """Write what a spreadsheet program computes beside the formulas of the first worksheet."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    sheet = files["xl/worksheets/sheet1.xml"].decode()
    for coordinate, stored in values.items():
        before, _, after = sheet.partition(f'<c r="{coordinate}"><f>')
        formula, _, rest = after.partition("</f><v />")
        kind, _, value = stored.partition(":")
        sheet = f'{before}<c r="{coordinate}" t="{kind}"><f>{formula}</f><v>{value}</v>{rest}'
    files["xl/worksheets/sheet1.xml"] = sheet.encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def test_a_formula_that_is_not_read_or_has_a_value_is_no_obstacle(tmp_path):
    table = survey(
        "type | name | label | required | hint | constraint_message | $kuid",
        "select_one yn | tired | x | x | x | x | x",
    )
    settings = "| settings |\n| | form_id | version |\n| | sleep | x |\n"
    path = write_workbook(table + YES_NO + settings, tmp_path / "form.xlsx")
    workbook = openpyxl.load_workbook(path)
    workbook["settings"]["B2"] = '=TEXT(NOW(), "yyyymmddhhmmss")'
    formulas = {"C2": '="Are you "&"tired?"', "D2": "=TRUE()", "E2": '=""', "F2": '="No"', "G2": "=ROW()"}
    for coordinate, formula in formulas.items():
        workbook["survey"][coordinate] = formula
    workbook.save(path)
    store_values(path, {"C2": "str:Are you tired?", "D2": "b:1", "E2": "str:"})
    document, _ = convert(path, tmp_path, "en")
    assert document["survey"]["id"] == "sleep"
    assert document["features"]["tired"] == {"values": ["yes", "no"]}
    assert document["texts"]["en"]["features"]["tired"]["title"] == "Are you tired?"


def test_questions_that_are_not_of_the_standard_are_left_out_and_listed(tmp_path):
    table = survey(
        "type | name | label | appearance | $autoname",
        "select_one yn | head | In the last week | label | ",
        "select_one yn | tea | Tea | list-nolabel | ",
        "select_one yn | secret | Secret | w1 hidden | ",
        "number | phone | Phone | | ",
        "begin_score | mood | Mood | | ",
        "score__row | sad | Sad | | ",
        "end_score | | | | ",
        "begin_kobomatrix | grid | Grid | | ",
        "select_one yn | cell | Cell | | ",
        "end_kobomatrix | | | | ",
        "begin_rank | order | Order | | ",
        "rank__level | first | First | | ",
        "end_rank | | | | ",
        "begin_group | meta | | | ",
        "calculate | x | | | ",
        "end_group | | | | ",
        "select_one yn | | Milk | | milk",
        "select_one yn | | Nameless | | ",
        "select_one nope | list | No list | | ",
        " | typeless | No type | | ",
    )
    document, notes = convert(table + YES_NO, tmp_path)
    assert list(document["features"]) == ["tea", "milk"]
    foreign = "its type is not one of the XLSForm standard"
    expected = {
        '2: "head" (select_one yn)': "it only shows the header of a grid",
        '4: "secret" (select_one yn)': "it is hidden",
        '5: "phone" (number)': foreign,
        '6: "mood" (begin_score)': foreign,
        '7: "sad" (score__row)': foreign,
        '9: "grid" (begin_kobomatrix)': foreign,
        '10: "cell" (select_one yn)': "it is in a group of a type that is not one of the XLSForm standard",
        '12: "order" (begin_rank)': foreign,
        '13: "first" (rank__level)': foreign,
        '16: "x" (calculate)': "it is computed",
        '19: "" (select_one yn)': "it has no name",
        '20: "list" (select_one nope)': "its list of choices is not in the choices sheet",
        '21: "typeless" ()': "its row has no type: write one into the column type",
    }
    left_out = [note for note in notes if "left out" in note]
    assert len(left_out) == len(expected)
    for note, (subject, reason) in zip(left_out, expected.items(), strict=True):
        assert note.startswith(f"survey sheet, row {subject} is left out: {reason}")


def test_questions_of_one_name_get_distinct_names(tmp_path):
    table = survey(
        "type | name | label | relevant",
        "select_one yn | ill | Are you ill? |",
        "begin_group | mother | | ",
        "select_one yn | ill | Mother ill? |",
        "select_one yn | bed | In bed? | ${ill} = 'yes'",
        "end_group | | |",
        "begin_group | father | | ",
        "select_one yn | ill | Father ill? |",
        "select_one yn | ill | Really? |",
        "end_group | | |",
        "select_one yn | caf\u00e9 | One |",
        "select_one yn | cafe\u0301 | Two |",
        "text | bed | Which bed? |",
    )
    document, notes = convert(table + YES_NO, tmp_path)
    names = ["ill", "mother_ill", "bed", "father_ill", "father_ill_2", "caf\u00e9", "caf\u00e9_2"]
    assert list(document["features"]) == names
    assert document["features"]["bed"]["ask_if"] == {"feature": "mother_ill", "value": "yes"}
    why = "because other questions have its name"
    assert f'survey sheet, row 4: "ill" (select_one yn) is named "mother_ill", {why}' in notes
    assert f'survey sheet, row 9: "ill" (select_one yn) is named "father_ill_2", {why}' in notes


DUPLICATES = (
    "| choices |\n| | list_name | name | label |\n| | a | n | North |\n| | a | n | East |\n| | a | s | S |\n"
)


def test_choices_of_one_name_are_one_value_if_the_form_allows_them(tmp_path):
    table = survey("type | name | label", "select_one a | area | Area") + DUPLICATES
    settings = "| settings |\n| | allow_choice_duplicates |\n| | yes |\n"
    document, notes = convert(table + settings, tmp_path, "en")
    assert document["features"]["area"]["values"] == ["n", "s"]
    assert document["texts"]["en"]["features"]["area"]["values"] == {"n": "North", "s": "S"}
    assert any(
        note.endswith('is kept with the first of the choices that have one name: "n"') for note in notes
    )


def test_choices_of_one_text_are_distinguished_by_their_names(tmp_path):
    table = survey(
        "type | name | label::English (en) | label::Français (fr)", "select_one j | job | Job | Métier"
    )
    choices = """
| choices |
| | list_name | name | label::English (en) | label::Français (fr) |
| | j | clerk | Clerk | Employé |
| | j | worker | Worker | Employé |
"""
    document, notes = convert(table + choices, tmp_path)
    texts = document["texts"]
    assert texts["en"]["features"]["job"]["values"] == {"clerk": "Clerk", "worker": "Worker"}
    assert texts["fr"]["features"]["job"]["values"] == {"clerk": "Employé", "worker": "Employé (worker)"}
    assert any('two choices with one text in "Français (fr)"' in note for note in notes)


def test_texts_that_a_survey_cannot_have_are_comments_and_listed(tmp_path):
    table = survey(
        "type | name | label | hint",
        "text | child | Name of the child |",
        "select_one yn | ill | Is ${child} ill? | Now",
        f"select_one yn | long | {'x' * 301} |",
        "select_multiple p | place | Where? |",
        "select_multiple bad | semicolon | Which? |",
    )
    choices = (
        YES_NO + "| | p | in | Here |\n| | p | out | as ${ill} |\n| | bad | x;y | X |\n| | bad | z | Z |\n"
    )
    document, notes = convert(table + choices, tmp_path, "en")
    texts = document["texts"]["en"]["features"]
    assert texts["ill"] == {"help": "Now", "values": {"yes": "Yes", "no": "No"}}
    assert texts["place"] == {"title": "Where?", "values": {"in": "Here"}}
    assert "title" not in texts["long"]
    assert "semicolon" not in document["features"]
    starts = [
        'survey sheet, row 6: "semicolon" (select_multiple bad) is left out: features.semicolon.choices: ',
        "survey sheet, row 3: texts.en.features.ill.title is a comment: it inserts another answer",
        "survey sheet, row 5: texts.en.features.place.values.out is a comment: it inserts another answer",
        "survey sheet, row 4: texts.en.features.long.title is a comment: has 301 characters",
    ]
    for start in starts:
        assert [note for note in notes if note.startswith(start)], start
    draft = (tmp_path / "survey.toml").read_text("utf-8")
    assert '\n# title = "Is ${child} ill?"\n' in draft


PLAIN = {
    '<span style="color:red">**Are you tired?**</span><br/>Today &amp; now': "Are you tired? Today & now",
    "_Are_ *you* __tired__ [today](https://a.example/b)?": "Are you tired today?",
    "## Are you\\ntired?": "Are you tired?",
    "\u202aAre you tired?\u202c\u200b": "Are you tired?",
    "a < b and c > d, snake_case_name, 2 * 3 * 4": "a < b and c > d, snake_case_name, 2 * 3 * 4",
}


@pytest.mark.parametrize("label", PLAIN)
def test_html_markdown_and_unprintable_characters_are_removed(label, tmp_path):
    path = write_workbook(
        survey("type | name | label", "select_one yn | q | x") + YES_NO, tmp_path / "f.xlsx"
    )
    workbook = openpyxl.load_workbook(path)
    workbook["survey"]["C2"] = label.replace("\\n", "\n")
    workbook.save(path)
    document, _ = convert(path, tmp_path, "en")
    assert document["texts"]["en"]["features"]["q"]["title"] == PLAIN[label]


LANGUAGES = [
    ("label", "hint::Français", "", ["en", "Français=fr"], {"en": "A", "fr": None}),
    ("label::English", "label::Français", "Français", ["fr", "English=en"], {"fr": "B", "en": "A"}),
    ("label::English", "label::Français (fr)", "", ["en"], {"en": "A", "fr": "B"}),
    ("label::English", "label::Français (fr)", "Français (fr)", ["en"], {"fr": "B", "en": "A"}),
    ("label::Kiswahili (sw)", "label", "", ["en"], {"en": "B", "sw": "A"}),
]


@pytest.mark.parametrize(("first", "second", "default", "options", "titles"), LANGUAGES)
def test_languages_without_a_tag_get_the_tags_of_the_option(
    first, second, default, options, titles, tmp_path
):
    table = survey(f"type | name | {first} | {second}", "select_one yn | q | A | B") + YES_NO.replace(
        "label", "label::" + first.partition("::")[2] if "::" in first else "label"
    )
    settings = f"| settings |\n| | form_title | default_language |\n| | Sleep | {default} |\n"
    document, notes = convert(table + settings, tmp_path, *options)
    found = {tag: texts["features"]["q"].get("title") for tag, texts in document["texts"].items()}
    assert found == titles
    assert list(found) == list(titles)
    assert not [note for note in notes if "has no tag" in note]


def test_without_the_option_the_author_is_told_which_to_add(tmp_path):
    table = survey("type | name | label | label::Lingua franca", "select_one yn | q | A | B")
    _, notes = convert(table + YES_NO, tmp_path)
    assert "its texts are comments: add --language en to the command" in notes[0]
    assert "add --language 'Lingua franca=en' to the command" in notes[1]


@pytest.mark.parametrize("option", ["english", "Deutsch=de", "=", "en)", "(en"])
def test_a_tag_or_a_language_that_does_not_exist_is_refused(option, tmp_path):
    path = write_workbook(
        survey("type | name | label", "select_one yn | q | Q") + YES_NO, tmp_path / "form.xlsx"
    )
    result = command("ldp-survey", "init", "--from", str(path), "--language", option, check=False)
    assert result.exit_code == 1
    assert f'form.xlsx: --language: "{option}" is not a tag, such as en' in result.stderr
    assert 'languages of the form: "default"' in result.stderr


def test_the_option_needs_a_form():
    result = command("ldp-survey", "init", "--language", "en", check=False)
    assert result.exit_code == 2
    assert "--language needs --from with an XLSForm" in result.stderr


@pytest.mark.parametrize("settings", ["", "| settings |\n| | form_title | version |\n"])
def test_an_empty_settings_sheet_is_read(settings, tmp_path):
    path = write_workbook(
        survey("type | name | label", "select_one yn | q | Q") + YES_NO + settings, tmp_path / "f.xlsx"
    )
    workbook = openpyxl.load_workbook(path)
    if not settings:
        workbook.create_sheet("settings")
        workbook.save(path)
    document, _ = convert(path, tmp_path)
    assert document["survey"]["id"] == "f"


def test_booleans_numbers_and_codes_are_values(tmp_path):
    workbook = openpyxl.Workbook()
    sheet, choices = workbook.active, workbook.create_sheet("choices")
    sheet.title = "survey"
    for row in [
        ["type", "name", "label", "required", "constraint", "parameters"],
        ["select_one q", "q", "Agree?", True],
        ["select_one n", "n", "Rooms?", "TRUE"],
        ["integer", "age", "Age", "yes", "(. >= 0 and . <= 110) or . = 999"],
        ["range", "pain", "Pain", "yes", None, "start=10 end=0 step=1"],
        ["range", "heat", "Heat", "yes", None, "start=35.5; end=42.0"],
    ]:
        sheet.append(row)
    for row in [
        ["list_name", "name", "label"],
        ["q", True, "Yes"],
        ["q", False, "No"],
        ["n", 1, "One"],
        ["n", 2.0, "Two"],
        ["n", 0.5, "Half"],
        ["n", "03", "Three"],
    ]:
        choices.append(row)
    workbook.save(tmp_path / "form.xlsx")
    document, notes = convert(tmp_path / "form.xlsx", tmp_path)
    assert document["features"] == {
        "q": {"values": ["TRUE", "FALSE"]},
        "n": {"values": ["1", "2", "0.5", "03"]},
        "age": {"range": [0, 110], "missing": "category", "missing_codes": [999]},
        "pain": {"range": [0, 10]},
        "heat": {"range": [35.5, 42.0]},
    }
    assert any(
        "is kept with its range; answers of 999 count as missing (missing_codes)" in note for note in notes
    )
