"""Commands with a central survey: what works, and the one sentence that names the right command."""

import json
from pathlib import Path

import pytest
from click.testing import Result

import ldp_client
from encoders.errors import SurveyError
from encoders.survey import read_survey
from encoders.survey.any_survey import SILO_PLANS, read_any_survey
from encoders.survey.compiled_plan import CENTRAL_REFUSAL
from ldp_aggregator import load_model
from tests.support.central_surveys import make_csv, survey_text
from tests.support.commands import command
from tests.support.mistakes import list_mistakes, refuse

LOCAL = survey_text()
CENTRAL = LOCAL.replace("epsilon = 1.0", 'kind = "central"')


@pytest.fixture
def survey(tmp_path) -> Path:
    (tmp_path / "rows.csv").write_text(make_csv(400))
    path = tmp_path / "tea.toml"
    path.write_text(CENTRAL)
    return path


def run(name: str, survey: Path, *words: str, **environment: str) -> Result:
    folder = str(survey.parent)
    named = [word.replace("SURVEY", str(survey)).replace("FOLDER", folder) for word in words]
    return command(name, *named, check=False, **environment)


REFUSING = {
    "compile": ("ldp-survey", ["compile", "SURVEY", "-o", "FOLDER/plan.json"]),
    "sign": ("ldp-survey", ["sign", "SURVEY", "--key", "FOLDER/rows.csv"]),
    "size": ("ldp-survey", ["size", "SURVEY"]),
    "preview": ("ldp-survey", ["preview", "SURVEY"]),
    "dossier": ("ldp-survey", ["dossier", "SURVEY", "-o", "FOLDER/page.html"]),
    "project": ("ldp-survey", ["project", "SURVEY", "--from", "FOLDER/rows.csv"]),
    "simulate": ("ldp-simulate", ["SURVEY", "FOLDER/rows.csv"]),
    "serve": ("ldp-collector", ["serve", "SURVEY", "--store", "sqlite:///FOLDER/ldp.db"]),
    "audit": ("ldp-audit", ["SURVEY", "--trials", "1000"]),
    "audit silo": ("ldp-audit", ["silo", "SURVEY"]),
}


@pytest.mark.parametrize("name", REFUSING)
def test_other_commands_name_the_command_that_trains(name, survey):
    program, words = REFUSING[name]
    result = run(program, survey, *words, LDP_OPERATOR_TOKEN="0123456789abcdef")
    assert result.exit_code != 0
    assert isinstance(result.exception, SystemExit)
    assert " ".join(result.output.split()).count(CENTRAL_REFUSAL) == 1
    assert "survey.kind" in result.output
    assert sorted(each.name for each in survey.parent.iterdir()) == ["rows.csv", "tea.toml"]


def test_no_plan_for_devices_is_made_of_it(survey):
    with pytest.raises(SurveyError, match="ldp-central train"):
        read_any_survey(CENTRAL).compile()
    assert "ldp-central train" in str(refuse(CENTRAL, read_survey))
    for load in (ldp_client.load_plan, SILO_PLANS.load):
        with pytest.raises(SurveyError, match="ldp-central train"):
            load(survey)


@pytest.mark.parametrize("kind", ['"hospital"', '["central"]', "1", "true"])
def test_an_unknown_kind_is_a_mistake_with_its_line(kind):
    for read in (read_survey, read_any_survey):
        with pytest.raises(SurveyError) as refusal:
            read(CENTRAL.replace('"central"', kind))
        assert ("survey.kind", 4) in [(each.field, each.line) for each in refusal.value.problems]
        assert '"local" (the default), "silo" or "central"' in str(refusal.value)


def test_a_survey_of_people_may_state_its_kind():
    stated = LOCAL.replace("epsilon", 'kind = "local"\nepsilon')
    assert read_survey(stated).compile().json == read_survey(LOCAL).compile().json


MISTAKES = {
    "survey.epsilon": ("[label]", "epsilon = 1.0\n[label]"),
    "survey.enrolment": ("[label]", 'enrolment = "token"\n[label]'),
    "survey.rows": ("[label]", "rows = 10\n[label]"),
    "mechanism": ("[label]", '[mechanism]\nfrequency = "DE"\n[label]'),
    "validation": ("[label]", "[validation]\norder = []\n[label]"),
    "label.weight": ("[label]", "[label]\nweight = 2"),
    "features.tea.weight": ("[features.tea]", "[features.tea]\nweight = 2"),
}


@pytest.mark.parametrize("field", MISTAKES)
def test_an_entry_that_only_devices_use_is_a_mistake_with_its_line(field):
    [(named, line)] = list_mistakes(CENTRAL.replace(*MISTAKES[field], 1))
    assert named == field
    assert line


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["nb", "linear", "tree"])
def test_a_model_is_trained_and_predicts(survey, learner):
    words = ["train", "SURVEY", "FOLDER/rows.csv", "--epsilon", ".5", "--learner", learner]
    result = run("ldp-central", survey, *words, "-o", "FOLDER/model.json")
    assert result.exit_code == 0, result.output
    model = load_model(survey.parent / "model.json")
    assert model.predict([{"tea": "green", "hours": 7, "cups": 1}])[0] in ("yes", "no")
    assert "epsilon 0.5 of 0.5" in result.output


def test_a_survey_of_silos_is_not_trained_by_a_curator(survey):
    survey.write_text(CENTRAL.replace('"central"', '"silo"\nepsilon = 1\nrows = 9').replace("users", "# "))
    result = run(
        "ldp-central", survey, "train", "SURVEY", "FOLDER/rows.csv", "--epsilon", "1", "-o", "FOLDER/m"
    )
    assert (result.exit_code, "ldp-silo report" in result.output) == (1, True)


def test_check_prints_what_a_curator_needs(survey):
    result = run("ldp-survey", survey, "check", "SURVEY")
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "central-tea: a survey for a curator, 3 features" in text
    assert "tired (label) yes, no refused" in text
    assert "tea green, black, none one more value" in text
    assert "hours number from 0 to 12 refused" in text
    assert "cups 4 bins from 0 to 8 one more value" in text
    assert "2,000 in [survey] users" in text
    assert "ldp-central train" in text
    for word in ("device", "report", "mechanism", "warning"):
        assert word not in text


def test_check_warns_of_values_that_no_row_may_have_and_of_a_missing_number_of_rows(survey):
    survey.write_text(CENTRAL.replace("users = 2000", "").replace('"none"]', '"none", "other"]'))
    result = run("ldp-survey", survey, "check", "SURVEY", "--json")
    document = json.loads(result.output)
    assert document["valid"] is True
    assert {each["field"]: each["line"] for each in document["problems"]} == {
        "survey.users": 2,
        "features.tea": 9,
    }
    assert document["survey"] == {
        "id": "central-tea",
        "kind": "central",
        "label": "tired",
        "features": ["tea", "hours", "cups"],
        "users": None,
        "texts": None,
    }


def test_check_names_mistakes_as_for_other_surveys(survey):
    survey.write_text(CENTRAL.replace("users = 2000", "users = 0"))
    result = run("ldp-survey", survey, "check", "SURVEY")
    assert (result.exit_code, "tea.toml: line 5: survey.users: needs" in result.output) == (1, True)


@pytest.mark.slow
def test_compare_refuses_people_and_compares_the_other_trusts(survey):
    words = ["SURVEY", "FOLDER/rows.csv", "--epsilon", "1", "--splits", "2"]
    refused = run("ldp-compare", survey, *words, "--trust", "none,local")
    assert (refused.exit_code, "is for a curator, so people answer nothing" in refused.output) == (1, True)
    for trusts in ([], ["--trust", "none,central,labels,silo:2"]):
        result = run("ldp-compare", survey, *words, *trusts)
        assert result.exit_code == 0, result.output


@pytest.mark.slow
def test_the_audit_of_a_curator_takes_it(survey, monkeypatch):
    monkeypatch.setattr("ldp_audit.curator_audit.ALPHA", 1e-8)
    result = run("ldp-audit", survey, "central", "SURVEY", "--epsilon", "1", "--trials", "200", "--json")
    assert json.loads(result.stdout)["passed"] is True
