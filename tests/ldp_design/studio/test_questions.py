"""Questions in a real browser: fields, mistakes, names, order and what is being typed."""

import re

import pytest
from playwright.sync_api import expect

from ldp_design.authoring.toml_patch import parse_tables
from tests.ldp_design.studio.browser_author import EXAMPLE, Author
from tests.support.browser import assert_accessible
from tests.support.studio import run_studio

pytestmark = pytest.mark.slow

NEW = pytest.mark.parametrize("author", [(None, {})], indirect=True)


SLOW_SERVER = """
    const quick = fetch;
    fetch = async (...request) => {
        await new Promise((go) => setTimeout(go, 400));
        return quick(...request);
    };
"""


@NEW
def test_no_text_is_lost_when_somebody_types_faster_than_the_server_answers(author):
    author.page.add_init_script(SLOW_SERVER)
    page = author.open()
    page.get_by_label("A second language").select_option("de")
    page.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_label("Question, English").focus()
    typed = ("When do you work?", "Wann arbeiten Sie?", "In most weeks", "Meistens", "By day", "Tagsüber")
    for text in typed:
        page.keyboard.type(text)
        page.keyboard.press("Tab")
    page.get_by_text("Short names, in the file").click()
    page.get_by_label("Short name of answer 2").fill("nights")
    page.get_by_label("Answer 2, English").fill("At night")
    page.get_by_label("Answer 2, German").fill("Nachts")
    page.get_by_label("Question, English").fill("When do you usually work?")
    page.get_by_label("Short name of the question").fill("shift")
    page.get_by_label("Help below it, German").fill("Fast immer")
    page.keyboard.press("Control+s")
    expect(page.locator("#save")).to_be_disabled()
    expect(page.get_by_label("Help below it, German")).to_have_value("Fast immer")
    page.locator("#add-yesno").click()
    expect(page.get_by_label("Question, English")).to_be_focused()
    tables = parse_tables(author.studio.path.read_text("utf-8"))
    assert tables["features"] == {"shift": {"values": ["by day", "nights"], "missing": "category"}}
    assert [tables["texts"][tag]["features"]["shift"] for tag in ("en", "de")] == [
        {
            "title": "When do you usually work?",
            "help": "In most weeks",
            "values": {"by day": "By day", "nights": "At night"},
        },
        {
            "title": "Wann arbeiten Sie?",
            "help": "Fast immer",
            "values": {"by day": "Tagsüber", "nights": "Nachts"},
        },
    ]


def test_the_open_question_stays_open_whatever_happens_to_it_or_others(author):
    page = author.open()

    def is_open(name: str) -> None:
        expect(page.locator("[aria-expanded=true]")).to_have_count(1)
        expect(page.locator("[aria-expanded=true]")).to_have_text(name)

    page.locator(".question h3 button", has_text="income").click()
    is_open("income")
    page.get_by_role("button", name="Move up: income").click()
    is_open("income")
    page.get_by_role("button", name="Delete: age").click()
    is_open("income")
    author.fill("Short name of the question", "earnings")
    is_open("earnings")
    for name in ("income", "income", "income"):
        page.get_by_role("button", name="Undo").click()
        is_open(name)
    expect(page.get_by_role("button", name="Delete: age")).to_be_visible()
    page.get_by_role("button", name="Delete: income").click()
    expect(page.locator("[aria-expanded=true]")).to_have_count(0)


def test_a_condition_on_a_yes_no_question_shows_words(author):
    page = author.open()
    page.get_by_label("Add a language").select_option("de")
    page.locator("#add-yesno").click()
    expect(page.get_by_label("Question, German")).to_be_focused()
    page.locator(".question h3 button", has_text="income").click()
    page.get_by_label("Ask only people who answered").select_option("question-5")
    answers = page.get_by_label("this", exact=True).locator("option")
    expect(answers).to_have_text(["Ja", "Nein"])  # of the survey
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Undo").click()


def test_a_question_without_text_is_a_mistake_at_its_field(author):
    page = author.open()
    page.get_by_label("Add a language").select_option("en")
    page.locator(".question h3 button", has_text="income").click()
    field = page.get_by_label("Question, English")
    expect(field).to_have_attribute("aria-invalid", "true")
    why = page.locator(f"#{field.get_attribute('aria-describedby')}")
    expect(why).to_contain_text("missing: people would read the short name")
    author.fill("Question, English", "What do you earn?")
    expect(field).not_to_have_attribute("aria-invalid", "true")
    author.save()
    author.go("publish")
    expect(page.get_by_role("button", name="Download all as a zip")).to_be_disabled()


def test_mistakes_stand_at_their_field_and_undo_takes_them_back(author):
    page = author.open()
    page.get_by_role("button", name="income").first.click()
    author.fill("Number of bins", "1")
    field = page.get_by_label("Number of bins")
    expect(field).to_have_attribute("aria-invalid", "true")
    why = page.locator(f"#{field.get_attribute('aria-describedby')}")
    expect(why).to_contain_text("from 2 to 1000")
    expect(page.get_by_text("mistakes: 1").first).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(field).to_have_value("8")
    expect(field).not_to_have_attribute("aria-invalid", "true")


@pytest.mark.parametrize("author", [(EXAMPLE, {"locale": "de-DE"})], indirect=True)
def test_mistakes_are_german_in_the_german_studio_or_marked_as_english(author):
    page = author.open()
    page.get_by_role("button", name="income").first.click()
    author.fill("Zahl der Klassen", "1")
    expect(page.get_by_text("braucht eine ganze Zahl von Klassen, von 2 bis 1000")).to_be_visible()
    author.fill("Zahl der Klassen", "8")
    author.go("file")
    page.get_by_label("survey.toml").fill("[survey]\nid = 'x'\nepsilon = 1\n[waves]\nfirst = 5\n")
    page.get_by_role("button", name="Diesen Text verwenden").click()
    expect(page.locator(".mistakes [lang=en]").first).to_be_visible()


def test_a_question_that_is_compared_no_more_returns_to_its_place(author):
    page = author.open()
    page.get_by_label("Compare people by").select_option("")
    names = page.locator(".question h3 button")
    expect(page.locator("#card-label")).to_have_count(0)
    before = names.all_inner_texts()
    options = page.locator("#target option").all_inner_texts()
    for place in (2, 1, 0):
        page.get_by_label("Compare people by").select_option(index=place)
        expect(page.locator("#card-label")).to_have_count(int(place > 0))
        expect(page.locator("#target option")).to_have_text(options)
    expect(names).to_have_text(before)


@NEW
def test_a_short_name_follows_the_text_of_which_it_was_made(author):
    page = author.open()
    page.get_by_role("button", name="Begin", exact=True).click()
    for first, second in (("On 1 to 3 days", "On 1 to 3 days"), ("Never", "On 1 to 3 days")):
        author.fill("Answer 1, English", first)
        author.fill("Answer 2, English", second if first == "Never" else "Often")
    author.fill("Question, English", "How are you?")
    author.fill("Question, English", "How do you sleep?")
    expect(page.get_by_label("Short name of the question")).to_have_value("how_do_you_sleep")
    author.save()
    tables = parse_tables(author.studio.path.read_text("utf-8"))
    assert tables["features"]["how_do_you_sleep"]["values"] == ["never", "on 1 to 3 days"]


def test_300_questions_stay_usable(chromium, tmp_path):
    text = EXAMPLE + "".join(f'\n[features.q{i}]\nvalues = ["a", "b", "c"]\n' for i in range(300))
    with run_studio(tmp_path, text) as studio:
        author = Author(chromium, studio)
        page = author.open()
        page.locator("#card-299").click()
        author.fill("Short name of the question", "renamed")
        expect(page.get_by_role("button", name="renamed").first).to_be_visible()
        assert_accessible(page)
        author.context.close()
        assert author.errors == []


@NEW
def test_answers_are_written_with_enter_and_no_button_stands_between_them(author):
    page = author.open()
    expect(page.get_by_label("What is the survey called?")).to_be_focused()
    page.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_label("Answer 1, English").fill("By car")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Answer 2, English")).to_be_focused()
    page.keyboard.type("By bus")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Answer 3, English")).to_be_focused()
    page.keyboard.type("On foot")
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_label("Answer 2, English")).to_be_focused()
    page.keyboard.press("Alt+ArrowUp")
    expect(page.get_by_label("Answer 1, English")).to_have_value("By bus")
    expect(page.get_by_label("Answer 1, English")).to_be_focused()
    page.keyboard.press("Alt+Delete")
    expect(page.get_by_label("Answer 3, English")).to_have_count(0)
    expect(page.locator("#live")).to_contain_text("was deleted")
    assert 'values = ["by car", "on foot"]' in author.save()


@NEW
def test_a_kind_chosen_with_the_keyboard_leads_to_the_question_and_then_to_its_limits(author):
    page = author.open()
    page.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_label("Kind of answer").focus()
    page.keyboard.type("A number")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Smallest number")).to_be_visible()
    expect(page.get_by_label("Question, English")).to_be_focused()
    for name in ("Help below it, English", "Words for leaving it out, English", "Smallest number"):
        page.keyboard.press("Tab")
        expect(page.get_by_label(name)).to_be_focused()


def test_the_count_of_mistakes_leads_to_the_field(author):
    page = author.open()
    page.get_by_role("button", name="income").first.click()
    author.fill("Number of bins", "1")
    page.get_by_role("button", name="income").first.click()
    author.go("publish")
    page.get_by_role("button", name="mistakes: 1").click()
    expect(page.get_by_label("Number of bins")).to_be_focused()
    page.get_by_role("button", name="Undo").click()
    author.go("file")
    page.get_by_label("survey.toml").fill(EXAMPLE + "\n[colours]\n")
    page.get_by_role("button", name="Use this text").click()
    author.go("questions")
    page.get_by_role("button", name="mistakes: 1").click()
    expect(page.get_by_text("colours: ")).to_be_visible()


def test_a_new_question_is_no_mistake_before_its_field_was_left(author):
    page = author.open()
    page.get_by_label("Add a language").select_option("en")
    expect(page.locator("#wrong")).to_have_text("mistakes: 5")
    page.locator("#add-yesno").click()
    field = page.get_by_label("Question, English")
    expect(field).to_be_focused()
    expect(field).not_to_have_attribute("aria-invalid", "true")
    expect(page.locator("#wrong")).to_have_text("mistakes: 5")
    page.keyboard.press("Tab")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#wrong")).to_have_text("mistakes: 6")


@NEW
def test_missing_texts_are_counted_and_unlisted_answers_warn_only_if_an_answer_is_needed(author):
    page = author.open()
    page.get_by_label("A second language").select_option("de")
    page.get_by_role("button", name="Begin", exact=True).click()
    author.fill("Question, English", "How do you travel?")
    expect(page.locator(".status")).to_contain_text("missing texts:")
    expect(page.locator(".kind .lacking")).to_contain_text("missing texts:")
    page.get_by_role("button", name="missing texts:").click()
    expect(page.locator(":focus")).to_have_attribute("placeholder", re.compile("^missing"))
    page.get_by_role("button", name="Add an answer").click()
    author.fill("Answer 3, English", "By car")
    warning = page.get_by_text("“How do you travel?”: people whose answer is not listed")
    expect(page.get_by_text("whose answer is not listed")).to_have_count(0)
    page.get_by_label("May be left out").uncheck()
    expect(warning).to_be_visible()


@NEW
def test_the_short_name_of_the_survey_follows_its_title_until_it_is_typed_or_published(author):
    page = author.open()
    page.get_by_role("button", name="Begin", exact=True).click()
    short = page.get_by_label("Short name of the survey")
    expect(short).to_have_value("my-survey")
    author.fill("Question, English", "How do you sleep?")
    author.fill("Title, English", "M\u00fcdigkeit in der Stra\u00dfe & caf\u00e9")
    expect(short).to_have_value("muedigkeit-in-der-strasse-cafe")
    author.fill("Title, English", "\u7761\u7720")
    expect(short).to_have_value("my-survey")
    author.fill("Title, English", "Sleep")
    expect(short).to_have_value("sleep")
    author.fill("Short name of the survey", "mine")
    author.fill("Title, English", "Other sleep")
    author.save()
    expect(short).to_have_value("mine")
    author.fill("Short name of the survey", "other-sleep")
    author.save()
    author.go("publish")
    page.get_by_role("button", name="Make a key and sign").click()
    expect(page.get_by_role("button", name="This survey is signed")).to_be_visible()
    author.go("questions")
    author.fill("Title, English", "Sleep again")
    assert 'id = "other-sleep"' in author.save()


@NEW
def test_a_scale_begins_with_five_answers(author):
    page = author.open()
    page.get_by_role("button", name="Begin", exact=True).click()
    page.locator("#add-scale").click()
    expect(page.get_by_label("Question, English")).to_be_focused()
    expect(page.get_by_label("Answer 5, English")).to_be_visible()


@NEW
def test_the_start_page_cannot_be_saved_and_undo_leads_back_to_it(author):
    page = author.open()
    page.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("What is the survey called?")).to_be_visible()
    expect(page.locator("#save")).to_have_count(0)
    page.keyboard.press("Control+s")
    page.get_by_role("button", name="Begin", exact=True).click()
    expect(page.get_by_label("Question, English")).to_be_visible()


def test_a_deleted_question_names_its_table_and_a_number_without_bins_says_why_it_cannot_be_in_one(author):
    page = author.open()
    expect(page.get_by_text("): debt")).to_be_visible()
    for name in ("age", "income"):
        page.get_by_role("group", name="Questions with one answer").get_by_label(name).check()
    page.get_by_role("button", name="Ask these together").click()
    page.get_by_role("button", name="Delete: income").click()
    expect(page.locator("#message.notice")).to_contain_text("Undo brings both back")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("age \u00d7 income")).to_be_visible()
