"""The page of `ldp-survey page` in Chromium, with a collector at another origin."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import WIDE
from tests.support.form_site import FormSite, serve_form


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FormSite]:
    with serve_form(tmp_path_factory.mktemp("site")) as served:
        yield served


@pytest.fixture
def visit(chromium: Browser, site: FormSite) -> Iterator[Callable[..., Page]]:
    """Return a function that opens the page in a new profile; an error of the page fails the test."""
    errors: list[str] = []
    contexts = []

    def go(script: str = "", path: str = "", expected_error: str = "nothing", **options) -> Page:
        context = chromium.new_context(**{**WIDE, "locale": "en-GB", **options})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: expected_error in message.text or errors.append(message.text))
        if script:
            page.add_init_script(script)
        page.goto(site.page + path)
        return page

    yield go
    for context in contexts:
        context.close()
    assert errors == []


def question(page: Page, title: str):
    """Return the group of fields of a question."""
    return page.get_by_role("group", name=title, exact=True)


def answer_all(page: Page, *, smokes: str = "Yes", ill: str = "Yes", cigarettes: str = "12") -> None:
    """Answer every question that is asked, in English."""
    question(page, "Do you smoke?").get_by_label(smokes, exact=True).check()
    if smokes == "Yes":
        question(page, "How many cigarettes a day?").get_by_role("textbox").fill(cigarettes)
    page.get_by_role("combobox", name="Where do you live?").select_option("c")
    question(page, "What did you drink today?").get_by_label("Tea").check()
    question(page, "How long did you sleep?").get_by_role("textbox").fill("7.5")
    question(page, "Were you ill this winter?").get_by_label(ill, exact=True).check()


def expect_status(page: Page, text: str, timeout: float = 10_000) -> None:
    expect(page.get_by_role("status")).to_contain_text(text, timeout=timeout)
