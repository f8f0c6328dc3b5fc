"""ldp-survey init --from form.xlsx: what a survey keeps of twenty forms."""

import tomllib

import pytest

from encoders.survey import read_survey
from ldp_design.authoring.xlsform.survey_file import convert_xlsform
from tests.ldp_design.authoring.xlsform.workbooks import FORMS, list_rows, write_workbook
from tests.support.commands import command


def describe(entry: dict) -> str:
    """Return the table of a feature as the column `expected` describes it."""
    kind = next(key for key in ("values", "choices", "range") if key in entry)
    words = [kind, str(entry["range"]) if kind == "range" else ""]
    if condition := entry.get("ask_if"):
        words.append(f"if {condition['feature']}={condition['value']}")
        assert entry["missing"] == "category"
    elif "missing" in entry:
        words.append("optional")
    return " ".join(filter(None, words))


@pytest.fixture(params=FORMS, ids=lambda form: form.stem)
def form(request):
    return request.param


def test_twenty_forms_are_tested():
    assert len(FORMS) == 20


@pytest.mark.slow
def test_every_question_becomes_a_feature_or_is_listed_with_its_row(form, tmp_path):
    text, notes = convert_xlsform(write_workbook(form.read_text("utf-8"), tmp_path / "form.xlsx"), None)
    features = tomllib.loads(text)["features"]
    for number, row in list_rows(form.read_text("utf-8")):
        expected = row.get("expected")
        name = row.get("name", row.get("tag", "audit"))
        listed = [note for note in notes if note.startswith(f'survey sheet, row {number}: "{name}" (')]
        if expected is None:
            assert row.get("type", "").startswith(("begin", "end")), row
        elif expected.startswith("- "):
            assert name not in features
            assert len(listed) == 1, (row, notes)
            assert " is left out: " in listed[0]
            assert expected.removeprefix("- ") in listed[0], row
        else:
            assert expected == describe(features.pop(name)), row
            assert not [note for note in listed if "left out" in note]
    assert not features


@pytest.mark.slow
def test_the_survey_compiles_and_its_comments_list_what_is_left_out(form, tmp_path):
    path = write_workbook(form.read_text("utf-8"), tmp_path / "form.xlsx")
    survey = tmp_path / "survey.toml"
    result = command("ldp-survey", "init", "--from", path, "-o", survey)
    text = survey.read_text("utf-8")
    plan = read_survey(text).compile()
    assert plan.questions
    comments = " ".join(line.removeprefix("# ") for line in text.split("\n[survey]")[0].splitlines())
    for note in result.stderr.splitlines():
        assert note in comments
    survey.write_text(text, "utf-8")
    command("ldp-survey", "check", survey)
