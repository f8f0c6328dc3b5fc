"""No change is lost: drafts, reloads, other programs, a second studio, undo."""

import pytest
from playwright.sync_api import Dialog, expect

from tests.ldp_design.studio.browser_author import EXAMPLE, TIMEOUT, Author
from tests.support.http_servers import QuietHandler, serve
from tests.support.studio import run_studio

pytestmark = pytest.mark.slow

NEW = pytest.mark.parametrize("author", [(None, {})], indirect=True)


def test_what_is_being_typed_survives_a_change_elsewhere(author):
    page = author.open()
    page.locator("#card-0").click()
    page.get_by_label("How often it is asked").focus()
    page.keyboard.type("3")
    path = author.studio.path
    path.write_text(path.read_text().replace("missed-payments-2026", "other-id"))
    expect(page.get_by_text("Another program has changed the file")).to_be_visible()
    expect(page.get_by_label("How often it is asked")).to_be_focused()
    expect(page.get_by_label("How often it is asked")).to_have_value("3")
    page.keyboard.press("Tab")
    text = author.save()
    assert "weight = 3" in text
    assert "other-id" in text


def test_an_author_chooses_between_two_versions_and_none_is_lost(author):
    page = author.open()
    page.get_by_role("button", name="Delete: cards").click()
    expect(page.get_by_role("button", name="Delete: cards")).to_have_count(0)
    path = author.studio.path
    path.write_text(path.read_text().replace("missed-payments-2026", "theirs"))
    expect(page.get_by_role("alert")).to_contain_text("Choose a version")
    page.get_by_role("button", name="Keep mine").click()
    expect(page.get_by_role("alert")).to_contain_text("The other version is in survey.other-")
    [other] = path.parent.glob("survey.other-*.toml")
    assert "theirs" in other.read_text()
    assert "features.cards" not in path.read_text()


def test_the_draft_is_there_after_a_reload_and_after_the_end(chromium, tmp_path):
    with run_studio(tmp_path, EXAMPLE) as studio:
        author = Author(chromium, studio)
        page = author.open()
        page.get_by_role("button", name="Delete: cards").click()
        expect(page.get_by_text("not saved yet")).to_be_visible()
        page.reload()
        expect(page.get_by_text("not saved yet")).to_be_visible()
        author.context.close()
    with run_studio(tmp_path) as studio:
        author = Author(chromium, studio)
        page = author.open()
        expect(page.get_by_text("were not saved the last time")).to_be_visible()
        expect(page.get_by_role("button", name="Delete: cards")).to_have_count(0)
        author.context.close()


def test_two_studios_work_side_by_side_and_another_program_gets_no_cookie(chromium, tmp_path):
    class Other(QuietHandler):
        def do_GET(self):
            cookies.append(self.headers["Cookie"])
            self.answer(200)

    cookies = []
    folders = [tmp_path / name for name in ("one", "two")]
    for each in folders:
        each.mkdir()
    with run_studio(folders[0], EXAMPLE) as one, run_studio(folders[1], EXAMPLE) as two:
        author = Author(chromium, one)
        other = author.context.new_page()
        author.open()
        other.goto(two.address)
        for page in (author.page, other):
            page.get_by_role("button", name="Delete: cards").click()
            page.locator("#save").click()
            expect(page.locator("#save")).to_be_disabled()
        with serve(Other) as origin:
            author.context.new_page().goto(origin)
        author.context.close()
    assert all("cards" not in each.path.read_text() for each in (one, two))
    assert set(cookies) == {None}


def test_what_is_being_typed_survives_a_reload(author):
    page = author.open()
    page.locator("#card-0").click()
    page.get_by_label("How often it is asked").focus()
    page.keyboard.type("7")
    expect(page.get_by_text("not saved yet")).to_be_visible()
    page.reload()
    page.locator("#card-0").click()
    expect(page.get_by_label("How often it is asked")).to_have_value("7")
    page.get_by_label("How often it is asked").fill("8")
    assert "weight = 8" in author.save()


@NEW
def test_undo_to_the_first_page_can_be_taken_back(author):
    page = author.open()
    page.get_by_role("button", name="Begin with an example").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", name="A new survey")).to_be_visible()
    page.get_by_role("button", name="Redo").click()
    expect(page.locator("#card-0")).to_be_visible()


def test_the_address_opens_the_studio_again_in_the_same_browser(author):
    author.open()
    again = author.context.new_page()
    again.goto(author.studio.address)
    expect(again.get_by_role("heading", level=2).first).to_be_visible()
    author.errors.clear()


def test_a_message_stays_until_the_next_step(author):
    page = author.open()
    author.go("trial")
    page.get_by_role("button", name="Start the trial").click()
    page.get_by_role("button", name="Show the results").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("nobody has answered yet")
    author.studio.path.write_text(EXAMPLE + "# changed\n")
    expect(page.get_by_text("Another program has changed the file")).to_be_visible()
    expect(alert).to_contain_text("nobody has answered yet")
    author.errors.clear()  # the browser tells of the refused request


def test_the_end_of_a_trial_asks_before_answers_are_lost(author):
    page = author.open()
    author.go("trial")
    start = page.get_by_role("button", name="Start the trial")
    end = page.get_by_role("button", name="End the trial")
    start.click()
    end.click()  # without a question
    start.click()
    page.get_by_label("Made-up people").fill("1000")
    page.get_by_role("button", name="Let them answer").click()
    expect(page.get_by_text("Reports counted so far: 0")).to_have_count(0)
    for answer in (Dialog.dismiss, Dialog.accept):
        page.once("dialog", answer)
        with page.expect_event("dialog") as asked:
            end.click()
        assert "Answers counted: " in asked.value.message
    start.click()
    expect(page.get_by_role("button", name="Let them answer")).to_be_enabled()  # the former people have gone
    end.click()
    expect(start).to_be_visible()
    author.errors.clear()  # of reports that were on their way


def test_a_step_of_seconds_shows_that_it_runs(author):
    page, held = author.open(), []
    for view, name, request in (
        ("trial", "trial-start", "trial"),
        ("trial", "trial-answer", "people"),
        ("trial", "trial-results", "results"),
        ("publish", "zip", "publish"),
        ("publish", "folder", "publish"),
    ):
        author.go(view)
        if name == "trial-answer":
            page.get_by_label("Made-up people").fill("20")
        if name == "zip":
            page.get_by_label("Address of your collector").fill("https://collector.example")
        page.route(f"**/api/{request}*", lambda route: held.append(route))
        button = page.locator(f"#{name}")
        button.click()
        expect(button).to_have_text("Computing \u2026")
        expect(button).to_be_disabled()
        held.pop().continue_()
        page.unroute(f"**/api/{request}*")
        expect(page.locator("button", has_text="Computing")).to_have_count(0, timeout=4 * TIMEOUT)
    expect(page.get_by_role("main")).to_contain_text("survey-publish")
