"""An author's whole way in a real browser: from nothing to results, the page, the trial and the files."""

import zipfile

import pytest
from playwright.sync_api import expect

from encoders.survey import read_survey
from tests.ldp_design.studio.browser_author import EXAMPLE, TIMEOUT, Author
from tests.support.servers import wait_for
from tests.support.studio import HASTY, processes_of, run_studio

pytestmark = pytest.mark.slow

NEW = pytest.mark.parametrize("author", [(None, {})], indirect=True)


@NEW
def test_from_nothing_to_results_without_a_terminal(author):
    page = author.open()
    page.get_by_label("What is the survey called?").fill("Sleep and shift work")
    page.get_by_label("A second language").select_option("de")
    page.get_by_role("button", name="Begin", exact=True).click()
    author.fill("Question, English", "When do you work?")
    expect(page.get_by_label("Short name of the question")).to_have_value("when_do_you_work")
    author.fill("Question, German", "Wann arbeiten Sie?")
    for number, (english, german) in enumerate([("By day", "Tagsüber"), ("At night", "Nachts")], 1):
        author.fill(f"Answer {number}, English", english)
        author.fill(f"Answer {number}, German", german)
    page.locator("#add-yesno").click()
    expect(page.get_by_label("Question, English")).to_be_focused()
    page.keyboard.type("Do you sleep well?")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Short name of the question")).to_have_value("do_you_sleep_well")
    page.locator("#add-bins").click()
    expect(page.get_by_label("Question, English")).to_be_focused()
    page.keyboard.type("How long?")
    page.keyboard.press("Tab")
    for tick in (0, 1):
        page.locator(f"#together-{tick}").check()
    page.get_by_role("button", name="Ask these together").click()
    expect(page.get_by_text("When do you work? \u00d7 Do you sleep well?")).to_be_visible()
    author.go("sizes")
    page.get_by_label("Send through a relay").check()
    author.is_verified()
    author.go("page")
    page.get_by_label("Language", exact=True).select_option("de")
    form = page.frame_locator("iframe")
    expect(form.get_by_role("group", name="Wann arbeiten Sie?")).to_be_visible()
    expect(form.get_by_label("Tagsüber")).to_be_visible()
    author.go("trial")
    page.get_by_role("button", name="Start the trial").click()
    page.get_by_label("Made-up people").fill("30")
    page.get_by_role("button", name="Let them answer").click()
    expect(page.get_by_text("Reports counted so far: 30")).to_be_visible()
    page.get_by_role("button", name="Show the results").click()
    expect(
        page.frame_locator("iframe").get_by_text("30 people answered one question each").first
    ).to_be_visible()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="End the trial").click()
    expect(page.get_by_role("button", name="Start the trial")).to_be_visible()
    assert author.studio.trials() == []
    plan = read_survey(author.save()).compile()
    assert [each.name for each in plan.entries] == ["when_do_you_work", "do_you_sleep_well", "how_long"]
    assert plan.relay
    assert plan.texts.languages["de"]["features"]["when_do_you_work"]["values"] == {
        "by day": "Tagsüber",
        "at night": "Nachts",
    }


@NEW
def test_a_page_answers_in_the_trial_and_its_files_are_downloaded(author):
    page = author.open()
    page.get_by_role("button", name="Begin with an example").click()
    page.get_by_label("Compare people by").select_option("")
    author.go("trial")
    page.get_by_role("button", name="Start the trial").click()
    with author.context.expect_page() as opened:
        page.get_by_role("link", name="Open the page").click()
    answered = opened.value
    form = answered.locator("ldp-survey")
    form.get_by_label("young").check()
    for each in form.get_by_label("I do not want to answer").all()[1:]:
        each.check()
    form.get_by_label("no", exact=True).check()
    form.get_by_role("button", name="Yes, send one random answer").click()
    expect(form.get_by_role("status")).to_contain_text("has arrived")
    expect(page.get_by_text("Reports counted so far: 1")).to_be_visible()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="End the trial").click()
    author.save()
    author.go("publish")
    page.get_by_label("Address of your collector").fill("https://collector.example")
    with page.expect_download(timeout=4 * TIMEOUT) as download:  # commands run first
        page.get_by_role("button", name="Download all as a zip").click()
    assert download.value.suggested_filename == "missed-payments-2026.zip"
    page.get_by_role("button", name="Write to a folder").click()
    expect(page.get_by_role("main")).to_contain_text("survey-publish")
    assert (author.studio.path.parent / "survey-publish" / "site" / "index.html").exists()


def test_a_draft_without_the_keys_of_a_relay_shows_the_form_and_cannot_be_published(author, tmp_path):
    page = author.open()
    author.go("sizes")
    page.get_by_label("Send through a relay").check()
    author.is_verified()
    author.save()
    author.go("publish")
    points = page.locator(".todo")
    expect(points).to_contain_text("ldp-relay key relay.key")
    expect(points).to_contain_text("ldp-collector key plan.json.key")
    expect(points).to_contain_text("After the relay has mixed the answers, epsilon is 1.0")
    expect(page.get_by_role("button", name="Write to a folder")).to_be_disabled()
    with page.expect_download(timeout=4 * TIMEOUT) as download:  # commands run first
        page.get_by_role("button", name="Download a draft").click()
    assert download.value.suggested_filename == "missed-payments-2026-draft.zip"
    with zipfile.ZipFile(download.value.path()) as archive:
        archive.extractall(tmp_path / "draft")
    opened = author.context.new_page()
    opened.goto((tmp_path / "draft" / "draft.html").as_uri())
    expect(opened.get_by_role("group", name="age")).to_be_visible()
    expect(opened.get_by_text("DRAFT, not to be published")).to_be_visible()


def test_the_form_of_the_preview_shows_what_would_be_sent(author):
    page = author.open()
    author.go("page")
    form = page.frame_locator("iframe")
    form.get_by_label("young").check()
    for each in form.get_by_label("I do not want to answer").all()[1:]:
        each.check()
    form.get_by_label("no", exact=True).check()
    form.get_by_role("button", name="Show what would be sent").click()
    expect(form.get_by_text("This is an example. If you agree")).to_be_visible()


SAMPLE = "smokes,stress\n" + "yes,low\nno,high\n" * 30


@NEW
def test_a_file_that_is_chosen_is_imported(author):
    page = author.open()
    field = page.get_by_label("Drop a questionnaire or a table here")
    field.focus()
    field.set_input_files({"name": "s.csv", "mimeType": "text/csv", "buffer": SAMPLE.encode()})
    expect(page.get_by_role("button", name="smokes").first).to_be_visible()


def test_a_keyboard_alone_writes_a_question(author):
    page = author.open()

    def tab_to(selector: str) -> None:
        for _ in range(150):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"no Tab leads to {selector}")

    tab_to("#add-scale")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Short name of the question")).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("mood")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="mood").first).to_be_visible()
    page.keyboard.press("Control+s")
    expect(page.locator("#save")).to_be_disabled()
    assert "[features.mood]" in author.studio.path.read_text()
    tab_to("#view-sizes")
    page.keyboard.press("Enter")
    author.is_verified()
    tab_to("#people")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("not saved yet")).to_be_visible()


def test_a_browser_that_is_closed_during_a_trial_leaves_no_process(chromium, tmp_path):
    with run_studio(tmp_path, EXAMPLE, HASTY) as studio:
        author = Author(chromium, studio)
        page = author.open()
        author.go("trial")
        page.get_by_role("button", name="Start the trial").click()
        page.get_by_label("Made-up people").fill("1000")
        page.get_by_role("button", name="Let them answer").click()
        expect(page.get_by_text("of 1,000 have answered")).to_be_visible()
        [trial] = studio.trials()
        author.context.close()
        studio.process.wait(60)
        assert studio.process.returncode == 0
        wait_for(lambda: not trial.exists() and not processes_of(str(trial)))
