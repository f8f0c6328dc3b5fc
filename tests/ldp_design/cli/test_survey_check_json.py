"""ldp-survey check --json."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from encoders.survey import read_survey
from tests.support.commands import command
from tests.support.silo_surveys import WARDS
from tests.support.surveys import RELAYED, survey_toml
from tests.support.surveys import TEA_OF_THREE as SURVEY

run = partial(command, "ldp-survey", "check", check=False)

ROOT = Path(__file__).resolve().parents[3]
TEXTS = """\
[texts.en]
title = "Tee"
[texts.en.label]
title = "Müde?"
values = { yes = "Yes", no = "No" }
[texts.en.features.tea]
title = "Tea"
values = { black = "Black", green = "Green" }
[texts.en.features.hours]
title = "Hours"
"""
CENTRAL = survey_toml(epsilon=None, kind="central", label=None, features={"tea": ["black", "green"]})
PROBLEM_KEYS = ["severity", "file", "line", "field", "message"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "survey.toml"


def check(path: Path, text: str) -> dict[str, Any]:
    """Check a survey that can be used; return the parsed JSON."""
    path.write_text(text, "utf-8")
    result = run(path, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    parsed: dict[str, Any] = json.loads(result.stdout)
    assert parsed["valid"] is True
    return parsed


def test_the_facts_of_a_survey_are_printed(path):
    plan = read_survey(SURVEY).compile()
    survey = check(path, SURVEY)["survey"]
    questions = survey.pop("questions")
    assert survey == {
        "id": "tea",
        "family": "tea",
        "digest": plan.digest,
        "epsilon": 1.0,
        "by_invitation": False,
        "label": "tired",
        "features": ["tea", "hours"],
        "texts": None,
    }
    assert [(each["name"], each["features"], each["shape"]) for each in questions] == [
        ("tea", ["tea"], [3, 2]),
        ("hours", ["hours"], [4, 2]),
    ]
    assert [each["probability"] for each in questions] == [0.25, 0.75]
    assert all(0.9999 < each["realised_epsilon"] <= 1 for each in questions)
    text = run(path).stdout
    assert all(f"{each['report_bytes']} bytes" in text and each["mechanism"] in text for each in questions)


@pytest.mark.parametrize(("numeric", "moments"), [("auto", ["number"]), ("sign", ["mean", "square"])])
def test_a_number_has_one_or_two_questions_and_a_group_has_several_features(path, numeric, moments):
    yes_no = "".join(f"[features.{name}]\nvalues = [true, false]\n" for name in "abcd")
    text = SURVEY.replace("epsilon = 1.0", "epsilon = 2.4") + "[features.height]\nrange = [0, 2]\n" + yes_no
    text += f'[mechanism]\nnumeric = "{numeric}"\n'
    questions = check(path, text)["survey"]["questions"]
    assert [each["moment"] for each in questions if each["features"] == ["height"]] == moments
    groups = [each["features"] for each in questions if len(each["features"]) > 1]
    assert groups
    assert {name for group in groups for name in group} <= {"tea", *"abcd"}


def test_a_question_about_the_label_alone_has_no_features(path):
    text = SURVEY.replace('values = ["yes", "no"]', 'values = ["yes", "no"]\nweight = 1')
    assert [] in [each["features"] for each in check(path, text)["survey"]["questions"]]


def test_warnings_have_the_line_of_their_first_entry(path):
    text = SURVEY.replace("epsilon = 1.0", "epsilon = 4").replace("bins = 3", "bins = 200")
    result = check(path, text.replace('"mint"]', '"mint"]\nweight = 0'))
    problems = result["problems"]
    assert [list(each) for each in problems] == [PROBLEM_KEYS] * len(problems)
    assert {each["severity"] for each in problems} == {"warning"}
    assert {each["file"] for each in problems} == {"survey.toml"}
    assert [(each["line"], each["field"], each["message"].split(":")[0]) for each in problems] == [
        (3, "survey.epsilon", "epsilon is above 2, the maximum that clients accept by default"),
        (9, "features.tea.weight", "tea"),
        (10, "features.hours", "hours has 402 possible answers"),
        (7, "features.tea", "tea"),
        (7, "features.tea", "tea"),
        (6, "label.values", "tired (the label)"),
    ]
    warnings = [line for line in run(path).stdout.splitlines() if line.startswith("warning: ")]
    assert warnings == [f"warning: {each['message']}" for each in problems]


def test_the_warning_about_an_input_of_a_projection_names_the_input(path):
    text = (
        SURVEY.split("[features.")[0]
        + "[projection.inputs.a]\nrange = [0, 9]\n"
        + "[features.sum]\nweights = [0]\nrange = [-1, 1]\n"
    )
    fields = [(each["line"], each["field"]) for each in check(path, text)["problems"]]
    assert fields == [(9, "features.sum"), (7, "projection.inputs.a"), (6, "label.values")]


def test_the_texts_that_a_language_lacks_are_listed(path, tmp_path):
    plan = read_survey(SURVEY + TEXTS).compile()
    expected = {"sha256": plan.texts_digest, "missing": {"en": ["features.tea.values.mint"]}}
    assert check(path, SURVEY + TEXTS)["survey"]["texts"] == expected
    without_texts = check(tmp_path / "plan.json", plan.json.decode())
    assert without_texts["survey"]["texts"] == {"sha256": plan.texts_digest, "missing": None}
    assert {each["line"] for each in without_texts["problems"]} == {None}


def test_every_mistake_is_printed_with_its_line_and_field(path):
    path.write_text(SURVEY.replace('id = "tea"', 'id = "Tea!"').replace("[0, 12]", "[12, 0]"), "utf-8")
    result = run(path, "--json")
    parsed = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (1, "")
    assert list(parsed) == ["valid", "problems", "survey"]
    assert (parsed["valid"], parsed["survey"]) == (False, None)
    assert [list(each) for each in parsed["problems"]] == [PROBLEM_KEYS] * 2
    places = [(each["severity"], each["file"], each["line"], each["field"]) for each in parsed["problems"]]
    assert places == [
        ("error", "survey.toml", 2, "survey.id"),
        ("error", "survey.toml", 10, "features.hours.range"),
    ]
    lines = run(path).stderr.splitlines()
    for each, line in zip(parsed["problems"], lines, strict=False):
        assert line == f"survey.toml: line {each['line']}: {each['field']}: {each['message']}"


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (SURVEY.replace("bins = 3", "bins 3").encode(), 11, "not valid TOML"),
        (b"\xff", None, "is not a UTF-8 text: save it as one"),
        (b"{}", None, "is JSON, but not a whole compiled plan"),
    ],
)
def test_a_file_that_is_no_survey_is_one_mistake(path, content, line, message):
    path.write_bytes(content)
    result = run(path, "--json")
    (problem,) = json.loads(result.stdout)["problems"]
    assert result.exit_code == 1
    assert (problem["file"], problem["line"], problem["field"]) == ("survey.toml", line, None)
    assert message in problem["message"]


def test_wrong_texts_beside_a_plan_are_a_mistake_in_their_file(tmp_path):
    plan = read_survey(SURVEY + TEXTS).compile()
    (tmp_path / "plan.json").write_bytes(plan.json)
    (tmp_path / "plan.texts.json").write_bytes(b"\xff")
    (problem,) = json.loads(run(tmp_path / "plan.json", "--json").stdout)["problems"]
    assert problem["file"] == "plan.texts.json"


@pytest.mark.parametrize("arguments", [["--json", "no.toml"], ["no.toml", "--json"], ["--json", "."]])
def test_a_file_that_cannot_be_opened_is_json_with_exit_code_2(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (2, "")
    parsed = json.loads(result.stdout)
    assert (parsed["valid"], parsed["survey"]) == (False, None)
    assert [each["severity"] for each in parsed["problems"]] == ["error"]
    without = run(*(each for each in arguments if each != "--json"))
    assert (without.exit_code, without.stdout) == (2, "")
    assert parsed["problems"][0]["message"] in without.stderr


@pytest.mark.slow
def test_the_documentation_lists_every_key(path):
    page = (ROOT / "docs" / "formats.md").read_text("utf-8")
    section = page.partition("## Check a survey from a program\n")[2].partition("\n## ")[0]
    documented = set(re.findall(r"`([a-z_.\[\]]+)`", "\n".join(re.findall(r"(?m)^\| (.*?) \|", section))))
    result = check(path, SURVEY + TEXTS)
    survey = result["survey"]
    keys = {*result, *(f"problems[].{key}" for key in result["problems"][0])}
    keys |= {f"survey.{key}" for key in survey} | {f"survey.texts.{key}" for key in ["missing"]}
    keys |= {f"survey.questions[].{key}" for key in survey["questions"][0]}
    relay = check(path, RELAYED.replace("[relay]", '[relay]\nask = "all"'))["survey"].pop("relay")
    keys |= {f"survey.relay.{key}" for key in relay}
    keys |= {f"survey.{key}" for key in check(path, CENTRAL)["survey"]}
    silos = check(path, WARDS)["survey"]
    keys |= {f"survey.{key}" for key in silos} | {f"survey.tables[].{key}" for key in silos["tables"][0]}
    assert documented == keys
