"""The form of a survey with waves: it says when the person is asked, and asks in their wave only."""

from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page, expect

from tests.clients.form.conftest import answer_all, expect_status, question
from tests.support.browser import press
from tests.support.form_site import serve_form

pytestmark = pytest.mark.slow

YEAR = datetime.now(UTC).year
WAVES = f'[waves]\nfirst = {YEAR}-01-01\nevery = "year"\ncount = 2\n'
"""Two waves: this year and the next one."""
JOIN = "Yes, I take part"
AGREE, SHOW = "Yes, send one random answer", "Show what would be sent"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with serve_form(tmp_path_factory.mktemp("site"), WAVES) as served:
        yield served


def drawing(byte: int, years: int = 0) -> str:
    """Return a script with random bytes that are all equal, and a clock that is some years ahead."""
    return f"""
        crypto.getRandomValues = (array) => {{
            new Uint8Array(array.buffer, array.byteOffset, array.byteLength).fill({byte});
            return array;
        }};
        const {{ now }} = Date;
        globalThis.ahead = {years} * 366 * 86_400_000;
        Date.now = () => now() + globalThis.ahead;
    """


FIRST, LAST = drawing(0), drawing(255)


def expect_no_questions(page: Page) -> None:
    expect(page.locator("fieldset")).to_have_count(0)
    expect(page.get_by_role("button", name=SHOW)).to_have_count(0)


def test_who_is_asked_now_consents_first_and_answers_then(visit, site):
    before = site.count()
    page = visit(FIRST)
    expect(page.get_by_text(f"in 2 waves, from January 1, {YEAR}")).to_be_visible()
    expect_no_questions(page)
    press(page, JOIN)
    expect_status(page, "You have agreed, but not answered yet")
    expect(page.get_by_text(f"You are asked once, in {YEAR}, from January 1, {YEAR}")).to_be_visible()
    answer_all(page)
    press(page, AGREE)
    expect_status(page, "has arrived")
    assert site.count() == before + 1
    expect(page.locator("form")).to_be_hidden()


def test_who_is_asked_later_waits_and_is_asked_when_the_wave_opens(visit, site):
    before = site.count()
    page = visit(LAST)
    page.clock.install()
    page.reload()
    press(page, JOIN)
    expect_status(page, f"You are asked once, in {YEAR + 1}, from January 1, {YEAR + 1}")
    expect_status(page, "Open this page again then")
    expect(page.locator("form")).to_be_hidden()
    page.reload()
    expect_status(page, f"You are asked once, in {YEAR + 1}")
    expect(page.locator("form")).to_be_hidden()
    page.clock.fast_forward(366 * 86_400_000)
    expect_status(page, "You have agreed, but not answered yet")
    expect(question(page, "Do you smoke?")).to_be_visible()
    assert site.count() == before


def test_who_waits_can_withdraw_and_stays_in_the_same_wave(visit):
    page = visit(LAST)
    press(page, JOIN)
    expect_status(page, "Open this page again then")
    press(page, "Withdraw my answer")
    expect_status(page, "Nothing was sent. Please decide")
    expect(page.get_by_text(f"You are asked once, in {YEAR + 1}")).to_be_visible()
    expect_no_questions(page)
    page.evaluate("() => { crypto.getRandomValues = (array) => array.fill(0); }")
    press(page, JOIN)
    expect_status(page, f"You are asked once, in {YEAR + 1}")


def test_answers_are_gone_when_the_wave_is_over(visit, site):
    before = site.count()
    page = visit(FIRST)
    press(page, JOIN)
    answer_all(page)
    page.evaluate("globalThis.ahead = 366 * 86_400_000")
    press(page, AGREE)
    expect_status(page, "Your time to answer is over")
    expect(page.locator("form")).to_be_hidden()
    assert page.locator("input:checked").count() == 0
    assert site.count() == before


def test_who_agrees_after_their_wave_is_told_so(visit):
    page = visit(drawing(0, years=1))
    press(page, JOIN)
    expect_status(page, "Your time to answer is over")
    expect(page.locator("form")).to_be_hidden()


def test_the_times_are_in_the_language_of_the_person(visit):
    page = visit(LAST, locale="de-DE")
    expect(page.get_by_text(f"Gefragt wird in 2 Wellen, von 1. Januar {YEAR}")).to_be_visible()
    press(page, "Ja, ich nehme teil")
    expect_status(page, f"Sie werden einmal gefragt, in {YEAR + 1}, von 1. Januar {YEAR + 1}")
    expect_status(page, "Bitte öffnen Sie diese Seite dann wieder")


def test_a_preview_names_the_wave_and_sends_nothing(visit, site):
    before = site.count()
    page = visit(FIRST)
    press(page, JOIN)
    answer_all(page)
    press(page, SHOW)
    expect(page.get_by_role("heading", name="What would be sent")).to_be_visible()
    assert site.count() == before
