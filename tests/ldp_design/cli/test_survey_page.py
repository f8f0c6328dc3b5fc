"""ldp-survey page: the folder that it writes, and what it refuses."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from encoders.survey.plan_files import PEOPLE_PLANS
from ldp_aggregator.form_page.words import ENGLISH
from tests.support.commands import command
from tests.support.surveys import RELAY_KEYS, RELAYED, SLEEP, SLEEP_TEXTS

COLLECTOR = "https://collector.example"
KEY = base64.b64encode(bytes(range(32))).decode()


class Elements(HTMLParser):
    """The elements of a page, in order: their names and attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def attributes(self, tag):
        [found] = [attributes for name, attributes in self.found if name == tag]
        return found


@pytest.fixture
def survey(tmp_path):
    path = tmp_path / "sleep.toml"
    path.write_text(SLEEP + SLEEP_TEXTS, encoding="utf-8")
    return path


def write(survey, *options, check=True):
    folder = survey.parent / "site"
    return folder, command("ldp-survey", "page", survey, "-o", folder, *options, check=check)


def page_of(folder):
    return (folder / "index.html").read_text(encoding="utf-8")


def test_the_folder_has_a_page_and_the_script_with_the_hash_that_the_page_requires(survey):
    folder, result = write(survey, "--collector", f"{COLLECTOR}/")
    assert sorted(path.name for path in folder.iterdir()) == ["index.html", "ldp-survey.js"]
    script = Elements(page_of(folder)).attributes("script")
    digest = hashlib.sha384((folder / "ldp-survey.js").read_bytes()).digest()
    assert script["src"] == "ldp-survey.js"
    assert script["integrity"] == f"sha384-{base64.b64encode(digest).decode()}"
    assert "next" in result.stdout or "try it here" in result.stdout


def test_the_page_accepts_one_plan_and_connects_to_its_collector_only(survey):
    folder, _ = write(survey, "--collector", COLLECTOR, "--public-key", KEY)
    page = Elements(page_of(folder))
    plan = PEOPLE_PLANS.load(survey)
    element = page.attributes("ldp-survey")
    assert element == {"src": f"{COLLECTOR}/v1/surveys/sleep", "digest": plan.digest, "public-key": KEY}
    [policy] = [each["content"] for tag, each in page.found if "http-equiv" in each and tag == "meta"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["connect-src"] == COLLECTOR
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["script-src"] == "'self'"
    style = re.search("<style>(.*)</style>", page_of(folder))[1]
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (style, "")]
    assert rules["style-src"] == " ".join(f"'sha256-{each}'" for each in hashes)


def test_the_title_is_that_of_the_first_language_and_never_markup(survey):
    text = survey.read_text(encoding="utf-8").replace(
        "Sleep and shift work", "</title><script>alert(1)</script>"
    )
    survey.write_text(text, encoding="utf-8")
    folder, _ = write(survey, "--collector", COLLECTOR)
    page = page_of(folder)
    assert "&lt;/title&gt;&lt;script&gt;" in page
    assert page.count("<script") == 1
    assert Elements(page).attributes("html")["lang"] == "en"


def test_the_page_says_what_to_do_where_its_script_does_not_run_in_the_languages_of_the_survey(survey):
    text = survey.read_text(encoding="utf-8")
    extra = '[texts.{0}]\ntitle = "{0}"\n'
    survey.write_text(text + "".join(extra.format(each) for each in ("de-AT", "fr", "it")), encoding="utf-8")
    words = survey.parent / "words.json"
    words.write_text(json.dumps({"fr": {"blank": "Rien <b>"}}), encoding="utf-8")
    folder, _ = write(survey, "--collector", COLLECTOR, "--words", words, "--allow-english")
    shown = re.findall('<p lang="(.*?)" dir="auto">(.*?)</p>', page_of(folder))
    assert [language for language, _ in shown] == ["en", "de", "fr"]
    assert [text.split()[0] for _, text in shown] == ["If", "Wenn", "Rien"]
    assert "Rien &lt;b&gt;" in page_of(folder)


def test_words_of_further_languages_are_in_the_page(survey):
    words = survey.parent / "words.json"
    words.write_text(json.dumps({"fr": {"agree": "Oui </script>", "draw": "Un {0} deux"}}), encoding="utf-8")
    folder, _ = write(survey, "--collector", COLLECTOR, "--words", words)
    [content] = re.findall('<script type="application/json">(.*?)</script>', page_of(folder))
    assert json.loads(content) == {"fr": {"agree": "Oui </script>", "draw": "Un {0} deux"}}


def test_nobody_is_asked_for_consent_in_another_language_than_the_surveys(survey):
    text = survey.read_text("utf-8")
    titles = '[texts.ar-EG]\ntitle = "نوم"\n'
    survey.write_text(f'{text}{titles}[texts.fr]\ntitle = "Sommeil"\n', encoding="utf-8")
    _, refused = write(survey, "--collector", COLLECTOR, check=False)
    assert "the form has no words in ar-EG, fr: translate them" in refused.output
    survey.write_text(text + titles, encoding="utf-8")
    write(survey, "--collector", COLLECTOR, "--allow-english")
    words = survey.parent / "words.json"
    complete = {name: f"{text} ع" for name, text in ENGLISH.items()}
    partly = {name: text for name, text in complete.items() if name not in ("agree", "decline")}
    words.write_text(json.dumps({"ar": partly}), encoding="utf-8")
    _, refused = write(survey, "--collector", COLLECTOR, "--words", words, check=False)
    assert "the form has no words in ar-EG for agree, decline: translate them" in refused.output
    words.write_text(json.dumps({"ar": complete}), encoding="utf-8")
    write(survey, "--collector", COLLECTOR, "--words", words)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("{", "is not JSON in UTF-8"),
        ("[]", "must map language tags to words"),
        ('{"fr": "Oui"}', "must map language tags to words"),
        ('{"French": {}}', "French: is not a language tag"),
        ('{"fr": {"yess": "oui"}}', "fr.yess: is no word of the form"),
        ('{"fr": {"yes": ""}}', "fr.yes: must be a text that is not empty"),
        ('{"fr": {"yes": 1}}', "fr.yes: must be a text that is not empty"),
        ('{"fr": {"between": "{0} a"}}', r"fr.between: must contain \{0\}, \{1\}, as in English"),
        ('{"fr": {"yes": "oui {0}"}}', "fr.yes: must contain no hole"),
    ],
)
def test_words_with_a_mistake_are_refused(survey, words, why):
    path = survey.parent / "words.json"
    path.write_text(words, encoding="utf-8")
    folder, result = write(survey, "--collector", COLLECTOR, "--words", path, check=False)
    assert result.exit_code == 2
    assert re.search(why, result.stderr)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("collector.example", "must be the address of a collector"),
        ("ftp://collector.example", "must be the address of a collector"),
        ("https://", "must be the address of a collector"),
        ("https://collector.example/?x", "must be the address of a collector"),
        ("https://a:b@collector.example", "must be the address of a collector"),
        ("https://collector.example; script-src *", "must be the address of a collector"),
        ('https://collector.example"', "must be the address of a collector"),
        ("https://collector.example/v1/surveys/sleep", "must be the address of a collector"),
        ("http://collector.example", "needs https"),
        ("http://10.0.0.1:8000", "needs https"),
    ],
)
def test_an_address_that_is_no_collector_is_refused(survey, url, why):
    folder, result = write(survey, "--collector", url, check=False)
    assert result.exit_code == 2
    assert "--collector" in result.stderr
    assert why in result.stderr
    assert not folder.exists()


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "http://localhost", "http://[::1]:8000"])
def test_a_collector_on_this_machine_needs_no_https(survey, url):
    _, result = write(survey, "--collector", url)
    assert "need a collector and a page with https" in result.stdout


def test_a_survey_above_the_usual_epsilon_needs_the_authors_consent(survey):
    survey.write_text(
        survey.read_text(encoding="utf-8").replace("epsilon = 1", "epsilon = 3"), encoding="utf-8"
    )
    folder, result = write(survey, "--collector", COLLECTOR, check=False)
    assert "give --max-epsilon 3" in result.stderr
    assert not folder.exists()
    write(survey, "--collector", COLLECTOR, "--max-epsilon", 3)
    assert Elements(page_of(folder)).attributes("ldp-survey")["max-epsilon"] == "3.0"


def test_codes_need_a_relay(survey):
    _, refused = write(survey, "--collector", COLLECTOR, "--codes", check=False)
    assert "--codes: the survey has no relay" in refused.output


@pytest.mark.slow
def test_the_page_of_a_survey_that_asks_all_names_the_sum_as_its_limit(survey):
    text = RELAYED.replace("[relay]", f'[relay]\nask = "all"\n{RELAY_KEYS}')
    text = text.replace("batch = 600", "batch = 20_000")
    for epsilon, limit in (("5.2", "5.2"), ("4", "4")):
        survey.write_text(text.replace("epsilon = 2\n", f"epsilon = {epsilon}\n", 1), encoding="utf-8")
        folder, _ = write(survey)
        attributes = Elements(page_of(folder)).attributes("ldp-survey")
        assert (attributes["max-local-epsilon"], attributes["relay"]) == (limit, "https://relay.example")
        assert "max-epsilon" not in attributes
    one = text.replace('ask = "all"\n', "").replace("epsilon = 2\n", "epsilon = 4\n", 1)
    survey.write_text(one, encoding="utf-8")
    folder, _ = write(survey)
    assert "max-local-epsilon" not in Elements(page_of(folder)).attributes("ldp-survey")


def test_the_page_accepts_an_epsilon_with_many_digits(survey):
    text = re.sub("(?m)^epsilon = .*", "epsilon = 2.1972246", survey.read_text(encoding="utf-8"))
    survey.write_text(text, encoding="utf-8")
    folder, _ = write(survey, "--collector", COLLECTOR, "--max-epsilon", 2.1972246)
    assert Elements(page_of(folder)).attributes("ldp-survey")["max-epsilon"] == "2.1972246"


def test_a_page_is_written_again_but_another_page_is_not_replaced(survey):
    folder, _ = write(survey, "--collector", COLLECTOR)
    write(survey, "--collector", "https://other.example")
    assert "https://other.example/v1" in page_of(folder)
    (folder / "index.html").write_text("<h1>My page</h1><ldp-survey src='https://collector.example/v1'>")
    _, result = write(survey, "--collector", COLLECTOR, check=False)
    assert "index.html was not written by this command, and is not replaced" in result.stderr
    assert page_of(folder).startswith("<h1>My page</h1>")


@pytest.mark.parametrize("name", ["ldp-survey.js", "qr.svg"])
def test_another_file_of_the_author_is_not_replaced(survey, name):
    folder = survey.parent / "site"
    folder.mkdir()
    (folder / name).write_text("mine")
    options = ["--collector", COLLECTOR, "--qr", "https://survey.example"]
    _, result = write(survey, *options, check=False)
    assert f"{name} was not written by this command" in result.stderr
    assert [path.name for path in folder.iterdir()] == [name]


def test_a_survey_without_titles_is_written_with_a_warning(survey):
    hours = '[texts.en.features.hours]\ntitle = "Hours of sleep"\n'
    survey.write_text(f"{SLEEP}{SLEEP_TEXTS}\n{hours}", encoding="utf-8")
    _, result = write(survey, "--collector", COLLECTOR)
    assert "warning" not in result.stderr
    survey.write_text(SLEEP, encoding="utf-8")
    _, result = write(survey, "--collector", COLLECTOR)
    assert re.search(r"warning: people read the names .*hours.*: add titles in \[texts\]", result.stderr)


@pytest.mark.parametrize(
    ("option", "address"),
    [
        *[
            ("--collector", each)
            for each in ("https://[zz", "https://h:99999", "https://a:b:c", "https://:80")
        ],
        *[("--collector", each) for each in ("https://-", "https://h/..", "https://h:0", "https://h/?a=1")],
        *[("--qr", each) for each in ("https://", "https:///x", "https://[zz", 'https://u:p@h/"><script>')],
        ("--qr", "https://survey.example/" + "x" * 4000),
    ],
)
def test_an_impossible_address_is_refused(survey, option, address):
    options = {"--collector": COLLECTOR, option: address}
    folder, result = write(survey, *[each for pair in options.items() for each in pair], check=False)
    assert result.exit_code == 2
    assert f"Invalid value for {option}" in result.stderr
    assert not folder.exists()


def test_a_plan_without_its_texts_and_a_damaged_key_are_refused(survey):
    plan = survey.parent / "plan.json"
    command("ldp-survey", "compile", survey, "-o", plan)
    write(plan, "--collector", COLLECTOR)
    (survey.parent / "plan.texts.json").unlink()
    _, result = write(plan, "--collector", COLLECTOR, check=False)
    assert "give the TOML survey" in result.stderr
    _, result = write(survey, "--collector", COLLECTOR, "--public-key", "abc", check=False)
    assert "--public-key" in result.stderr


def test_a_qr_code_of_the_address_is_drawn(survey):
    pytest.importorskip("segno")
    folder, _ = write(survey, "--collector", COLLECTOR, "--qr", "https://survey.example/")
    assert b"<svg" in (folder / "qr.svg").read_bytes()
    _, result = write(survey, "--collector", COLLECTOR, "--qr", "survey.example", check=False)
    assert "must be the https address of the page" in result.stderr
