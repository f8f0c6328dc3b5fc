"""ldp-survey dossier on the command line."""

from pathlib import Path

import pytest
from click.testing import Result

from encoders.survey import read_survey
from tests.ldp_design.dossier.surveys import write_audit
from tests.support.commands import command
from tests.support.html_page import parse_page
from tests.support.surveys import SLEEP, SLEEP_TEXTS, TEA


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "tea.toml"
    path.write_text(TEA)
    return path


def run(survey: Path, *options: str) -> Result:
    arguments = ["dossier", str(survey), "-o", str(survey.with_name("dossier.html")), *options]
    return command("ldp-survey", *arguments, check=False)


@pytest.mark.slow
def test_it_writes_one_page(survey):
    result = run(survey)
    assert result.exit_code == 0, result.output
    assert result.output == f"wrote {survey.with_name('dossier.html')}\n"
    page = parse_page(survey.with_name("dossier.html").read_bytes())
    assert page.find("h1")[0].text == "tea"
    assert "ldp-survey check tea.toml" in page.section("commands").text


@pytest.mark.slow
def test_people_and_an_audit_can_be_given(survey):
    audit = write_audit(survey.parent, read_survey(TEA).compile().digest)
    result = run(survey, "--users", "500", "--audit", str(audit))
    assert result.exit_code == 0, result.output
    assert result.stderr == "simulating 500 people\n"
    page = parse_page(survey.with_name("dossier.html").read_bytes())
    assert "An audit of this survey passed (section 10)." in page.section("summary").text
    assert "ldp-survey dossier tea.toml --users 500 --audit audit.json -o dossier.html" in (
        page.section("commands").text
    )


@pytest.mark.slow
def test_label_shares_can_be_given(survey):
    result = run(survey, "--users", "500", "--label-shares", "yes=0.2,no=0.8")
    assert result.exit_code == 0, result.output
    page = parse_page(survey.with_name("dossier.html").read_bytes())
    assert "“yes” 20%, “no” 80%" in page.section("accuracy").text


def test_label_shares_that_do_not_fit_are_an_error_and_write_nothing(survey):
    result = run(survey, "--label-shares", "yes=0.2")
    assert result.exit_code == 2
    assert "--label-shares: no share of 'no'" in result.output or 'no share of "no"' in result.output
    assert not survey.with_name("dossier.html").exists()


def test_an_audit_of_another_plan_is_an_error_and_writes_nothing(survey):
    result = run(survey, "--audit", str(write_audit(survey.parent, "0" * 64)))
    assert result.exit_code == 1
    assert "is the audit of another plan; audit this plan" in result.output
    assert not survey.with_name("dossier.html").exists()


def test_a_mistake_in_the_survey_is_an_error(survey):
    survey.write_text(TEA.replace("epsilon = 1.0", "epsilon = 0"))
    result = run(survey)
    assert result.exit_code == 1
    assert "epsilon" in result.output


def test_a_compiled_plan_is_refused(survey):
    survey.write_bytes(read_survey(SLEEP + SLEEP_TEXTS).compile().json)
    result = run(survey)
    assert result.exit_code == 1
    assert "give the TOML survey" in result.output


def test_the_survey_is_not_overwritten(survey):
    result = command("ldp-survey", "dossier", str(survey), "-o", str(survey), check=False)
    assert result.exit_code == 2
    assert survey.read_text() == TEA
