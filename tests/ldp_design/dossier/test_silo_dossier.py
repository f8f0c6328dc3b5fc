"""The dossier of a silo survey has the statements that hold for silos, and none about devices."""

import math
import re
import shlex
from pathlib import Path

import pytest

from encoders.survey.any_survey import read_any_survey
from encoders.survey.silo_plan import SiloSurvey
from ldp_aggregator.wording.statement import Basis
from ldp_design.dossier.silo_dossier import read_silo_source, render_silo_dossier
from tests.support.commands import command
from tests.support.html_page import Node, list_lines, named_statements, parse_page
from tests.support.silo_surveys import WARDS

SURVEYS = {
    "open": WARDS,
    "tokens, several rows": WARDS.replace("rows_per_person = 1", 'rows_per_person = 3\nenrolment = "token"'),
    "texts": WARDS
    + '[texts.en]\ntitle = "Wards"\n[texts.de]\ntitle = "Stationen"\n[about]\npurpose = "Care"\n',
    "hostile": WARDS.replace("smoker", "'<b>{{ 7 * 7 }}</b>'")
    + '[about]\ntitle = "<script>alert(1)</script>"\npurpose = "</p>{{ 7 * 7 }}"\n',
}
BASES = {each.value for each in Basis}
DEVICES = re.compile(r"device|phone|your|participant|questionnaire|invitation", re.IGNORECASE)


def render(text: str, rows: int | None = 20_000, silos: int | None = 4, shares: str | None = None) -> str:
    survey = read_any_survey(text)
    assert isinstance(survey, SiloSurvey)
    source = read_silo_source(survey, Path("wards.toml"), rows, silos, shares)
    return render_silo_dossier(source).decode()


@pytest.fixture(scope="module", params=SURVEYS)
def page(request: pytest.FixtureRequest) -> Node:
    return parse_page(render(SURVEYS[request.param]).encode())


@pytest.mark.slow
def test_sections_are_numbered_linked_and_named_by_their_numbers(page):
    headings = [each.text for each in page.find("h2") if each.text[0].isdigit()]
    assert [int(each.partition(".")[0]) for each in headings] == list(range(1, len(headings) + 1))
    ids = {each.attributes.get("id") for tag in ("section", "main", "dt") for each in page.find(tag)}
    assert {each.attributes["href"].removeprefix("#") for each in page.find("a")} <= ids
    named = {int(each) for each in re.findall(r"section (\d+)", page.text, re.IGNORECASE)}
    assert named <= set(range(1, len(headings) + 1))
    assert "None" not in page.text


def test_no_statement_is_about_devices(page):
    assert not DEVICES.findall(page.text)
    assert not {"consent", "questions", "sample"} & {
        each.attributes.get("id") for each in page.find("section")
    }


def test_every_statement_has_a_basis(page):
    listings = [each for each in page.find("div") if each.attributes.get("class") == "listing"]
    assert len(listings) > 10
    for listing in listings:
        common = any(each.attributes.get("class") == "common" for each in listing.find("p"))
        for statement in listing.find("li") + listing.find("dd"):
            marks = [each for each in statement.find("span") if "basis" in each.attributes.get("class", "")]
            assert len(marks) == 1 or (common and not marks)
            assert all(re.sub(r" C\d+$", "", each.text) in BASES for each in marks)


def test_texts_of_the_author_are_shown_as_they_are():
    html = render(SURVEYS["hostile"])
    assert "<script" not in html
    assert "&lt;b&gt;{{ 7 * 7 }}" in html
    assert "49" not in parse_page(html.encode()).section("purpose").text


def test_beliefs_are_about_presence_and_with_twice_the_epsilon_about_content():
    text = parse_page(render(WARDS).encode()).section("epsilon").text
    for factor in (math.e, math.e**2):
        assert f"{math.ceil(1000 * factor / (1 + factor)) / 10}%" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "silos", "words"),
    [
        (None, None, "the number of rows and of silos is not stated"),
        (None, 4, "the number of rows is not stated"),
        (20_000, None, "the number of silos is not stated"),
    ],
)
def test_numbers_that_are_not_stated_are_compared(rows, silos, words):
    page = parse_page(render(WARDS, rows=rows, silos=silos).encode())
    assert f"Whether the survey can reach its aim is unknown: {words}." in page.section("summary").text
    assert len(page.section("accuracy").find("tr")) >= 4
    assert "Grades:" not in page.text


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rows", "silos"), [("tokens, several rows", 400, 60), ("open", None, None)])
def test_the_words_of_the_page(name, rows, silos, compare_with_golden):
    with named_statements():
        page = parse_page(render(SURVEYS[name], rows, silos).encode())
    compare_with_golden(f"silos-{name.partition(',')[0]}", "\n".join(list_lines(page)) + "\n")


@pytest.mark.slow
def test_useless_estimates_are_named_in_the_summary():
    page = parse_page(render(WARDS, rows=400, silos=60).encode())
    assert "The estimates are noise for: smoker, age, weight, pulse" in page.section("summary").text


@pytest.mark.slow
def test_the_commands_of_the_page_can_be_run(tmp_path, monkeypatch):
    (tmp_path / "wards.toml").write_text(WARDS)
    monkeypatch.chdir(tmp_path)
    page = parse_page(render(WARDS, shares="yes=0.2,no=0.8").encode())
    commands = [shlex.split(each.text) for each in page.section("commands").find("code")]
    ours = [each[1:] for each in commands if each[0] == "ldp-survey"]
    assert {each[0] for each in ours} == {"check", "dossier", "size"}
    for words in ours:
        assert command("ldp-survey", *words, check=False).exit_code == 0
    assert (tmp_path / "dossier.html").read_text() == render(WARDS, shares="yes=0.2,no=0.8")
    assert [each[:3] for each in commands if each[0] == "ldp-audit"] == [["ldp-audit", "silo", "wards.toml"]]
