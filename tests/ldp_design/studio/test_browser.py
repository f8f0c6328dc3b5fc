"""The studio in a real browser: an author's whole way, with mouse or keyboard, in every look and language."""

import re

import pytest
from playwright.sync_api import Page, expect

from encoders.survey import read_survey
from ldp_design.authoring.toml_patch import parse_tables
from ldp_design.studio import imports
from tests.ldp_design.studio.test_edits import HOSTILE
from tests.support.browser import LOOKS, WIDE, assert_accessible, assert_every_look, assert_no_sideways_scroll
from tests.support.http_servers import QuietHandler, serve
from tests.support.servers import wait_for
from tests.support.studio import HASTY, processes_of, run_studio

pytestmark = pytest.mark.slow

EXAMPLE = imports.read_example().replace("# users = 20_000", "users = 20_000")
ZOOMED = {"zoomed": {"viewport": {"width": 320, "height": 256}}}
"""A window of 1280 x 1024 at 400%."""
VIEWS = ("questions", "sizes", "page", "trial", "publish", "file")
TIMEOUT = 30_000


class Author:
    """A browser window with the studio; at its end there must be no error, and no request elsewhere."""

    def __init__(self, chromium, studio, **options):
        self.studio = studio
        self.context = chromium.new_context(**{"locale": "en-GB"} | options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(TIMEOUT)
        expect.set_options(timeout=TIMEOUT)
        self.errors, self.asked = [], []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self) -> Page:
        self.page.goto(self.studio.address)
        expect(self.page.get_by_role("heading", level=2).first).to_be_visible()
        return self.page

    def go(self, view: str) -> None:
        self.page.locator(f"#view-{view}").click()
        expect(self.page.locator(f"#view-{view}")).to_have_attribute("aria-current", "page")

    def fill(self, name: str, text: str) -> None:
        field = self.page.get_by_label(name, exact=True)
        field.fill(text)
        field.press("Tab")

    def save(self) -> str:
        self.page.locator("#save").click()
        expect(self.page.locator("#save")).to_be_disabled()
        return self.studio.path.read_text("utf-8")

    def is_verified(self) -> None:
        expect(self.page.locator("#margins")).to_contain_text(re.compile("Computed for|Berechnet für"))


@pytest.fixture
def author(chromium, tmp_path, request):
    text, options = getattr(request, "param", (EXAMPLE, {}))
    with run_studio(tmp_path, text) as studio:
        author = Author(chromium, studio, **options)
        yield author
        author.context.close()
        assert author.errors == []
        assert all(url.startswith(("http://127.0.0.1:", "blob:http://127.0.0.1:")) for url in author.asked)


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
    expect(page.get_by_text("Reports counted: 30")).to_be_visible()
    page.get_by_role("button", name="Show the results").click()
    expect(
        page.frame_locator("iframe").get_by_text("30 people answered one question each").first
    ).to_be_visible()
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
    expect(page.get_by_text("Reports counted: 1")).to_be_visible()
    page.get_by_role("button", name="End the trial").click()
    author.save()
    author.go("publish")
    page.get_by_label("Address of your collector").fill("https://collector.example")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download all as a zip").click()
    assert download.value.suggested_filename == "missed-payments-2026.zip"
    page.get_by_role("button", name="Write to a folder").click()
    expect(page.get_by_role("main")).to_contain_text("survey-publish")
    assert (author.studio.path.parent / "survey-publish" / "site" / "index.html").exists()


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


def test_sliders_answer_at_once_and_verify_soon(author):
    page = author.open()
    author.go("sizes")
    author.is_verified()
    slider = page.get_by_label("People who will answer")
    elapsed = page.evaluate(
        """() => {
            const slider = document.getElementById("people");
            const start = performance.now();
            slider.value = 5;
            slider.dispatchEvent(new Event("input"));
            document.body.getBoundingClientRect();
            return performance.now() - start;
        }"""
    )
    assert elapsed < 300
    expect(page.locator("#margins")).to_contain_text("about")
    slider.dispatch_event("change")
    expect(page.locator("#margins")).to_contain_text("Computed for 100,000 people", timeout=5000)
    expect(page.locator("#people-shown")).to_have_text("100,000")
    assert "users = 100000" in author.save()


def test_a_suggestion_is_taken_and_taken_back(author):
    page = author.open()
    author.go("sizes")
    page.get_by_role("button", name="Send through a relay").click()
    expect(page.get_by_label("Send through a relay")).to_be_checked()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("Send through a relay")).not_to_be_checked()


@pytest.mark.parametrize(("locale", "looks"), [("en-GB", LOOKS | ZOOMED), ("de-DE", {"wide": WIDE} | ZOOMED)])
def test_every_part_is_accessible_in_both_languages(chromium, tmp_path, locale, looks):
    with run_studio(tmp_path, EXAMPLE) as studio:
        author = Author(chromium, studio)
        author.context.close()
        author.context = chromium.new_context(locale=locale)
        author.page = author.context.new_page()
        author.page.set_default_timeout(TIMEOUT)
        page = author.open()
        page.get_by_label(re.compile("Add a language|Sprache hinzufügen")).select_option("de")
        page.locator("#card-1").click()
        page.locator(".editor").wait_for()
        for view in VIEWS:
            author.go(view)
            if view == "sizes":
                author.is_verified()
                page.locator("#suggestion-0").wait_for()
            if view == "page":
                expect(page.frame_locator("iframe").locator("form")).to_be_visible()
            assert_every_look(page, f"studio-{locale}-{view}", looks)
        author.context.close()


@NEW
def test_the_first_page_is_accessible(author):
    assert_every_look(author.open(), "studio-start", LOOKS | ZOOMED)


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


def test_markup_in_every_text_is_shown_as_text(author):
    name = HOSTILE.replace("\u202f", " ")
    page = author.open()
    page.get_by_label("Add a language").select_option("en")
    page.locator("#card-0").click()
    for field in page.locator(
        ".editor input[type=text], .editor textarea, #about input, #about textarea"
    ).all():
        if field.is_visible() and "weight" not in (field.get_attribute("id") or ""):
            field.fill(name)
            field.press("Tab")
    for view in VIEWS:
        author.go(view)
        assert_no_sideways_scroll(page)
    assert page.locator("img").count() == 0
    assert "onerror" in author.save()


def test_300_questions_stay_usable(chromium, tmp_path):
    text = EXAMPLE + "".join(f'\n[features.q{i}]\nvalues = ["a", "b", "c"]\n' for i in range(300))
    with run_studio(tmp_path, text) as studio:
        author = Author(chromium, studio)
        page = author.open()
        page.locator("#card-299").click()
        author.fill("Short name of the question", "renamed")
        expect(page.get_by_role("button", name="renamed").first).to_be_visible(timeout=5000)
        assert_accessible(page)
        author.context.close()
        assert author.errors == []


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


MISTAKEN = """\
survey = 5
features = { a = 3, b = { values = "x", ask_if = 7 }, c = { edges = 4 }, d = { choices = [], missing = [] } }
tables = { t = { features = 9 }, u = 1 }
label = "x"
about = []
texts = { en = "y" }
"""


@pytest.mark.parametrize("author", [(MISTAKEN, {}), ("[survey\n", {}), ("\n", {})], indirect=True)
def test_a_file_with_mistakes_is_shown_in_every_part(author):
    author.open()
    for view in VIEWS if author.studio.path.read_text() != "\n" else ():
        author.go(view)
    assert author.studio.path.read_text() in (MISTAKEN, "[survey\n", "\n")


WAVES = EXAMPLE.replace("[label]", '[waves]\nfirst = 2027-01-01\nevery = "month"\ncount = 4\n\n[label]', 1)


@pytest.mark.parametrize("author", [(WAVES, {})], indirect=True)
def test_a_survey_with_waves_is_sized_for_one_wave(author):
    page = author.open()
    author.go("sizes")
    expect(page.locator("#margins")).to_contain_text("Computed for 5,000 people")
    author.go("page")
    expect(page.frame_locator("iframe").locator("form")).to_be_visible()


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
def test_an_arrow_key_makes_no_choice_until_enter(author):
    page = author.open()
    page.get_by_role("button", name="Begin", exact=True).click()
    languages = page.get_by_label("Add a language")
    languages.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_text("Press Enter, or leave the list")).to_be_visible()
    expect(page.get_by_role("columnheader", name="German")).to_have_count(0)
    chosen = languages.locator("option:checked").inner_text()
    page.keyboard.press("Enter")
    expect(page.get_by_role("columnheader", name=chosen).first).to_be_visible()
    expect(languages).to_be_focused()
    expect(languages).to_be_in_viewport()


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


def test_the_focus_stays_where_the_work_is(author):
    page = author.open()
    page.locator("#down-0").focus()
    for place in (1, 2):
        page.keyboard.press("Enter")
        expect(page.locator(f"#down-{place}")).to_be_focused()
    page.keyboard.press("Control+s")
    page.locator("#save").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("saved")
    expect(page.locator("#save")).to_be_focused()
    last = page.locator("[id^=remove-]").last
    last.focus()
    page.keyboard.press("Enter")
    expect(page.locator("[id^=remove-]").last).to_be_focused()
    page.locator("#card-0").click()
    page.get_by_label("Question, English").or_(page.get_by_label("How often it is asked")).first.fill("2")
    page.get_by_text("Short names, in the file").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("not saved yet")).to_be_visible()
    expect(page.get_by_text("Short names, in the file")).to_be_focused()


def test_a_question_that_is_opened_stays_in_view(chromium, tmp_path):
    text = EXAMPLE + "".join(f'\n[features.q{i}]\nvalues = ["a", "b", "c"]\n' for i in range(9))
    with run_studio(tmp_path, text) as studio:
        author = Author(chromium, studio)
        page = author.open()
        page.locator("#card-0").click()
        page.locator("#card-7").click()
        expect(page.locator("#card-7")).to_have_attribute("aria-expanded", "true")
        expect(page.locator("#card-7")).to_be_in_viewport()
        author.context.close()


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
