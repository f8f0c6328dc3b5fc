"""The dossier answers the questions of a review board, and every statement has a basis."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from encoders.epsilon_proof import realised_epsilon
from encoders.report import unpack
from encoders.survey.randomise import read_report
from ldp_aggregator.dossier.asked import NOT_STATED
from ldp_aggregator.dossier.consent import build_consent, list_answers
from ldp_aggregator.dossier.page import SECTIONS, render_dossier
from ldp_aggregator.dossier.source import SURVEYS as NUMBERS_OF_SURVEYS
from ldp_aggregator.dossier.source import DossierSource, read_source
from ldp_aggregator.dossier.statement import Basis
from ldp_aggregator.models.privacy_statement import AuditError
from ldp_aggregator.results.statements import BELIEFS, update_belief
from ldp_aggregator.sizing.size import size_for_users
from ldp_aggregator.sizing.summary import build_margin_rows
from tests.ldp_aggregator.dossier.surveys import INVITED, NUMBERS, SURVEYS, make_source, write_audit
from tests.support.html_page import Node, parse_page
from tests.support.surveys import SLEEP, TEA

FORBIDDEN = re.compile(r"anonym|compliant|compliance", re.IGNORECASE)
BASES = {each.value for each in Basis}
Make = Callable[..., DossierSource]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    made: dict[str, DossierSource] = {}

    def make(text: str, **options: object) -> DossierSource:
        key = repr((text, options))
        if key not in made:
            made[key] = make_source(tmp_path_factory.mktemp("survey"), text, **options)
        return made[key]

    return make


@pytest.fixture(scope="module", params=SURVEYS)
def source(request: pytest.FixtureRequest, make: Make) -> DossierSource:
    return make(SURVEYS[request.param])


@pytest.fixture(scope="module")
def page(source: DossierSource) -> Node:
    return parse_page(render_dossier(source))


def bases_of(node: Node) -> list[str]:
    """Return the marks in an element, without the numbers of commands."""
    marks = [each for each in node.find("span") if each.attributes.get("class", "").startswith("basis")]
    return [re.sub(r" C\d+$", "", each.text) for each in marks]


# -- every survey ---------------------------------------------------------------------------------


def test_the_sections_are_numbered_and_linked(page: Node) -> None:
    headings = [each.text for each in page.find("h2")]
    assert [each for each in headings if each[0].isdigit()] == [
        f"{number}. {title}" for number, title in enumerate(SECTIONS.values(), 1)
    ]
    ids = {each.attributes.get("id") for tag in ("section", "main", "dt") for each in page.find(tag)}
    assert {each.attributes["href"].removeprefix("#") for each in page.find("a")} <= ids


def test_every_statement_has_exactly_one_basis(page: Node) -> None:
    for anchor in SECTIONS.keys() - {"consent", "commands"}:
        section = page.section(anchor)
        marked = section.find("li") + section.find("caption") + section.find("dd")
        if anchor == "summary":
            marked = section.find("li")
        marked += [each for each in section.find("p") if each.attributes.get("class") == "statement"]
        assert marked
        for each in marked:
            bases = bases_of(each)
            assert len(bases) == 1, each.text
            assert bases[0] in BASES
    assert set(bases_of(page.section("consent"))) == BASES


def test_every_computed_statement_names_a_listed_command(page: Node) -> None:
    listed = {each.attributes["id"] for each in page.section("commands").find("dt")}
    computed = [each for each in page.find("span") if each.attributes.get("class", "") == "basis computed"]
    links = [link for each in computed for link in each.find("a")]
    assert len(links) >= len(computed) - 1  # the note on the consent text
    assert {each.attributes["href"].removeprefix("#") for each in links} <= listed | {"commands"}


def test_the_legend_explains_each_basis(page: Node) -> None:
    assert set(bases_of(page.section("legend"))) == BASES


def test_the_same_survey_gives_the_same_bytes(source: DossierSource) -> None:
    assert render_dossier(source) == render_dossier(source)


def test_the_page_loads_nothing_and_runs_nothing(source: DossierSource) -> None:
    data = render_dossier(source)
    found = parse_page(data)
    assert not found.find("script")
    assert not found.find("img")
    assert not found.find("b")
    assert all(each.attributes["href"] == "data:," for each in found.find("link"))
    assert not re.search(rb"https?://|@import|url\(|<[^>]*\ssrc=", data)
    [policy] = [each for each in found.find("meta") if each.attributes.get("http-equiv")]
    assert policy.attributes["content"].startswith("default-src 'none'; style-src 'unsafe-inline'")


@pytest.mark.parametrize("name", [name for name in SURVEYS if name != "hostile"])
def test_the_dossier_promises_neither_anonymity_nor_compliance(make: Make, name: str) -> None:
    text = parse_page(render_dossier(make(SURVEYS[name]))).text
    assert not FORBIDDEN.search(text)


def test_texts_of_the_author_are_quoted_and_escaped(make: Make) -> None:
    found = parse_page(render_dossier(make(SURVEYS["hostile"])))
    assert found.find("h1")[0].text == "<script>alert(1)</script>"
    purpose, contact, ethics, *_ = found.section("purpose").find("dd")
    assert purpose.text.startswith("</p><img src=x onerror=alert(1)> {{ 7 * 7 }}")
    assert bases_of(purpose) == bases_of(contact) == [Basis.DECLARED.value]
    assert ethics.text.startswith(NOT_STATED)
    assert not [each for tag in ("td", "th", "dd") for each in found.find(tag) if "onload" in each.attributes]
    quoted = [*found.section("purpose").find("dd"), *found.section("consent").find("p")]
    assert len(FORBIDDEN.findall(found.text)) == sum(len(FORBIDDEN.findall(each.text)) for each in quoted)


def test_the_bytes_of_the_sample_are_a_report_of_the_survey(source: DossierSource, page: Node) -> None:
    rows = page.section("sample").table("The report").rows()
    data = bytes.fromhex("".join(each[0] for each in rows))
    report = read_report(source.plan, data)
    assert report == unpack(data)
    assert [each[1] for each in rows] == [
        "start",
        "version",
        "plan digest",
        "question",
        "id",
        "randomised answer",
    ]
    assert f"all {len(data)} bytes" in page.section("sample").table("The report").find("caption")[0].text


def test_the_beliefs_are_those_of_epsilon(source: DossierSource, page: Node) -> None:
    rows = page.section("epsilon").table("What several surveys add up to").rows()
    for count, row in zip(NUMBERS_OF_SURVEYS, rows, strict=True):
        shown = [
            float(each.rstrip("%")) / 100 if each != "nearly 100%" else 1.0 for each in row[-len(BELIEFS) :]
        ]
        expected = [update_belief(belief, source.odds_factor(count)) for belief in BELIEFS]
        assert shown == pytest.approx(expected, abs=0.00051)
        assert "100.0%" not in row  # no report makes certain
    first = [cells[1] for cells in page.section("epsilon").table("What one report").rows()]
    assert first == rows[0][-len(BELIEFS) :]


def test_the_exact_epsilon_of_each_question_is_that_of_its_tables(source: DossierSource, page: Node) -> None:
    rows = page.section("epsilon").table("The questions that a device may be asked").rows()
    assert [row[-1] for row in rows] == [
        f"{realised_epsilon(question.mechanism.ratio):f}" for question in source.plan.questions
    ]


def test_each_question_of_a_participant_is_answered_in_two_sentences(source: DossierSource) -> None:
    answers = list_answers(source)
    assert len(answers) == 6
    for _, answer in answers:
        assert len(re.findall(r"[.!?](?= [A-Z]|$)", answer.text)) == 2, answer.text


# -- kinds of surveys -----------------------------------------------------------------------------


def test_the_command_for_beliefs_prints_the_beliefs_of_the_table(make: Make) -> None:
    source = make(TEA)
    program, *arguments = shlex.split(source.odds_command)
    assert program == "python3"
    run = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    printed = [float(each) for each in re.findall(r"[\d.]+", run.stdout)]
    assert printed == pytest.approx(
        [update_belief(belief, source.odds_factor(n)) for n in NUMBERS_OF_SURVEYS for belief in BELIEFS]
    )


def test_the_margins_are_those_of_the_expected_people(make: Make) -> None:
    source = make(TEA, users=3000)
    rows = parse_page(render_dossier(source)).section("accuracy").table("Margins to expect").rows()
    expected = build_margin_rows(size_for_users(source.survey, 3000, repeats=0))
    assert [row[2] for row in rows] == [row[2] for row in expected]
    assert [row[4].replace("±", "+-") for row in rows] == [" ".join(row[4].split()) for row in expected]
    assert "ldp-survey size survey.toml --users 3000" in source.commands


def test_without_a_number_of_people_several_numbers_are_compared(make: Make) -> None:
    section = parse_page(render_dossier(make(TEA))).section("accuracy")
    assert "does not state how many people" in section.text
    assert [row[0] for row in section.find("table")[0].rows()] == ["1,000", "10,000", "100,000", "1,000,000"]


def test_the_number_of_people_in_the_survey_is_used(make: Make) -> None:
    source = make(NUMBERS)
    assert source.size is not None
    assert source.size.users == 5000
    assert "--users" not in source.dossier_command


def test_a_number_is_shown_with_its_range(make: Make) -> None:
    rows = parse_page(render_dossier(make(NUMBERS))).section("asked").table("What a person is asked").rows()
    assert rows[1] == ["hours", "hours", "a number from 0 to 12", "counts as one more answer"]
    assert rows[2] == ["loudness", "loudness", "a number from 0 to 120", "no report is sent"]


def test_what_the_author_left_out_is_named(make: Make) -> None:
    found = parse_page(render_dossier(make(NUMBERS)))
    assert "The author does not state: purpose, contact." in found.section("summary").text
    entries = found.section("purpose")
    texts = dict(zip([e.text for e in entries.find("dt")], [e.text for e in entries.find("dd")], strict=True))
    assert texts["Purpose"].startswith("Not stated by the author.")
    assert texts["Ethics approval"] == "Approval 114 declared by the author"
    assert "Until 2030" in found.section("withdrawal").text


def test_an_invitation_is_named_wherever_it_identifies_a_person(make: Make) -> None:
    invited, open_ = (parse_page(render_dossier(make(SURVEYS[name]))) for name in ("invitation", "discrete"))
    for anchor in ("summary", "visible", "not-covered", "withdrawal", "consent"):
        assert "invitation" in invited.section(anchor).text, anchor
        assert "invitation" not in open_.section(anchor).text, anchor


def test_each_language_of_the_texts_has_a_table(make: Make) -> None:
    found = parse_page(render_dossier(make(SURVEYS["texts"])))
    english, german = (
        found.section("asked").table(f"What a person is asked ({tag})") for tag in ("en", "de")
    )
    assert english.rows()[1] == [
        "How old are you? (In years.)",
        "age",
        "Under 40 (young); 40 or older (old)",
        "counts as one more answer (I prefer not to answer)",
    ]
    assert german.rows()[0][:3] == ["Sind Sie ausgeruht?", "rested (the outcome)", "Ja (yes); Nein (no)"]
    assert german.find("tbody")[0].find("th")[0].attributes["lang"] == "de"
    assert "Translate the draft" in found.section("consent").text


def test_several_features_in_one_report_are_named(make: Make) -> None:
    source = make(INVITED.replace("epsilon = 1.0", "epsilon = 5"))
    assert source.grouped == ("age, hours",)
    found = parse_page(render_dossier(source))
    assert "several features together, randomised as one answer: age, hours." in found.section("asked").text
    assert "one group of questions" in found.section("summary").text
    assert "takes your answers together with the main question" in found.section("consent").text
    assert "nearly as good as the answer itself" in found.section("summary").text


def test_a_projection_and_a_validation_round_are_explained(make: Make) -> None:
    projected, validated = (
        parse_page(render_dossier(make(SURVEYS[name]))) for name in ("projection", "validation")
    )
    assert "combines age, income by public weights into first, second" in projected.section("asked").text
    assert "validation round" in validated.section("asked").text
    assert "how often the model is right" in validated.section("accuracy").text


def test_warnings_of_silence_are_in_the_dossier(make: Make) -> None:
    found = parse_page(render_dossier(make(TEA)))
    assert "tea: a person without an answer cannot report" in found.section("visible").text
    assert "warnings in section 6" in found.section("summary").text


@pytest.mark.parametrize(("epsilon", "words"), [("1.0", "So nobody can be sure"), ("4", "almost as well")])
def test_the_consent_text_does_not_promise_more_than_epsilon(make: Make, epsilon: str, words: str) -> None:
    source = make(SLEEP.replace("epsilon = 1.0", f"epsilon = {epsilon}"))
    text = " ".join(build_consent(source)["paragraphs"])
    assert words in text
    assert f"at most {source.belief_after(0.5)} sure" in text


def test_the_consent_text_is_short_and_names_the_author(make: Make) -> None:
    text = " ".join(build_consent(make(SURVEYS["texts"]))["paragraphs"])
    assert "A. Researcher, 1 Main Street." in text
    assert "[retention: not stated by the author]" in text
    sentences, words = re.split(r"[.:?!] ", text), text.split()
    assert 120 <= len(words) <= 180
    assert len(words) / len(sentences) < 12
    assert sum(map(len, words)) / len(words) < 5.2


# -- the audit ------------------------------------------------------------------------------------


def test_without_an_audit_the_command_for_one_is_given(make: Make) -> None:
    source = make(TEA)
    section = parse_page(render_dossier(source)).section("audit")
    assert "No audit was given." in section.text
    assert "ldp-audit survey.toml --json > audit.json" in source.commands


def test_an_audit_is_shown_as_a_lower_bound_beside_its_blind_spots(make: Make) -> None:
    source = make(TEA, trials=50_000, notes=["it cannot detect more"])
    text = parse_page(render_dossier(source)).section("audit").text
    assert "(ldp-audit) passed. Its lower bound on epsilon is 0.9000; the survey states 1." in text
    assert "It does not show that epsilon is no larger." in text
    assert "50,000 messages" in text
    assert "Note: it cannot detect more" in text
    assert "neither its date nor the version" in text
    assert "seeded where the audit cannot look" in text
    assert "ldp-audit survey.toml --trials 50000 --json > audit.json" in source.commands


def test_a_failed_audit_is_shown_as_failed_with_its_faults(make: Make) -> None:
    found = parse_page(render_dossier(make(TEA, faults=["freshness: it <repeats> noise"])))
    assert "FAILED" in found.section("summary").text
    assert "Fault: freshness: it <repeats> noise" in found.section("audit").text


def test_the_date_and_version_of_an_audit_are_shown_if_it_has_them(make: Make) -> None:
    text = parse_page(render_dossier(make(TEA, date="2026-11-22", version="0.1.0"))).section("audit").text
    assert "date: 2026-11-22; version: 0.1.0" in text
    assert "neither its date" not in text


def test_an_audit_of_another_plan_is_refused(tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(TEA)
    with pytest.raises(AuditError, match="another plan"):
        read_source(tmp_path / "survey.toml", audit=write_audit(tmp_path, "0" * 64))
