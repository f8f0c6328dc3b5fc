"""Every part in every look and language: accessible, readable, and with the focus where the work is."""

import re

import pytest
from playwright.sync_api import expect

from tests.ldp_design.studio.browser_author import EXAMPLE, TIMEOUT, VIEWS, Author
from tests.ldp_design.studio.test_edits import HOSTILE
from tests.support.browser import LOOKS, WIDE, assert_every_look, assert_no_sideways_scroll
from tests.support.studio import run_studio

pytestmark = pytest.mark.slow

NEW = pytest.mark.parametrize("author", [(None, {})], indirect=True)


ZOOMED = {"zoomed": {"viewport": {"width": 320, "height": 256}}}
"""A window of 1280 x 1024 at 400%."""


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


@pytest.mark.parametrize("author", [(EXAMPLE, {"viewport": {"width": 1200, "height": 850}})], indirect=True)
def test_a_new_question_stands_below_the_header_and_its_languages_are_equally_wide(author):
    page = author.open()
    for tag in ("en", "de"):
        page.get_by_label("Add a language").select_option(tag)
        expect(page.get_by_label(f"Title, {'English' if tag == 'en' else 'German'}")).to_be_visible()
    page.locator("#add-one").click()
    expect(page.get_by_label("Question, English")).to_be_focused()
    expect(page.locator("#save")).to_be_in_viewport(ratio=1)
    header = page.locator("header").bounding_box()
    card = page.locator("[aria-expanded=true]").bounding_box()
    assert card["y"] >= header["y"] + header["height"]
    widths = [
        page.get_by_label(f"Question, {name}").bounding_box()["width"] for name in ("English", "German")
    ]
    assert abs(widths[0] - widths[1]) < 2
    assert page.locator(".grid th[scope=row]").last.bounding_box()["width"] > 100
