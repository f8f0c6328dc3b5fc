"""The dossier answers the questions of a review board, and every statement has a basis."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from types import SimpleNamespace

import pytest

from encoders.canonical import decimal_text
from encoders.epsilon_proof import realised_epsilon
from encoders.report import unpack
from encoders.survey.randomise import read_report
from ldp_aggregator.privacy_statement import AuditError
from ldp_aggregator.statements.privacy import update_belief
from ldp_aggregator.stores.schedule import format_time
from ldp_aggregator.wording.statement import Basis, Statement
from ldp_design.dossier.dossier_page import TEXTS, anchor_of, find_common_mark
from ldp_design.dossier.people_dossier import describe_people, render_dossier
from ldp_design.dossier.source import BELIEFS, DossierSource, read_source
from ldp_design.dossier.source import SURVEYS as NUMBERS_OF_SURVEYS
from ldp_design.sizing.assumed_people import LabelSharesError
from ldp_design.studio.edits import apply_operations
from tests.ldp_design.dossier.surveys import (
    INVITED,
    NUMBERS,
    SURVEYS,
    fixed_forecasts,
    make_source,
    write_audit,
)
from tests.support.html_page import Node, list_lines, named_statements, parse_page
from tests.support.surveys import SLEEP, SLEEP_TEXTS, TEA

FORBIDDEN = re.compile(r"anonym|compliant|compliance", re.IGNORECASE)
BASES = {each.value for each in Basis}
BOARD, ANNEX = (
    [anchor_of(each.id) for each in TEXTS.section(part, is_silo=False)] for part in ("board", "annex")
)
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


FIRST, *OTHERS = SURVEYS


@pytest.fixture(
    scope="module", params=[FIRST, *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)]
)
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


def read_consent(source: DossierSource) -> str:
    """Return the draft of a consent text without its headings."""
    return " ".join(map(str, TEXTS.section("consent", describe_people(source))))


# -- the words ------------------------------------------------------------------------------------

GOLDEN = {
    "complete": (
        SURVEYS["invitation"] + SLEEP_TEXTS,
        {
            "users": 8000,
            "trials": 50_000,
            "faults": ["it <repeats> noise"],
            "notes": ["it cannot detect more"],
        },
    ),
    "numbers": (NUMBERS.replace("users = 5000", ""), {}),
    "projection": (SURVEYS["projection"], {}),
    "validation": (SURVEYS["validation"], {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
def test_the_words_of_the_page(name, tmp_path, compare_with_golden):
    text, options = GOLDEN[name]
    with named_statements(), fixed_forecasts():
        page = parse_page(render_dossier(make_source(tmp_path, text, **options)))
    compare_with_golden(name, "\n".join(list_lines(page)) + "\n")


@pytest.mark.slow
def test_texts_of_the_survey_stand_in_place_of_names_except_in_the_tables_of_what_is_asked(make):
    main = parse_page(render_dossier(make(SLEEP + SLEEP_TEXTS))).find("main")[0]
    asked = [each.text for each in main.find("table") if "Name in files" in each.text]
    shown = main.text
    for each in asked:
        shown = shown.replace(each, "")
    assert len(asked) == 2
    assert "\u201cHow old are you?\u201d" in shown
    assert not re.search(r"\b(age|rested) (?!your)[=|(]|\u201crested\u201d|\bfor age\b", shown)


@pytest.mark.slow
def test_every_sentence_comes_from_a_text_file_or_the_template(source, monkeypatch):
    """Without the texts, the page has only words of the template and of the survey, and numbers."""
    folder = files("ldp_design.dossier")
    known = [
        file.read_text("utf-8") for part in ("templates", "texts") for file in folder.joinpath(part).iterdir()
    ]
    facts = describe_people(source)
    known += map(str, (facts.sample.person, facts.sample.likelihoods, facts.label.name))  # of the survey
    known += [str(source.plan.texts)]
    written = " ".join(re.sub(r"{%.*?%}", "", " ".join(known)).split())
    monkeypatch.setattr(Statement, "fill", lambda *_: "")
    lines = list(list_lines(parse_page(render_dossier(source)).find("main")[0]))
    parts = [part for line in lines for part in re.split("|".join(sorted(BASES, reverse=True)), line)]
    runs = [run for part in parts for run in re.findall(r"[A-Za-z]+(?: [A-Za-z]+){4,}", part)]
    assert len(lines) > 100
    assert len(runs) > 5
    assert not [run for run in runs if run not in written]


def with_class(node: Node, tag: str, name: str) -> list[Node]:
    return [each for each in node.find(tag) if each.attributes.get("class") == name]


@pytest.mark.slow
def test_every_statement_has_exactly_one_basis(page):
    for anchor in {*BOARD, *ANNEX} - {"consent", "checklist", "commands"}:
        section = page.section(anchor)
        marked = section.find("caption") + with_class(section, "p", "statement")
        for listing in with_class(section, "div", "listing"):
            common = bases_of(with_class(listing, "p", "common")[0]) if listing.find("p") else []
            assert len(common) <= 1
            statements = listing.find("li") + listing.find("dd")
            assert statements
            own = [bases_of(each) for each in statements]
            assert all(len(each) == 1 or (common and not each) for each in own)
            assert all(each != common for each in own)  # only exceptions repeat a mark
        assert len(with_class(section, "div", "listing")) or marked
        listed = sum(len(each.find("li") + each.find("dd")) for each in with_class(section, "div", "listing"))
        tiles = sum(len(each.find("dd")) for each in with_class(section, "dl", "tiles"))
        assert listed + tiles == len(section.find("li") + section.find("dd"))
        assert all(len(bases_of(each)) == 1 for each in marked)
        assert {basis for each in section.find("span") for basis in bases_of(each)} <= BASES
    assert set(bases_of(page.section("consent"))) == BASES - {Basis.COMPUTED.value}


@pytest.mark.slow
def test_every_computed_statement_names_a_listed_command(page):
    listed = {each.attributes["id"] for each in page.section("commands").find("dt")}
    names = ("basis computed", "basis conditional")
    computed = [each for each in page.find("span") if each.attributes.get("class", "") in names]
    links = [link for each in computed for link in each.find("a")]
    assert len(links) >= len(computed) - 1  # the note on the consent text
    assert {each.attributes["href"].removeprefix("#") for each in links} <= listed | {"commands"}


def test_the_legend_explains_each_basis(page):
    assert set(bases_of(page.section("legend"))) == BASES


@pytest.mark.slow
def test_the_same_survey_gives_the_same_bytes(source):
    assert render_dossier(source) == render_dossier(source)


@pytest.mark.slow
def test_the_page_loads_nothing_and_runs_nothing(source):
    data = render_dossier(source)
    found = parse_page(data)
    assert not found.find("script")
    assert not found.find("img")
    assert not found.find("b")
    assert all(each.attributes["href"] == "data:," for each in found.find("link"))
    assert not re.search(rb"https?://|@import|url\(|<[^>]*\ssrc=", data)
    [policy] = [each for each in found.find("meta") if each.attributes.get("http-equiv")]
    assert policy.attributes["content"].startswith("default-src 'none'; style-src 'unsafe-inline'")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SURVEYS if name != "hostile"])
def test_the_dossier_promises_neither_anonymity_nor_compliance(make, name):
    text = parse_page(render_dossier(make(SURVEYS[name]))).text
    assert not FORBIDDEN.search(text)


@pytest.mark.slow
def test_texts_of_the_author_are_quoted_and_escaped(make):
    found = parse_page(render_dossier(make(SURVEYS["hostile"])))
    assert found.find("h1")[0].text == "<script>alert(1)</script>"
    purpose, contact, ethics, *_ = found.section("purpose").find("dd")
    assert purpose.text.startswith("</p><img src=x onerror=alert(1)> {{ 7 * 7 }}")
    assert bases_of(purpose) == bases_of(contact) == [Basis.DECLARED.value]
    assert ethics.text.startswith("Not stated by the author")
    assert not [each for tag in ("td", "th", "dd") for each in found.find(tag) if "onload" in each.attributes]
    quoted = [*found.section("purpose").find("dd"), *found.section("consent").find("p")]
    assert len(FORBIDDEN.findall(found.text)) == sum(len(FORBIDDEN.findall(each.text)) for each in quoted)


def test_the_bytes_of_the_sample_are_a_report_of_the_survey(source, page):
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


def test_the_beliefs_are_those_of_epsilon(source, page):
    rows = page.section("epsilon").table("What several surveys add up to").rows()
    for count, row in zip(NUMBERS_OF_SURVEYS, rows, strict=True):
        shown = [
            float(each.rstrip("%")) / 100 if each != "nearly 100%" else 1.0 for each in row[-len(BELIEFS) :]
        ]
        expected = [update_belief(belief, source.odds_factor(count)) for belief in BELIEFS]
        assert all(0 <= bound - belief < 0.001 for bound, belief in zip(shown, expected, strict=True))
        assert "100.0%" not in row  # no report makes certain
    first = [cells[1] for cells in page.section("epsilon").table("What one report").rows()]
    assert first == rows[0][-len(BELIEFS) :]


def test_the_exact_epsilon_of_each_question_is_that_of_its_tables(source, page):
    rows = page.section("proof").table("The questions that a device may be asked").rows()
    assert [row[-1] for row in rows] == [
        f"{realised_epsilon(question.mechanism.ratio):f}" for question in source.plan.questions
    ]


# -- kinds of surveys -----------------------------------------------------------------------------


def test_the_command_for_beliefs_prints_the_beliefs_of_the_table(make):
    source = make(TEA)
    program, *arguments = shlex.split(source.commands.odds)
    assert program == "python3"
    run = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    printed = [float(each) for each in re.findall(r"[\d.]+", run.stdout)]
    assert printed == pytest.approx(
        [update_belief(belief, source.odds_factor(n)) for n in NUMBERS_OF_SURVEYS for belief in BELIEFS]
    )


@pytest.mark.slow
def test_without_a_number_of_people_several_numbers_are_compared(make):
    page = parse_page(render_dossier(make(TEA)))
    assert "does not state how many people" in page.section("accuracy").text
    for anchor in ("accuracy", "margins"):
        rows = page.section(anchor).find("table")[0].rows()
        assert [row[0] for row in rows] == ["1,000", "10,000", "100,000", "1,000,000"]


def test_the_number_of_people_in_the_survey_is_used(make):
    source = make(NUMBERS)
    assert source.size is not None
    assert source.size.users == 5000
    assert "--users" not in source.commands.dossier


@pytest.mark.slow
def test_what_the_author_left_out_is_named(make):
    found = parse_page(render_dossier(make(NUMBERS)))
    assert "The author does not state: purpose, contact." in found.section("summary").text
    entries = found.section("purpose")
    texts = dict(zip([e.text for e in entries.find("dt")], [e.text for e in entries.find("dd")], strict=True))
    assert texts["Purpose"].startswith("Not stated by the author.")
    assert texts["Ethics approval"].startswith("According to the author: Approval 114")
    assert "Until 2030" in found.section("withdrawal").text


@pytest.mark.slow
def test_an_invitation_is_named_wherever_it_identifies_a_person(make):
    invited, open_ = (parse_page(render_dossier(make(SURVEYS[name]))) for name in ("invitation", "discrete"))
    for anchor in ("summary", "visible", "not-covered", "withdrawal", "consent"):
        assert "invitation" in invited.section(anchor).text, anchor
        assert "invitation" not in open_.section(anchor).text, anchor


@pytest.mark.slow
def test_several_features_in_one_report_are_named(make):
    source = make(INVITED.replace("epsilon = 1.0", "epsilon = 5"))
    found = parse_page(render_dossier(source))
    assert "several questions together, randomised as one answer: age, hours." in found.section("asked").text
    assert "one group of questions" in found.section("summary").text
    assert "takes your answers together with the main question" in found.section("consent").text
    assert "nearly as good as the answer itself" in found.section("summary").text


@pytest.mark.slow
def test_warnings_of_nonresponse_are_in_the_dossier(make):
    found = parse_page(render_dossier(make(TEA)))
    visible, summary = found.section("visible").text, found.section("summary").text
    assert "People who leave tea empty send nothing at all." in visible
    assert "The author can correct this, and should" in visible
    assert "People who leave tea or" in summary


@pytest.mark.slow
def test_an_empty_answer_is_only_mentioned_if_a_question_may_be_left_out(make):
    survey = SLEEP.replace('missing = "category"\n', "")
    facts = [describe_people(make(each)) for each in (SLEEP, survey)]
    texts = [" ".join(map(str, TEXTS.section("questions", each))) for each in facts]
    assert ["Where the survey takes an empty answer" in each for each in texts] == [True, False]


def test_all_languages_of_the_texts_are_listed(make):
    assert describe_people(make(SLEEP + SLEEP_TEXTS)).consent.languages == "en, de"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "words"), [("1.0", "But they cannot be certain"), ("4", "almost as well")]
)
def test_the_consent_text_does_not_promise_more_than_epsilon(make, epsilon, words):
    source = make(SLEEP.replace("epsilon = 1.0", f"epsilon = {epsilon}"))
    text = read_consent(source)
    assert words in text
    assert f"can be at most {source.belief_after(0.5)}." in text


def test_the_consent_text_is_short_and_names_the_author(make):
    text = read_consent(make(SURVEYS["texts"]))
    assert "A. Researcher, 1 Main Street." in text
    assert "[retention: not stated by the author]" in text
    sentences, words = re.split(r"[.:?!] ", text), text.split()
    assert 250 <= len(words) <= 450
    assert len(words) / len(sentences) < 12
    assert sum(map(len, words)) / len(words) < 5.2


# -- part I ---------------------------------------------------------------------------------------


def test_sections_are_numbered_and_linked_and_part_one_has_no_technical_words(page):
    headings = [each.text for each in page.find("h2")]
    numbers = [int(each.partition(".")[0]) for each in headings if each[0].isdigit()]
    assert numbers == list(range(1, len(BOARD) + len(ANNEX) + 1))
    ids = {each.attributes.get("id") for tag in ("section", "main", "dt") for each in page.find(tag)}
    assert {each.attributes["href"].removeprefix("#") for each in page.find("a")} <= ids
    technical = re.compile(r"\b(odds|outcome|tokens?|bytes?|digest|ldp-survey|ldp-audit)\b")
    assert not [anchor for anchor in BOARD if technical.search(page.section(anchor).text)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "rating"),
    [("0.5", "strict"), ("0.6", "moderate"), ("1", "moderate"), ("2", "lax"), ("2.1", "very lax")],
)
def test_an_epsilon_is_rated_by_the_recommendation(make, epsilon, rating):
    facts = describe_people(make(SLEEP.replace("epsilon = 1.0", f"epsilon = {epsilon}")))
    assert f"This is {rating}: " in str(TEXTS.find("epsilon.rating", facts))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "bins", "longest", "words"),
    [
        ("SS", 4, 1, "can compute the randomised answer,"),
        ("SS", 60, 15, "can compute the randomised answer,"),  # all sets can be tried
        ("SHE", 4, 16, "can confirm a guess of the randomised answer,"),
    ],
)
def test_the_mark_of_a_long_randomised_answer_only_confirms_guesses(make, mechanism, bins, longest, words):
    survey = SLEEP.replace("bins = 4", f"bins = {bins}")
    source = make(f'{survey}\n[mechanism]\nfrequency = "{mechanism}"\n')
    assert max(question.mechanism.payload_bytes for question in source.plan.questions) == longest
    assert words in str(TEXTS.find("stored.collector", describe_people(source)))


def test_a_list_shows_the_mark_of_most_of_its_statements_once():
    assumption = TEXTS.find("withdrawal.before")
    computation = TEXTS.find("bound.proved", epsilon="1", commands=SimpleNamespace(check="a command"))
    common = find_common_mark([assumption, computation, assumption])
    assert common is not None
    assert common.has_exceptions
    assert common.covers(assumption)
    assert not common.covers(computation)
    assert find_common_mark([assumption, computation]) is None
    assert find_common_mark([assumption]) is None


# -- the aim --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_equal_shares_and_a_rare_label_are_compared(make):
    source = make(SLEEP, users=60_000)
    assert [each[0].label_shares for each in source.scenarios] == [None, (0.1, 0.9)]
    equal, rare = parse_page(render_dossier(source)).section("accuracy").find("table")
    for table, scenario in ((equal, source.scenarios[0]), (rare, source.scenarios[1])):
        [size] = scenario
        assert [row[-1] for row in table.rows()] == [each.grade for each in size.margins]
        assert bases_of(table) == [Basis.CONDITIONAL.value]
    assert "if 10% of the people answer “yes”" in rare.find("caption")[0].text
    assert (
        source.commands.rare_size == "ldp-survey size survey.toml --users 60000 --label-shares yes=0.1,no=0.9"
    )
    summary = parse_page(render_dossier(source)).section("summary").text
    assert "Can the survey reach its aim with 60,000 people?" in summary
    assert "If 10% of the people answer “yes” to “rested”, estimates are expected to be" in summary


@pytest.mark.slow
def test_given_label_shares_are_the_only_case(tmp_path):
    path = tmp_path / "survey.toml"
    path.write_text(SLEEP)
    source = read_source(path, 8000, label_shares="yes=0.3,no=0.7")
    page = parse_page(render_dossier(source))
    [table] = page.section("accuracy").find("table")
    assert "“yes” 30%, “no” 70%" in table.find("caption")[0].text
    assert source.commands.size == "ldp-survey size survey.toml --users 8000 --label-shares yes=0.3,no=0.7"
    assert "--label-shares yes=0.3,no=0.7 -o" in source.commands.dossier
    with pytest.raises(LabelSharesError, match="maybe"):
        read_source(path, 8000, label_shares="maybe=1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("users", "answer"), [(100, "No: it can show for none"), (10**8, "Yes: it can show at least roughly")]
)
def test_the_summary_answers_whether_the_aim_can_be_reached(make, users, answer):
    page = parse_page(render_dossier(make(SLEEP, users=users)))
    for anchor in ("summary", "accuracy", "questions"):
        assert answer in page.section(anchor).text


# -- the audit ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_failed_audit_is_shown_as_failed_with_its_faults(make):
    found = parse_page(render_dossier(make(TEA, faults=["freshness: it <repeats> noise"])))
    assert "FAILED" in found.section("summary").text
    assert "Fault: freshness: it <repeats> noise" in found.section("audit").text


@pytest.mark.slow
def test_the_date_and_version_of_an_audit_are_shown_if_it_has_them(make):
    text = (
        parse_page(render_dossier(make(TEA, date="2026-11-22", version="0.1.0"))).section("audit-detail").text
    )
    assert "date: 2026-11-22; version: 0.1.0" in text
    assert "neither its date" not in text


def test_an_audit_of_another_plan_is_refused(tmp_path):
    (tmp_path / "survey.toml").write_text(TEA)
    with pytest.raises(AuditError, match="another plan"):
        read_source(tmp_path / "survey.toml", audit=write_audit(tmp_path, "0" * 64))


@pytest.mark.slow
@pytest.mark.parametrize("ask", ["one", "all"])
def test_both_epsilons_of_a_relay_are_named_with_what_each_assumes(make, ask):
    source = make(apply_operations(TEA, [{"op": "relay", "value": ask}, {"op": "fit"}]))
    plan = source.plan
    shown = " ".join(parse_page(render_dossier(source)).text.split())
    assert f"Privacy limit (epsilon): {decimal_text(plan.relay.epsilon)} with a delta of" in shown
    assert "towards everybody but the relay" in shown
    together = "On the device: {}, which also holds if" if ask == "one" else "together: {}, if"
    assert f"{together.format(decimal_text(plan.epsilon))} relay and collector work together" in shown
    opens, closes = (f"{format_time(each)} UTC" for each in (plan.relay.opens, plan.relay.closes))
    assert f"When people can answer {opens} \u2013 {closes}" in shown
    assert "When the survey starts and ends" not in shown
