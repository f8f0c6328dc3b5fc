"""Drafts of XLSForms with several conditions: the survey reader accepts what the conversion writes."""

import tomllib

import pytest

from ldp_design.authoring.xlsform.survey_file import convert_xlsform
from tests.ldp_design.authoring.xlsform.workbooks import write_workbook

FORM = """
| survey |
| | type | name | label::English (en) | relevant |
| | select_one yn | consent | May we ask you? | |
| | begin_group | all | All | ${{consent}} = 'yes' |
| | select_one yn | smokes | Do you smoke? | |
| | select_multiple s | symptoms | Symptoms | |
| | select_one yn | last | Last | {} |
| | end_group | | | |
| choices |
| | list_name | name | label::English (en) |
| | yn | yes | Yes |
| | yn | no | No |
| | s | fever | Fever |
| | s | cough | Cough |
"""
CONSENT = {"feature": "consent", "value": "yes"}
SMOKES = {"feature": "smokes", "value": "yes"}
FEVER = {"feature": "symptoms", "value": "fever"}
CASES = {
    "${smokes} = 'yes'": {"all": [CONSENT, SMOKES]},
    "${smokes} != 'yes'": {"all": [CONSENT, {"not": SMOKES}]},
    "${smokes} = 'yes' or selected(${symptoms}, 'fever')": {"any": [SMOKES, FEVER]},
    "not(${smokes} = 'yes' or selected(${symptoms}, 'fever'))": {
        "all": [CONSENT, {"not": SMOKES}, {"not": FEVER}]
    },
    "not(${smokes} = 'yes' and selected(${symptoms}, 'fever'))": {"any": [{"not": SMOKES}, {"not": FEVER}]},
}


@pytest.mark.parametrize("relevant", CASES)
def test_a_draft_with_several_conditions_compiles(relevant, tmp_path):
    text, notes = convert_xlsform(write_workbook(FORM.format(relevant), tmp_path / "form.xlsx"), None)
    features = tomllib.loads(text)["features"]
    assert notes == []
    assert features["smokes"]["ask_if"] == CONSENT
    assert features["last"]["ask_if"] == CASES[relevant]


def test_a_draft_with_one_negated_condition_compiles(tmp_path):
    table = FORM.format("").replace("${consent} = 'yes'", "not(${consent} = 'no')").replace("{{", "{")
    text, notes = convert_xlsform(write_workbook(table, tmp_path / "form.xlsx"), None)
    assert notes == []
    negated = {"not": {"feature": "consent", "value": "no"}}
    assert {name: entry.get("ask_if") for name, entry in tomllib.loads(text)["features"].items()} == {
        "consent": None,
        "smokes": negated,
        "symptoms": negated,
        "last": negated,
    }
