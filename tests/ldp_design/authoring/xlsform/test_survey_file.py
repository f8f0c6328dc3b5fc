"""The survey file of an XLSForm: languages, the label, texts, and notes about what is not kept."""

import re
import tomllib
from pathlib import Path

import openpyxl
import pytest

from encoders.survey import read_survey
from ldp_design.authoring.xlsform.survey_file import convert_xlsform
from tests.ldp_design.authoring.xlsform.workbooks import FORMS, write_workbook
from tests.support.commands import command

FORM = {form.stem: form.read_text("utf-8") for form in FORMS}
OLD_FORM = Path(__file__).parent / "old_form.xls"
"""A form in the format of Excel 97, written with xlwt."""


def convert(table: str, tmp_path: Path, label: str | None = None) -> tuple[str, list[str]]:
    return convert_xlsform(write_workbook(table, tmp_path / "form.xlsx"), label)


def test_the_whole_file(tmp_path, compare_with_golden):
    text, _ = convert(FORM["who_steps_tobacco"], tmp_path)
    compare_with_golden("who_steps_tobacco", text)


def test_texts_are_in_every_language_with_a_tag_and_the_default_language_is_first(tmp_path):
    texts = tomllib.loads(convert(FORM["osm_water_points"], tmp_path)[0])["texts"]
    assert list(texts) == ["sw", "en"]
    assert texts["sw"]["title"] == "Water points"
    assert texts["en"]["features"]["pump"] == {
        "title": "Kind of pump",
        "help": "As painted on it",
        "values": {"hand": "Hand pump", "solar": "Solar pump"},
    }
    assert "help" not in texts["sw"]["features"]["pump"]


def test_a_language_without_a_tag_is_a_comment_that_becomes_valid_with_a_tag(tmp_path):
    text, notes = convert(FORM["vaccination"], tmp_path)
    assert "texts" not in tomllib.loads(text)
    assert [note for note in notes if 'the language "French" has no tag' in note]
    assert [note for note in notes if 'the language "default" has no tag' in note]
    start = text.index("# [texts.French]")
    written = re.sub("^# ", "", text[start:], flags=re.MULTILINE).replace("texts.French", "texts.fr")
    texts = read_survey(text[:start] + written).texts
    assert texts.languages["fr"]["features"]["card"]["values"] == {"yes": "Oui", "no": "Non"}


def test_a_number_without_limits_is_a_comment_that_becomes_valid_with_limits(tmp_path):
    text, notes = convert(FORM["education_needs"], tmp_path)
    assert [
        note for note in notes if '"class_size" (integer) is left out: its constraint does not give' in note
    ]
    commented = "# [features.class_size]  # survey sheet, row 7\n# range = [LOW, HIGH]\n"
    completed = "[features.class_size]\nrange = [0, 90]\n"
    assert commented in text
    survey = read_survey(text.replace(commented, completed))
    assert "class_size" in [each.name for each in survey.features]


def test_the_label_is_a_question(tmp_path):
    document = tomllib.loads(convert(FORM["osm_buildings"], tmp_path, "use")[0])
    assert document["label"] == {"name": "use", "values": ["residential", "shop", "school"]}
    assert list(document["features"]) == ["levels", "walls", "water"]
    assert document["features"]["water"]["ask_if"] == {"feature": "use", "value": "residential"}
    assert document["texts"]["en"]["label"]["title"] == "What is it used for?"


@pytest.mark.slow
def test_columns_that_a_survey_does_not_keep_are_listed(tmp_path):
    notes = convert(FORM["malaria_indicator"], tmp_path)[1]
    assert 'survey sheet, row 2: "net" (select_one net) is kept without its default, media' in notes
    assert 'survey sheet, row 3: "symptoms" (select_multiple symptom) is kept without its constraint' in notes
    assert 'survey sheet, row 4: "nights" (integer) is kept without its default' in notes
    assert (
        'survey sheet, row 3: "moments" (select_multiple moment) is kept without its required'
        in convert(FORM["wash_practices"], tmp_path)[1]
    )
    assert 'row 6: "Id10077" (select_one yn_dk) is kept without its guidance_hint' in " ".join(
        convert(FORM["verbal_autopsy"], tmp_path)[1]
    )


def test_or_other_adds_a_value_and_its_text_is_left_out(tmp_path):
    text, notes = convert(FORM["unhcr_household"], tmp_path)
    assert tomllib.loads(text)["features"]["status"]["values"] == ["refugee", "idp", "other"]
    assert [
        each for each in notes if each.startswith('survey sheet, row 8: "status_other" (text) is left out')
    ]


def test_a_type_in_a_column_with_an_old_name_is_shown(tmp_path):
    notes = convert(FORM["legacy_types"], tmp_path)[1]
    assert [note for note in notes if '"where" (add location prompt) is left out' in note]


def test_notes_are_in_the_order_of_rows_and_count_empty_rows(tmp_path):
    table = FORM["osm_buildings"]
    path = write_workbook(table, tmp_path / "form.xlsx")
    workbook = openpyxl.load_workbook(path)
    workbook["survey"].insert_rows(3, 2)
    workbook.save(path)
    notes = convert_xlsform(path, None)[1]
    rows = [int(note.split("row ")[1].split(":")[0]) for note in notes]
    assert rows == [2, 5, 6, 7, 8, 9, 13, 15]


def test_the_id_and_the_title_are_of_the_form(tmp_path):
    document = tomllib.loads(convert(FORM["market_prices"], tmp_path)[0])
    assert document["survey"]["id"] == "pre-os-2026"
    assert document["texts"]["en"]["title"] == "Preços | prices"
    assert document["texts"]["pt-BR"]["features"]["safra.nova"]["title"] == "Safra nova?"


def test_line_breaks_in_labels_become_spaces(tmp_path):
    path = write_workbook(FORM["osm_buildings"], tmp_path / "form.xlsx")
    workbook = openpyxl.load_workbook(path)
    workbook["survey"]["D8"] = "What is it\nused   for?"
    workbook.save(path)
    texts = tomllib.loads(convert_xlsform(path, None)[0])["texts"]
    assert texts["en"]["features"]["use"]["title"] == "What is it used for?"


def test_a_form_of_excel_97_is_read():
    result = command("ldp-survey", "init", "--from", str(OLD_FORM), check=False)
    assert result.exit_code == 0, result.stderr
    assert (
        'survey sheet, row 2: "gps" (geopoint) is left out: a location identifies a person\n' in result.stderr
    )
    assert tomllib.loads(result.stdout)["features"]["fever"]["values"] == ["1", "2"]


def test_limits_of_whole_numbers_are_whole_and_a_list_that_is_searched_is_left_out(tmp_path):
    table = """
| survey |
| | type | name | label | required | constraint | appearance |
| | integer | inside | A | yes | . > 0.5 and . < 50.5 | |
| | integer | strict | A | yes | . > 0 and . < 50 | |
| | integer | closed | A | yes | . >= 1.5 and . <= 50 | |
| | decimal | share | A | yes | . >= 0.5 and . <= 50.5 | |
| | select_one yn | town | A | yes | | minimal search('towns') |
| choices |
| | list_name | name | label |
| | yn | name_key | name_col |
| | yn | other | Other |
"""
    text, notes = convert(table, tmp_path)
    features = tomllib.loads(text)["features"]
    ranges = {name: entry["range"] for name, entry in features.items()}
    assert ranges == {"inside": [1, 50], "strict": [1, 49], "closed": [2, 50], "share": [0.5, 50.5]}
    assert [note for note in notes if '"town" (select_one yn) is left out: its choices depend on' in note]


def test_the_english_other_of_a_translated_form_is_listed(tmp_path):
    table = """
| survey |
| | type | name | label::English (en) | label::Deutsch (de) | required |
| | select_one yn or_other | town | Town | Ort | yes |
| choices |
| | list_name | name | label::English (en) | label::Deutsch (de) |
| | yn | a | A | A |
| | yn | b | B | B |
"""
    _, notes = convert(table, tmp_path)
    assert [note for note in notes if 'has the English text "Other" in every language: translate it' in note]
