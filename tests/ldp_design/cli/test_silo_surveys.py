"""Commands with a silo survey: what works, and the one sentence that names the right command."""

import json
from functools import partial
from pathlib import Path

import pytest

import ldp_client
from encoders.errors import SurveyError
from encoders.survey.compiled_plan import SILO_REFUSAL
from ldp_aggregator.stores import open_store
from tests.support.commands import command
from tests.support.silo_surveys import WARDS, read_silo_survey

PLAN = read_silo_survey().compile()
run = partial(command, check=False)


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "wards.toml"
    path.write_text(WARDS)
    return path


REFUSING = {
    "preview": ("ldp-survey", ["preview", "SURVEY"]),
    "project": ("ldp-survey", ["project", "SURVEY", "--from", "FOLDER/rows.csv"]),
    "simulate": ("ldp-simulate", ["SURVEY", "FOLDER/rows.csv"]),
    "audit": ("ldp-audit", ["SURVEY", "--trials", "1000"]),
}


@pytest.mark.parametrize("name", REFUSING)
def test_commands_for_surveys_of_people_name_the_right_ones(name, survey):
    (survey.parent / "rows.csv").write_text("smoker,age,weight,pulse,ill\nyes,50,70,60,no\n")
    command, words = REFUSING[name]
    arguments = [word.replace("SURVEY", str(survey)).replace("FOLDER", str(survey.parent)) for word in words]
    result = run(command, *arguments)
    assert result.exit_code != 0
    assert "Traceback" not in result.output
    assert result.output.count(SILO_REFUSAL) == 1


@pytest.mark.slow
def test_size_prints_margins_of_rows_and_silos_and_what_to_change(survey):
    sized = run("ldp-survey", "size", survey, "--rows", 20_000, "--silos", 4)
    assert sized.exit_code == 0, sized.output
    assert "what to expect from 20,000 rows of 4 silos at epsilon 1" in sized.output
    assert "share of missing" in sized.output
    assert "No feature is noise" in sized.output
    noisy = run("ldp-survey", "size", survey, "--rows", 400, "--silos", 60)
    assert "With any one of these changes no feature is noise:" in noisy.output
    [document] = json.loads(run("ldp-survey", "size", survey, "--rows", 400, "--silos", 60, "--json").stdout)
    assert (document["rows"], document["silos"], document["rows_per_person"]) == (400, 60, 1)
    assert document["remedies"].keys() == {"rows", "silos", "epsilon"}
    assert not {"reports", "question_probability"} & document["margins"][1].keys()
    compared = run("ldp-survey", "size", survey, "--silos", 4, "--margin", ".02", "--epsilon", ".5,1").output
    assert [line.split()[0] for line in compared.splitlines()[2:5]] == ["epsilon", "0.5", "1"]


WRONG_OPTIONS = {
    "people": ["size", "SURVEY", "--users", "9"],
    "no silos": ["size", "SURVEY", "--margin", ".1"],
    "too many rows": ["size", "SURVEY", "--rows", "200001", "--silos", "2"],
    "unknown label": ["size", "SURVEY", "--rows", "9", "--silos", "1", "--label-shares", "never=.5"],
    "people of a dossier": ["dossier", "SURVEY", "--users", "9", "-o", "FOLDER/page.html"],
    "audit of a dossier": ["dossier", "SURVEY", "--audit", "SURVEY", "-o", "FOLDER/page.html"],
}


@pytest.mark.parametrize("name", WRONG_OPTIONS)
def test_options_that_do_not_fit_silos_are_refused_by_name(name, survey):
    words = [
        word.replace("SURVEY", str(survey)).replace("FOLDER", str(survey.parent))
        for word in WRONG_OPTIONS[name]
    ]
    result = run("ldp-survey", *words)
    assert (result.exit_code, "--" in result.output) in [(1, True), (2, True)]
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("command", ["size", "dossier"])
def test_options_of_silos_are_refused_for_surveys_of_people(command, survey):
    survey.write_text(WARDS.replace('kind = "silo"', "").replace("rows = 100000\nrows_per_person = 1\n", ""))
    output = ["-o", survey.parent / "page.html"] if command == "dossier" else []
    result = run("ldp-survey", command, survey, "--rows", 9, *output)
    assert (result.exit_code, "--rows and --silos are for silo surveys" in result.output) == (2, True)


def test_a_client_of_people_refuses_the_survey_and_its_plan(survey):
    (survey.parent / "plan.json").write_bytes(PLAN.json)
    for path in (survey, survey.parent / "plan.json"):
        with pytest.raises(SurveyError, match="ldp-silo report"):
            ldp_client.load_plan(path)


def test_check_prints_the_message_and_its_noise(survey):
    result = run("ldp-survey", "check", survey)
    assert result.exit_code == 0
    assert "28 cells in 4 tables" in result.output
    assert "5.6 rows" in result.output
    text = " ".join(result.output.split())
    assert "about at most 100,000 rows, at most 1 per person" in text
    assert "1-differentially private" in text
    assert "warning: anybody who reaches the collector" in text
    assert PLAN.digest in text


def test_check_as_json_has_the_facts_of_every_table(survey):
    result = json.loads(run("ldp-survey", "check", survey, "--json").stdout)
    assert result["valid"] is True
    [warning] = result["problems"]
    assert (warning["severity"], warning["field"]) == ("warning", "survey.enrolment")
    facts = result["survey"]
    assert (facts["kind"], facts["rows"], facts["rows_per_person"]) == ("silo", 100_000, 1)
    assert (facts["cells"], facts["message_bytes"], facts["noise_scale"]) == (28, 281, 4)
    assert [each["feature"] for each in facts["tables"]] == ["smoker", "age", "weight", "pulse"]
    assert [each["cells"] for each in facts["tables"]] == [4, 10, 6, 8]
    assert [each["soft"] for each in facts["tables"]] == [False, False, True, True]
    assert all(each["standard_error"] == pytest.approx(5.65, rel=0.01) for each in facts["tables"])


def test_check_names_mistakes_as_for_other_surveys(survey):
    survey.write_text(WARDS.replace("rows = 100000", "rows = 0"))
    result = run("ldp-survey", "check", survey)
    assert (result.exit_code, "survey.rows: needs the most rows" in result.output) == (1, True)


def test_compile_and_sign_work_as_for_other_surveys(survey):
    pytest.importorskip("cryptography")
    plan, key = survey.parent / "plan.json", survey.parent / "key.pem"
    result = run("ldp-survey", "compile", survey, "-o", plan)
    assert plan.read_bytes() == PLAN.json
    assert "ldp-survey preview" not in result.output
    assert run("ldp-survey", "keygen", key).exit_code == 0
    for path in (survey, plan):
        result = run("ldp-survey", "sign", path, "--key", key)
        assert f"digest {PLAN.digest}" in result.output


def test_training_without_messages_writes_no_model(tmp_path):
    url = f"sqlite:///{tmp_path}/ldp.db"
    store = open_store(url)
    store.publish(PLAN.id, PLAN.json)
    store.close()
    result = run("ldp-train", url, "-o", tmp_path / "model.json")
    assert result.exit_code == 1
    assert "no message was counted, none refused; no model is written" in result.output
    assert not (tmp_path / "model.json").exists()


def test_tokens_are_created_for_silos(tmp_path):
    plan = read_silo_survey(WARDS.replace("[label]", 'enrolment = "token"\n[label]')).compile()
    url = f"sqlite:///{tmp_path}/ldp.db"
    store = open_store(url)
    store.publish(plan.id, plan.json)
    store.close()
    result = run("ldp-collector", "tokens", "create", "wards", "--count", 3, "--store", url)
    assert result.exit_code == 0
    assert {len(token) for token in result.output.split()} == {32}
    assert "3" in run("ldp-collector", "status", "--store", url).output
