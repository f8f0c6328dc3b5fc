"""A person answers the survey on its page: questions, preview, consent, receipt, withdrawal, languages."""

import json
import re

import pytest
from playwright.sync_api import Route, expect

from tests.clients.form.conftest import answer_all, expect_status, question
from tests.support.browser import press
from tests.support.commands import command
from tests.support.servers import collector

pytestmark = pytest.mark.slow

AGREE, DECLINE, SHOW = "Yes, send", "No, send nothing", "Show what would be sent"
OUTCOMES = """globalThis.outcomes = [];
    addEventListener("ldp-outcome", ({ detail }) => outcomes.push(detail));"""


def test_an_answer_is_sent_once_and_counted(visit, site):
    before = site.count()
    page = visit(OUTCOMES)
    expect_status(page, "Nothing was sent. Please decide")
    answer_all(page)
    press(page, AGREE)
    expect_status(page, "has arrived")
    assert site.count() == before + 1
    assert page.get_by_role("button", name=AGREE).count() == 0
    page.reload()
    expect_status(page, "has arrived")
    expect(page.locator("form")).to_be_hidden()
    assert site.count() == before + 1
    page.wait_for_timeout(100)
    for outcome in page.evaluate("outcomes"):
        assert outcome.keys() == {"state", "reason"}


def test_texts_of_the_survey_are_never_markup(visit):
    page = visit()
    expect(page.get_by_role("heading", level=1)).to_have_text("Health & habits")
    expect(page.get_by_text("To learn <b>why</b> people are ill.")).to_be_visible()
    expect(page.get_by_text("A. Researcher")).to_have_text("A. Researcher\na@example.org")


def test_the_promise_is_rounded_up(visit):
    page = visit()
    expect(page.get_by_text("by a factor of at most 2.72")).to_be_visible()
    expect(page.get_by_text("can be at most 73.2% sure")).to_be_visible()


def test_a_question_that_does_not_concern_the_person_is_hidden_and_needs_no_answer(visit):
    page = visit()
    cigarettes = question(page, "How many cigarettes a day?")
    expect(cigarettes).to_be_hidden()
    question(page, "Do you smoke?").get_by_label("Yes").check()
    expect(cigarettes).to_be_visible()
    question(page, "What did you drink today?").get_by_label("Coffee").check()
    expect(cigarettes).to_be_hidden()
    question(page, "What did you drink today?").get_by_label("Coffee").uncheck()
    expect(cigarettes).to_be_visible()
    answer_all(page, smokes="No")
    expect(cigarettes).to_be_hidden()
    press(page, AGREE)
    expect_status(page, "has arrived")


def test_open_questions_are_listed_and_nothing_is_sent(visit, site):
    before = site.count()
    page = visit()
    question(page, "Do you smoke?").get_by_label("Yes").check()
    press(page, AGREE)
    expect_status(page, "Nothing was sent. Please look at these questions")
    links = page.get_by_role("status").get_by_role("link")
    assert links.all_inner_texts() == [
        "How many cigarettes a day?",
        "Where do you live?",
        "What did you drink today?",
        "How long did you sleep?",
        "Were you ill this winter?",
    ]
    links.first.click()
    assert (
        page.evaluate("document.querySelector('ldp-survey').shadowRoot.activeElement.tagName") == "FIELDSET"
    )
    expect(question(page, "Where do you live?")).to_contain_text("Please answer this.")
    answer_all(page)
    press(page, AGREE)
    expect_status(page, "has arrived")
    assert site.count() == before + 1


def test_numbers_may_have_a_point_or_a_comma_and_the_digits_of_any_keyboard(visit):
    page = visit()
    answer_all(page)
    heading = page.get_by_role("heading", name="What would be sent")
    for text in ["12", " 12 ", "0", "60", "7.5", "7,5", "\u0661\u0662", "\u06f7\u066b\u06f5"]:
        question(page, "How many cigarettes a day?").get_by_role("textbox").fill(text)
        expect(heading).to_have_count(0)
        press(page, SHOW)
        expect(heading).to_be_visible()


def test_a_number_that_does_not_fit_is_refused(visit):
    page = visit()
    answer_all(page)
    problem = question(page, "How many cigarettes a day?").locator("[part=problem]")
    for text in ["61", "-1", "twelve", "1,000", "12.", "1e1", "0x10", "12 13,5"]:
        question(page, "How many cigarettes a day?").get_by_role("textbox").fill(text)
        press(page, SHOW)
        expect(problem).to_contain_text("A number from 0 to 60")
        links = page.get_by_role("status").get_by_role("link")
        assert links.all_inner_texts() == ["How many cigarettes a day?"]
    assert page.get_by_role("table").count() == 0


def test_no_answer_is_an_answer_and_excludes_the_others(visit):
    page = visit()
    answer_all(page)
    drinks = question(page, "What did you drink today?")
    drinks.get_by_label("I do not want to answer").check()
    expect(drinks.get_by_label("Tea")).not_to_be_checked()
    drinks.get_by_label("Milk").check()
    expect(drinks.get_by_label("I do not want to answer")).not_to_be_checked()
    drinks.get_by_label("None of these").check()
    expect(drinks.get_by_label("Milk")).not_to_be_checked()
    cigarettes = question(page, "How many cigarettes a day?")
    cigarettes.get_by_label("I do not want to answer").check()
    expect(cigarettes.get_by_role("textbox")).to_have_value("")
    press(page, AGREE)
    expect_status(page, "has arrived")


def test_a_preview_lists_every_answer_and_disappears_when_an_answer_changes(visit):
    page = visit()
    answer_all(page)
    press(page, SHOW)
    table = page.get_by_role("table")
    expect(table).to_contain_text("(Your answer)")
    shares = [float(each) for each in re.findall(r"([\d.]+)%", table.inner_text())]
    assert sum(shares) <= 101
    question(page, "Do you smoke?").get_by_label("No", exact=True).check()
    expect(table).to_have_count(0)


def test_the_language_changes_and_the_answers_stay(visit):
    page = visit(locale="de-AT")
    expect(page.get_by_role("heading", level=1)).to_have_text("Gesundheit & Gewohnheiten")
    question(page, "Rauchen Sie?").get_by_label("Ja").check()
    question(page, "How many cigarettes a day?").get_by_role("textbox").fill("7,5")
    page.get_by_label("Sprache").select_option("en")
    expect(question(page, "Do you smoke?").get_by_label("Yes")).to_be_checked()
    expect(question(page, "How many cigarettes a day?").get_by_role("textbox")).to_have_value("7,5")
    answer_all(page)
    press(page, AGREE)
    expect_status(page, "has arrived")
    page.get_by_label("Language").select_option("de")
    expect_status(page, "ist angekommen")


def test_texts_of_another_language_are_marked(visit):
    page = visit(locale="ar")
    root = page.locator("[part=survey]")
    expect(root).to_have_attribute("lang", "en")  # the form itself has no Arabic words
    title = page.get_by_role("heading", level=1)
    expect(title).to_have_attribute("lang", "ar")
    expect(title).to_have_attribute("dir", "rtl")
    expect(question(page, "Do you smoke?").locator("legend")).not_to_have_attribute("dir", re.compile(".*"))


def test_words_of_a_language_whose_tag_begins_alike_are_not_used(visit, site):
    words = site.folder / "words.json"
    words.write_text('{"enm": {"questions": "Questiouns"}}', encoding="utf-8")
    survey, folder = site.folder / "habits.toml", site.folder / "page" / "middle-english"
    options = ["--collector", site.collector, "-o", folder, "--words", words, "--allow-english"]
    command("ldp-survey", "page", survey, *options)
    wanted = "Object.defineProperty(navigator, 'languages', { value: ['enm', 'en'] })"
    page = visit(wanted, path="middle-english/")
    expect(page.locator("[part=survey]")).to_have_attribute("lang", "en")
    expect(page.get_by_role("heading", name="Questiouns")).to_have_count(0)


def test_declining_sends_nothing_and_can_be_changed(visit, site):
    before = site.count()
    page = visit()
    answer_all(page)
    press(page, DECLINE)
    expect_status(page, "You do not take part")
    expect(question(page, "Do you smoke?").get_by_label("Yes")).not_to_be_checked()
    assert site.count() == before


def test_a_waiting_answer_can_be_withdrawn(visit, site):
    before = site.count()
    page = visit(expected_error="ERR_INTERNET_DISCONNECTED")
    expect_status(page, "Nothing was sent. Please decide")
    page.context.set_offline(True)
    answer_all(page)
    press(page, AGREE)
    expect_status(page, "stored in this browser")
    press(page, "Withdraw my answer")
    expect_status(page, "You have withdrawn")
    page.context.set_offline(False)
    page.reload()
    expect_status(page, "You have withdrawn")
    assert site.count() == before


def test_global_privacy_control_is_obeyed_and_explained(visit):
    page = visit("Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', { value: true })")
    expect(page.locator("ldp-survey")).to_contain_text("Global Privacy Control")
    assert page.locator("form").count() == 0


def test_an_insecure_page_says_so_in_the_persons_language(visit):
    page = visit("Object.defineProperty(globalThis, 'isSecureContext', { value: false })", locale="de")
    expect(page.locator("ldp-survey")).to_contain_text("nicht über https geladen")
    assert page.locator("form").count() == 0


def test_another_survey_at_the_collector_is_refused(visit, site):
    page = visit()
    expect_status(page, "Nothing was sent. Please decide")
    page.evaluate(
        """() => {
            const element = document.querySelector("ldp-survey");
            const other = element.cloneNode();
            other.setAttribute("digest", "0".repeat(64));
            element.replaceWith(other);
        }"""
    )
    expect_status(page, "made for another version of the survey")


def test_a_receipt_is_shown_even_if_the_survey_cannot_be_reached_any_more(visit, site):
    page = visit(expected_error="410 (Gone)")
    answer_all(page)
    press(page, AGREE)
    expect_status(page, "has arrived")
    closed = {
        "status": 410,
        "json": {"reason": "survey-closed"},
        "headers": {"Access-Control-Allow-Origin": "*"},
    }
    page.route(f"{site.collector}/**", lambda route: route.fulfill(**closed))
    page.evaluate(
        "document.querySelector('ldp-survey').replaceWith(document.querySelector('ldp-survey').cloneNode())"
    )
    expect_status(page, "has arrived")
    other = page.evaluate_handle("document.querySelector('ldp-survey').cloneNode()")
    other.evaluate(
        """(element) => {
            element.setAttribute("person", "another");
            document.querySelector("ldp-survey").replaceWith(element);
        }"""
    )
    expect_status(page, "The survey is closed")


def test_a_rehearsal_sends_and_keeps_nothing(visit, site):
    before = site.count()
    page = visit()
    page.evaluate(
        """() => {
            const element = document.querySelector("ldp-survey");
            const other = element.cloneNode();
            other.setAttribute("rehearsal", "");
            element.replaceWith(other);
        }"""
    )
    expect_status(page, "This is a rehearsal")
    answer_all(page)
    press(page, AGREE)
    expect(page.get_by_role("status")).to_have_text("This is a rehearsal: nothing is sent or stored.")
    page.wait_for_timeout(2500)
    page.reload()
    expect_status(page, "Nothing was sent. Please decide")
    assert site.count() == before


def test_an_element_that_moves_in_the_page_goes_on(visit, site):
    page = visit()
    expect_status(page, "Nothing was sent. Please decide")
    page.evaluate("document.body.append(document.querySelector('ldp-survey'))")
    expect_status(page, "Nothing was sent. Please decide")
    answer_all(page)
    press(page, AGREE)
    expect_status(page, "has arrived")


def test_a_collector_serves_the_page_of_a_test_run_and_the_page_says_who_delivers_it(site, chromium):
    survey = site.folder / "habits.toml"
    store = f"sqlite:///{site.folder}/test_run.db"
    with collector([survey], store, workers=1, options=["--page"]) as (base, _):
        page = chromium.new_page(locale="en")
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))
        page.goto(f"{base}/s/habits")
        expect(page.get_by_text("The collector delivers this page too")).to_be_visible()
        answer_all(page)
        press(page, AGREE)
        expect_status(page, "has arrived")
        assert errors == []


def test_answers_do_not_outlive_the_element(visit, site):
    """One person leaves, and the host shows the same element to the next one."""
    before = site.count()
    page = visit()
    answer_all(page)
    page.evaluate(
        """() => {
            const element = document.querySelector("ldp-survey");
            element.remove();
            element.setAttribute("person", "next");
            document.body.append(element);
        }"""
    )
    expect_status(page, "Nothing was sent. Please decide")
    expect(question(page, "Do you smoke?").get_by_label("Yes")).not_to_be_checked()
    press(page, AGREE)
    expect_status(page, "Nothing was sent. Please look at these questions")
    answer_all(page)
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    expect(question(page, "Do you smoke?").get_by_label("Yes")).not_to_be_checked()
    assert site.count() == before


def test_an_element_that_moves_while_it_loads_shows_one_form(visit):
    page = visit()
    expect_status(page, "Nothing was sent. Please decide")
    page.evaluate(
        """() => {
            const element = document.querySelector("ldp-survey");
            for (let each = 0; each < 5; each++) document.body.append(element);
        }"""
    )
    expect_status(page, "Nothing was sent. Please decide")
    assert page.locator("form").count() == 1


def test_a_waiting_answer_can_be_withdrawn_although_the_survey_cannot_be_reached(visit, site):
    before = site.count()
    page = visit(expected_error="net::ERR_FAILED")
    expect_status(page, "Nothing was sent. Please decide")
    page.route(f"{site.collector}/**", lambda route: route.abort())
    answer_all(page)
    press(page, AGREE)
    expect_status(page, "stored in this browser")
    page.evaluate(
        "document.querySelector('ldp-survey').replaceWith(document.querySelector('ldp-survey').cloneNode())"
    )
    expect_status(page, "stored in this browser")
    page.get_by_role("button", name="Withdraw my answer").focus()
    page.wait_for_timeout(2200)  # the page looks twice whether the answer has arrived
    page.keyboard.press("Enter")
    expect_status(page, "You have withdrawn")
    page.unroute(f"{site.collector}/**")
    page.reload()
    expect_status(page, "You have withdrawn")
    assert site.count() == before


def test_nobody_is_asked_again_in_another_round(visit, site):
    page = visit(expected_error="net::ERR_FAILED")
    page.route("**/reports", lambda route: route.abort())
    answer_all(page)
    press(page, AGREE)
    expect_status(page, "stored in this browser")

    def serve_second_round(route: Route) -> None:
        response = route.fetch(url=route.request.url.replace("habits-round2", "habits"))
        document = response.json()
        if "questions" in document:
            document |= {"id": "habits-round2", "family": "habits"}
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        route.fulfill(response=response, body=text)

    page.route("**/habits-round2**", serve_second_round)
    page.evaluate(
        """(src) => {
            const element = document.querySelector("ldp-survey");
            const other = element.cloneNode();
            for (const name of ["digest", "public-key"]) other.removeAttribute(name);
            other.setAttribute("src", src);
            element.replaceWith(other);
        }""",
        f"{site.collector}/v1/surveys/habits-round2",
    )
    expect_status(page, "This survey was answered in this browser")
    expect(page.locator("form")).to_be_hidden()


def test_no_answer_is_in_an_attribute_and_each_state_is_told_once(visit):
    page = visit(OUTCOMES)
    answer_all(page)
    question(page, "How many cigarettes a day?").get_by_role("textbox").fill("17")
    page.get_by_label("Language").select_option("de")
    expect(page.get_by_role("heading", level=1)).to_have_text("Gesundheit & Gewohnheiten")
    html = page.evaluate("document.querySelector('ldp-survey').shadowRoot.innerHTML")
    assert not re.search("17|checked|selected", re.sub(r"[0-9a-f]{64}", "", html))
    page.get_by_label("Sprache").select_option("en")
    press(page, AGREE)
    expect_status(page, "has arrived")
    assert [each["state"] for each in page.evaluate("outcomes")] == ["no_consent", "queued", "sent"]
    page.reload()
    expect_status(page, "has arrived")
    assert [each["state"] for each in page.evaluate("outcomes")] == ["sent"]


def test_an_invitation_may_be_opened_in_the_same_tab(visit):
    page = visit()
    expect_status(page, "Nothing was sent. Please decide")
    page.evaluate("location.hash = '#token=secret'")
    page.wait_for_function("location.hash === ''")
    expect_status(page, "Nothing was sent. Please decide")
    answer_all(page)
    press(page, AGREE)
    expect_status(page, "Your invitation is missing, or is not for this survey")
