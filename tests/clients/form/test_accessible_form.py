"""The form for everybody: axe-core, a keyboard alone, right to left, dark, a zoom of 400%, and print."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.clients.form.conftest import answer_all, expect_status, question
from tests.support.browser import (
    LOOKS,
    WIDE,
    assert_accessible,
    assert_every_look,
    assert_no_sideways_scroll,
    press,
    save_screenshot,
)
from tests.support.commands import command

pytestmark = pytest.mark.slow

ZOOMED = {"zoomed": {"viewport": {"width": 320, "height": 256}}}
"""A window of 1280 x 1024 at 400%."""
ARABIC = {
    "ar": {"questions": "أسئلة", "agree": "نعم", "decline": "لا", "language": "اللغة", "result": "إجابتك"}
}


@pytest.mark.parametrize(("locale", "looks"), [("en", LOOKS | ZOOMED), ("de", {"wide": WIDE} | ZOOMED)])
def test_every_state_is_accessible_in_both_languages(visit, locale, looks):
    page = visit(locale=locale)
    form = page.locator("form")
    expect(form).to_be_visible()
    assert_every_look(page, f"form-{locale}-empty", looks)
    form.locator("button").first.click()
    expect(page.get_by_role("status").get_by_role("link").first).to_be_visible()
    assert_every_look(page, f"form-{locale}-incomplete", looks)
    page.get_by_role("combobox").first.select_option("en")
    answer_all(page)
    press(page, "Show what would be sent")
    expect(page.get_by_role("table")).to_be_visible()
    page.get_by_role("combobox").first.select_option(locale)
    form.locator("button").first.click()
    expect(page.get_by_role("table")).to_be_visible()
    assert_every_look(page, f"form-{locale}-preview", looks)
    form.locator("button[value=agree]").click()
    expect(page.get_by_role("status")).to_contain_text(re.compile("has arrived|ist angekommen"))
    assert_every_look(page, f"form-{locale}-sent", looks)


def test_a_translated_form_is_written_from_right_to_left_and_accessible(visit, site):
    words = site.folder / "words.json"
    words.write_text(json.dumps(ARABIC), encoding="utf-8")
    survey, folder = site.folder / "habits.toml", site.folder / "page" / "arabic"
    options = ["--collector", site.collector, "-o", folder, "--words", words, "--allow-english"]
    command("ldp-survey", "page", survey, *options)
    page = visit(path="arabic/", locale="ar")
    root = page.locator("[part=survey]")
    expect(root).to_have_attribute("dir", "rtl")
    expect(page.get_by_role("heading", name="أسئلة")).to_be_visible()
    assert_accessible(page)
    assert_no_sideways_scroll(page)
    left = page.get_by_role("radio").first.bounding_box()["x"]
    assert left > WIDE["viewport"]["width"] / 2
    expect(question(page, "Do you smoke?").locator("legend")).to_have_attribute("dir", "ltr")
    save_screenshot(page, "form-arabic")


def test_a_keyboard_alone_answers_looks_at_the_preview_and_agrees(visit, site):
    before = site.count()
    page = visit()
    expect_status(page, "Nothing was sent. Please decide")
    focused = "document.querySelector('ldp-survey').shadowRoot.activeElement"

    def tab_to(test: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate(
                f"(({test}) && true)({focused})" if "=>" not in test else f"({test})({focused})"
            ):
                outline = page.evaluate(f"getComputedStyle({focused}).outlineStyle")
                assert outline != "none"
                return
        raise AssertionError(f"no Tab leads to {test}")

    def is_in(title: str) -> str:
        return (
            "(each) => each?.closest('fieldset')?.querySelector('legend').textContent === "
            f"{json.dumps(title)} && each.tagName !== 'FIELDSET'"
        )

    tab_to(is_in("Do you smoke?"))
    page.keyboard.press("Space")  # yes
    tab_to(is_in("How many cigarettes a day?"))
    page.keyboard.type("12")
    tab_to(is_in("Where do you live?"))
    page.keyboard.type("c")
    tab_to(is_in("What did you drink today?"))
    page.keyboard.press("Space")  # tea
    tab_to(is_in("How long did you sleep?"))
    page.keyboard.type("7.5")
    tab_to(is_in("Were you ill this winter?"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    tab_to("(each) => each?.value === 'preview'")
    page.keyboard.press("Enter")
    expect(page.get_by_role("table")).to_be_visible()
    assert page.evaluate(f"{focused}.getAttribute('part')") == "preview"
    assert site.count() == before
    tab_to("(each) => each?.value === 'agree'")
    page.keyboard.press("Enter")
    expect_status(page, "has arrived")
    assert page.evaluate(f"{focused}.getAttribute('part')") == "status"
    assert site.count() == before + 1


def test_enter_in_a_field_never_agrees(visit, site):
    before = site.count()
    page = visit()
    answer_all(page)
    question(page, "How long did you sleep?").get_by_role("textbox").press("Enter")
    expect(page.get_by_role("table")).to_be_visible()
    expect_status(page, "Nothing was sent. Please decide")
    assert site.count() == before


def test_agreeing_and_declining_have_equal_weight(visit):
    page = visit()
    expect_status(page, "Nothing was sent. Please decide")
    looks = page.locator(".buttons button").evaluate_all(
        """all => all.map(each => {
            const { color, backgroundColor, border, fontSize, fontWeight } = getComputedStyle(each);
            const { height, width } = each.getBoundingClientRect();
            return JSON.stringify([color, backgroundColor, border, fontSize, fontWeight, height, width]);
        })"""
    )
    assert len(looks) == 2
    assert looks[0] == looks[1]


def test_the_form_prints_its_questions_without_buttons(visit):
    page = visit()
    answer_all(page)
    assert page.pdf(format="A4").startswith(b"%PDF-")
    page.emulate_media(media="print")
    expect(page.get_by_role("button", name="Yes, send")).to_be_hidden()
    expect(question(page, "Do you smoke?")).to_be_visible()


def test_an_author_changes_colours_and_parts(visit):
    page = visit()
    expect_status(page, "Nothing was sent. Please decide")
    page.evaluate(
        """() => {
            const sheet = new CSSStyleSheet();
            sheet.replaceSync(`ldp-survey { --ldp-accent: rgb(1, 2, 3) }
                ldp-survey::part(title) { color: rgb(4, 5, 6) }`);
            document.adoptedStyleSheets = [sheet];
        }"""
    )
    colour = "each => getComputedStyle(each).color"
    assert page.locator("button").first.evaluate(colour) == "rgb(1, 2, 3)"
    assert page.locator("h1").evaluate(colour) == "rgb(4, 5, 6)"
