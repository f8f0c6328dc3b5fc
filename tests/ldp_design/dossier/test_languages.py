"""Pages in other languages: German is complete, templates hold no words, and files add languages."""

import json
import re
from importlib.resources import files

import pytest
from click.testing import CliRunner

from encoders.errors import SurveyError
from ldp_aggregator.views.results_page import render_page
from ldp_aggregator.wording.language import LANGUAGE, Language, choose_language, read_words, write_in
from ldp_aggregator.wording.values import (
    Count,
    Counted,
    FirstNames,
    Share,
    ShareAtMost,
    format_percent,
    write_bins,
    write_time,
)
from ldp_design.cli.survey import main as survey_command
from ldp_design.dossier.people_dossier import render_dossier
from ldp_design.dossier.silo_dossier import read_silo_source, render_silo_dossier
from tests.ldp_aggregator.views.samples import make_results
from tests.ldp_design.dossier.surveys import NUMBERS, SURVEYS, fixed_forecasts, make_source
from tests.support.html_page import parse_page
from tests.support.languages import DOSSIER, RESULTS, find_unmarked, make_marked, read_german, write_marked
from tests.support.silo_surveys import read_silo_survey
from tests.support.surveys import SLEEP, SLEEP_TEXTS

ENGLISH = {name: text for each in DOSSIER for name, text in each.english.items()}
USED = re.compile(r"wording/|statements/|dossier/|sizing/(accuracy|cells|margins|silo_margins)\.")
PACKAGES = ("ldp_aggregator.statements", "ldp_design.dossier")
TEMPLATES = ("ldp_aggregator.render", "ldp_aggregator.views", "ldp_design.dossier")
PAGES = ["survey", "round", "pooled", "validated", "empty", "useless", "choices", "tables", "waves"]
PAGES += ["curator-nb", "curator-linear", "curator-tree"]
PROGRAMS = (
    "default discount ldp bayes train simulate survey size validate audit csv commit json central cli docs "
    "md results estimates pandas read dtype dict value str keep default False values strings"
)
"""Words of commands, code and file names, which pages in all languages have."""


@pytest.fixture(scope="module")
def german():
    return read_german(DOSSIER)


def test_german_has_every_word_of_english_with_its_holes():
    found = {}
    for package in PACKAGES:
        data = files(package).joinpath("texts/words-de.json").read_bytes()
        found |= read_words(data, ENGLISH)["de"]  # refuses other holes
    assert found.keys() == {name for name in ENGLISH if USED.match(name)}
    words = {
        name: re.findall(r"[a-z]{3,}", re.sub(r"\{\{.*?\}\}", "", text)) for name, text in ENGLISH.items()
    }
    same = [name for name, text in found.items() if text == ENGLISH[name] and len(words[name]) > 3]
    assert same == []


def test_the_names_of_words_are_unique():
    for texts in DOSSIER:
        entries = [
            line
            for file in files(texts.package).joinpath("texts").iterdir()
            if file.name.endswith(".md")
            for line in file.read_text("utf-8").splitlines()
            if re.match("###? ", line)
        ]
        assert len(entries) == len(texts.english)


@pytest.mark.parametrize("package", TEMPLATES)
def test_templates_hold_no_words(package):
    for file in files(package).joinpath("templates").iterdir():
        if not file.name.endswith(".html") or file.name == "progress.html":
            continue
        text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", file.read_text("utf-8"), flags=re.DOTALL)
        labels = re.findall(r'(?:aria-label|alt|title)="([^"]*)"', text)
        assert not re.search("[A-Za-z]{2}", " ".join([*labels, re.sub("<[^>]*>", "", text)])), file.name


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_every_word_of_the_results_page_is_from_a_text_file(name):
    results = make_results(name)
    page = parse_page(write_marked(RESULTS, render_page, results))
    known = f"{results.plan!r} {results.plan.texts!r} {results.privacy!r} {results.build} {PROGRAMS}"
    assert find_unmarked(page.find("main")[0].text, known) == set()


def test_every_word_of_the_comparison_is_from_a_text_file():
    first, second = make_results("survey"), make_results("other")
    page = parse_page(write_marked(RESULTS, render_page, first, second))
    known = f"{first.plan!r} {second.plan!r} {first.privacy!r} {first.build} {PROGRAMS}"
    assert find_unmarked(page.find("main")[0].text, known) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["discrete", "numbers", "invitation", "projection", "validation"])
def test_every_word_of_part_one_of_the_dossier_is_from_a_text_file(name, tmp_path):
    with fixed_forecasts():
        source = make_source(tmp_path, SURVEYS[name], users=2000)
        page = parse_page(write_marked(DOSSIER, render_dossier, source))
    known = f"{source.plan!r} {source.plan.texts!r} {PROGRAMS}"
    for section in ("summary", "purpose", "asked", "flow", "visible", "epsilon", "accuracy", "consent"):
        assert find_unmarked(page.section(section).text, known) == set()


@pytest.mark.slow
def test_every_word_of_part_one_of_a_silo_dossier_is_from_a_text_file(tmp_path):
    source = read_silo_source(read_silo_survey(), tmp_path / "wards.toml", 20_000, 4, None)
    page = parse_page(write_marked(DOSSIER, render_silo_dossier, source))
    for section in ("summary", "asked", "flow", "visible", "epsilon", "accuracy", "not-covered"):
        assert find_unmarked(page.section(section).text, f"{source.plan!r} label shares {PROGRAMS}") == set()


def test_german_numbers_and_plurals(german):
    with write_in(german):
        assert str(Count(12_345)) == "12.345"
        assert str(Share(0.5391)) == "53,9\u00a0%"
        assert str(ShareAtMost(0.9995)) == "99,96\u00a0%"  # rounded up
        assert write_time("2026-03-31 12:05") == "31.03.2026, 12:05 UTC"
        assert format_percent(0.0001) == "<0,1\u00a0%"
        assert [str(Counted(each, "report")) for each in (0, 1, 2000)] == [
            "0 Berichte",
            "1 Bericht",
            "2.000 Berichte",
        ]
        assert str(FirstNames("abcdefghij")).endswith("h und 2 weitere")
        assert write_bins(["0", "2.5", "5", "10"]) == ["unter 2,5", "2,5 bis 5", "5 und mehr"]
    assert str(Counted(1, "report")) == "1 report"
    assert LANGUAGE.get().tag == ""


@pytest.mark.slow
def test_a_german_page_states_its_language_and_has_no_english_numbers(german, tmp_path):
    with fixed_forecasts(), write_in(german):
        pages = [render_page(make_results(each)) for each in ("survey", "shares")]
        pages.append(render_dossier(make_source(tmp_path, NUMBERS)))
    for data in pages:
        page = parse_page(data)
        assert b'<html lang="de">' in data
        quoted = [each.text for each in page.find("bdi") if each.attributes.get("lang") == "en"]
        text = page.find("main")[0].text
        for each in quoted:
            text = text.replace(each, "")
        assert not re.search(r"\d%", text)


@pytest.mark.slow
def test_hostile_texts_stay_escaped_in_german(german, tmp_path):
    with write_in(german):
        page = render_dossier(make_source(tmp_path, SURVEYS["hostile"])).decode()
        page += render_page(make_results("hostile")).decode()
    assert "<script" not in page
    assert "<img" not in page
    assert "<b>" not in page


def test_words_of_a_translator_are_escaped():
    marked = make_marked()
    words = {
        **marked.words,
        "wording/page.summary": '"><script>x</script>',
        "statements/headings.shares": "<b>",
    }
    with write_in(Language("zz", words)):
        page = render_page(make_results("shares")).decode()
    assert "<script" not in page
    assert "<h2><bdi>&lt;b&gt;</bdi></h2>" in page


# -- which language a page has ----------------------------------------------------------------------


WORDS = {"de": {"a": "x"}, "pt": {"a": "x"}, "fr": {}}


@pytest.mark.parametrize(
    ("asked", "offered", "tag", "words"),
    [
        ("", ["de", "en"], "de", 1),
        ("", ["de-AT"], "de-AT", 1),
        ("", ["en", "de"], "en", 0),
        ("", ["nl", "de"], "", 0),
        ("", [], "en", 0),
        ("pt-BR", ["en"], "pt-BR", 1),
        ("en", ["de"], "en", 0),
    ],
)
def test_the_language_is_the_one_asked_or_the_first_of_the_survey_with_words(asked, offered, tag, words):
    found = choose_language(asked, offered, WORDS, ["a"])
    assert (found.tag, len(found.words)) == (tag, words)


def test_a_language_without_words_or_with_too_few_is_refused():
    with pytest.raises(SurveyError, match="nl: has no words: add them with --words, or choose en, de"):
        choose_language("nl", [], WORDS, ["a"])
    with pytest.raises(SurveyError, match="fr: 1 words are missing, for example a"):
        choose_language("", ["fr"], WORDS, ["a"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("P({{ x }})", "must contain no hole"),
        ("a | b", "must have the marks"),
        ("{ a", "must have the marks"),
    ],
)
def test_a_translation_keeps_holes_and_marks(text, why):
    name = "wording/page.summary"
    with pytest.raises(SurveyError, match=f"fr.{name}: {why}"):
        read_words(json.dumps({"fr": {name: text}}).encode(), ENGLISH)


@pytest.mark.slow
def test_a_file_adds_a_language_to_the_dossier(tmp_path):
    survey, output = tmp_path / "survey.toml", tmp_path / "page.html"
    survey.write_text(SLEEP + SLEEP_TEXTS, encoding="utf-8")
    words = tmp_path / "fr.json"
    words.write_text(json.dumps({"fr": dict(make_marked(DOSSIER).words)}), encoding="utf-8")
    arguments = ["dossier", str(survey), "-o", str(output), "--users", "2000", "--language", "fr"]
    with fixed_forecasts():
        refused = CliRunner().invoke(survey_command, arguments)
        written = CliRunner().invoke(survey_command, [*arguments, "--words", str(words)])
    assert refused.exit_code == 2
    assert "fr: has no words" in refused.output
    assert written.exit_code == 0, written.output
    assert '<html lang="fr">' in output.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(("first", "skip"), [("de", "Zum Dossier springen"), ("fr", "Skip to the dossier")])
def test_a_dossier_is_in_the_first_language_of_the_survey_if_it_has_words(first, skip, tmp_path):
    survey, output = tmp_path / "survey.toml", tmp_path / "page.html"
    survey.write_text(f'{SLEEP}[texts.{first}]\ntitle = "S"\n[texts.en]\ntitle = "E"\n', encoding="utf-8")
    with fixed_forecasts():
        arguments = ["dossier", str(survey), "-o", str(output), "--users", "2000"]
        assert CliRunner().invoke(survey_command, arguments).exit_code == 0
    assert skip in output.read_text("utf-8")
