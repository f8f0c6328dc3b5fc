"""What a person presses while another step runs: nothing is dropped in silence, and nothing moves."""

import pytest
from playwright.sync_api import expect

from tests.clients.form.conftest import answer_all, expect_status, question
from tests.support.browser import press

pytestmark = pytest.mark.slow

AGREE, DECLINE, SHOW = "Yes, send", "No, send nothing", "Show what would be sent"
HOLD_STORAGE = """() => {
    const { open } = IDBFactory.prototype;
    const held = new Promise((resolve) => { globalThis.release = resolve; });
    IDBFactory.prototype.open = function (...parameters) {
        let request;
        const waiting = {
            get result() { return request.result; },
            get transaction() { return request.transaction; },
        };
        held.then(() => {
            request = open.apply(this, parameters);
            for (const name of ["onupgradeneeded", "onerror", "onsuccess"]) request[name] = waiting[name];
        });
        return waiting;
    };
}"""
"""From now on each step waits for the browser's storage, as on a slow phone, until `release()` is called."""


@pytest.fixture
def slow(visit):
    """Return the page with all answers, whose steps wait until `release()` is called."""
    page = visit()
    answer_all(page)
    page.evaluate(HOLD_STORAGE)
    return page


def release(page):
    page.evaluate("release()")


def test_consent_while_a_slow_preview_runs_is_given(slow, site):
    before = site.count()
    press(slow, SHOW)
    press(slow, AGREE)
    for name in (SHOW, AGREE, DECLINE):
        expect(slow.get_by_role("button", name=name)).to_have_attribute("aria-busy", "true")
    release(slow)
    expect_status(slow, "has arrived")
    assert site.count() == before + 1


def test_agreeing_twice_sends_one_answer_and_asks_nothing_more(slow, site):
    before = site.count()
    press(slow, AGREE)
    press(slow, AGREE)
    release(slow)
    expect_status(slow, "has arrived")
    expect(slow.get_by_role("status")).not_to_contain_text("Please look at these questions")
    assert site.count() == before + 1


def test_the_last_decision_counts_and_a_former_one_that_waits_is_not_begun(slow, site):
    before = site.count()
    press(slow, SHOW)
    press(slow, AGREE)
    press(slow, DECLINE)
    release(slow)
    expect_status(slow, "You do not take part")
    expect(slow.get_by_role("button", name=AGREE)).to_have_attribute("aria-busy", "false")
    expect(question(slow, "Do you smoke?").get_by_label("Yes")).not_to_be_checked()
    slow.reload()
    expect_status(slow, "Nothing was sent. Please decide")
    assert site.count() == before


def test_declining_while_consent_is_recorded_makes_no_report(slow, site):
    before = site.count()
    press(slow, AGREE)
    press(slow, DECLINE)
    release(slow)
    expect_status(slow, "You do not take part")
    answer_all(slow)
    press(slow, AGREE)
    expect_status(slow, "has arrived")
    assert site.count() == before + 1


def test_the_answers_at_the_time_of_consent_count(slow, site):
    before = site.count()
    press(slow, AGREE)
    question(slow, "How many cigarettes a day?").get_by_role("textbox").fill("not a number")
    release(slow)
    expect_status(slow, "has arrived")
    assert site.count() == before + 1


def test_a_preview_of_answers_that_were_changed_meanwhile_is_not_shown(slow):
    press(slow, SHOW)
    question(slow, "How many cigarettes a day?").get_by_role("textbox").fill("13")
    release(slow)
    expect(slow.get_by_role("button", name=SHOW)).to_have_attribute("aria-busy", "false")
    assert slow.get_by_role("table").count() == 0


def test_a_language_chosen_meanwhile_follows_the_step(slow):
    press(slow, SHOW)
    slow.get_by_label("Language").select_option("de")
    release(slow)
    expect(slow.get_by_role("button", name="Ja, eine")).to_have_attribute("aria-busy", "false")
    press(slow, "Ja, eine")
    expect_status(slow, "ist angekommen")


def test_an_element_that_was_removed_meanwhile_sends_nothing(slow, site):
    before = site.count()
    press(slow, SHOW)
    press(slow, AGREE)
    slow.evaluate("document.body.append(document.querySelector('ldp-survey'))")
    release(slow)
    expect_status(slow, "Nothing was sent. Please decide")
    assert site.count() == before


def test_leaving_the_page_takes_back_consent_that_waits(slow, site):
    before = site.count()
    press(slow, SHOW)
    press(slow, AGREE)
    slow.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    release(slow)
    expect(slow.get_by_role("button", name=AGREE)).to_have_attribute("aria-busy", "false")
    expect_status(slow, "Nothing was sent. Please decide")
    assert site.count() == before


@pytest.mark.parametrize("size", [(390, 844), (1280, 900)])
def test_a_slow_preview_does_not_move_the_buttons_that_a_person_has_gone_on_to(slow, size):
    slow.set_viewport_size({"width": size[0], "height": size[1]})
    agree = slow.get_by_role("button", name=AGREE)
    press(slow, SHOW)
    agree.scroll_into_view_if_needed()
    before = agree.bounding_box()
    release(slow)
    expect(slow.get_by_role("table")).to_be_visible()
    after = agree.bounding_box()
    assert abs(after["y"] - before["y"]) <= 1


def test_a_quick_preview_is_in_view_and_has_the_focus(visit):
    page = visit()
    answer_all(page)
    press(page, SHOW)
    expect(page.get_by_role("heading", name="What would be sent")).to_be_in_viewport()
    focused = "document.querySelector('ldp-survey').shadowRoot.activeElement.getAttribute('part')"
    assert page.evaluate(focused) == "preview"
