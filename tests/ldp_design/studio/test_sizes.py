"""Margins in a real browser: sliders and their numbers, suggestions, simulations, waves."""

import math

import pytest
from playwright.sync_api import expect

from ldp_aggregator.statements.privacy import update_belief
from ldp_aggregator.wording.values import percent_at_most
from tests.ldp_design.studio.browser_author import EXAMPLE

pytestmark = pytest.mark.slow


def test_sliders_answer_at_once_and_verify_soon(author):
    page = author.open()
    author.go("sizes")
    author.is_verified()
    slider = page.get_by_label("People who will answer (slider)")
    shown = page.evaluate(
        """() => {
            const slider = document.getElementById("people");
            slider.value = 5;
            slider.dispatchEvent(new Event("input"));
            return document.getElementById("margins").textContent;
        }"""
    )
    assert "about" in shown  # without a request
    slider.dispatch_event("change")
    expect(page.locator("#margins")).to_contain_text("Computed for 100,000 people")
    expect(page.get_by_label("People who will answer", exact=True)).to_have_value("100000")
    assert "users = 100000" in author.save()


def test_numbers_are_typed_exactly_and_their_bounds_are_said_in_a_sentence(author):
    page = author.open()
    author.go("sizes")
    author.fill("People who will answer", "12345")
    expect(page.locator("#margins")).to_contain_text("Computed for 12,345 people")
    epsilon = page.get_by_label("Epsilon: how much one answer may reveal", exact=True)
    author.fill("Epsilon: how much one answer may reveal", "40")
    expect(epsilon).to_have_attribute("aria-invalid", "true")
    why = page.locator(f"#{epsilon.get_attribute('aria-describedby')}")
    expect(why).to_contain_text("needs a number from 0.001 to 32")
    author.fill("Epsilon: how much one answer may reveal", "0.75")
    expect(epsilon).not_to_have_attribute("aria-invalid", "true")
    author.is_verified()
    text = author.save()
    assert "users = 12345" in text
    assert "epsilon = 0.75" in text


@pytest.mark.parametrize("author", [(EXAMPLE, {"locale": "de-DE"})], indirect=True)
def test_german_numbers_have_commas_and_can_be_typed_with_them(author):
    page = author.open()
    author.go("sizes")
    author.fill("Epsilon: wie viel eine Antwort verraten darf", "0,5")
    field = page.get_by_label("Epsilon: wie viel eine Antwort verraten darf", exact=True)
    expect(field).to_have_value("0,5")
    author.is_verified()
    author.fill("Epsilon: wie viel eine Antwort verraten darf", "40")
    expect(page.get_by_text("braucht eine Zahl von 0,001 bis 32, zum Beispiel 1,0")).to_be_visible()
    page.get_by_role("button", name="Rückgängig").click()
    assert "epsilon = 0.5" in author.save()


def test_a_simulation_stands_beside_the_margins_and_can_be_stopped(author):
    page = author.open()
    author.go("sizes")
    author.is_verified()
    expect(page.locator("#margins")).not_to_contain_text("simulated")
    page.get_by_role("button", name="Simulate whole surveys").click()
    expect(page.locator("#margins")).to_contain_text("simulated: \u00b1")
    page.get_by_label("Send through a relay").check()  # the page answers, and an edit ends the simulation
    expect(page.get_by_role("button", name="Simulate whole surveys")).to_be_visible()
    author.is_verified()
    expect(page.locator("#margins")).not_to_contain_text("simulated")
    page.get_by_role("button", name="Simulate whole surveys").click()
    expect(page.locator("#margins")).to_contain_text("simulated: \u00b1")
    page.get_by_role("button", name="Stop the simulation").click()
    expect(page.get_by_role("button", name="Simulate whole surveys")).to_be_focused()
    expect(page.locator("#margins")).to_contain_text("simulated: \u00b1")  # of those that were done
    page.get_by_text("Details of the relay").click()
    author.save()
    author.go("questions")
    author.go("sizes")
    expect(page.locator("#margins")).to_contain_text("simulated: \u00b1")
    expect(page.get_by_label("Address at the relay")).to_be_visible()


def test_a_suggestion_is_taken_and_taken_back(author):
    page = author.open()
    author.go("sizes")
    page.get_by_role("button", name="Send through a relay").click()
    expect(page.get_by_label("Send through a relay")).to_be_checked()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("Send through a relay")).not_to_be_checked()


WAVES = EXAMPLE.replace("[label]", '[waves]\nfirst = 2027-01-01\nevery = "month"\ncount = 4\n\n[label]', 1)


@pytest.mark.parametrize("author", [(WAVES, {})], indirect=True)
def test_a_survey_with_waves_is_sized_for_one_wave(author):
    page = author.open()
    author.go("sizes")
    expect(page.locator("#margins")).to_contain_text("Computed for 5,000 people")
    author.go("page")
    expect(page.frame_locator("iframe").locator("form")).to_be_visible()


@pytest.mark.parametrize(
    ("author", "many", "few"),
    [((EXAMPLE, {}), "3,000", "0.5"), ((EXAMPLE, {"locale": "de-DE"}), "3.000", "0,5")],
    indirect=["author"],
)
def test_thousands_are_typed_as_the_page_writes_them(author, many, few):
    page = author.open()
    author.go("sizes")
    page.locator("#f-survey-users").fill(many)
    page.locator("#f-survey-users").press("Tab")
    expect(page.locator("#f-survey-users")).to_have_value("3000")
    page.locator("#f-survey-epsilon").fill(few)
    page.locator("#f-survey-epsilon").press("Tab")
    author.is_verified()
    text = author.save()
    assert "users = 3000" in text
    assert "epsilon = 0.5" in text


def test_a_number_that_is_none_moves_no_slider_and_gives_no_advice(author):
    page = author.open()
    author.go("sizes")
    before = page.locator("#people").input_value()
    expect(page.get_by_role("button", name="Send through a relay")).to_be_visible()
    author.fill("People who will answer", "many")
    expect(page.locator("#f-survey-users")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#people")).to_have_value(before)
    page.get_by_label("Send through a relay").check()
    expect(page.locator("#belief")).to_contain_text("at most believe that it is")
    expect(page.locator("#belief")).not_to_contain_text("If they work together")
    expect(page.locator("#belief")).to_contain_text("can learn together is unknown until the mistakes")
    expect(page.locator("#margins")).to_contain_text("The margins before the mistake")
    expect(page.locator(".margins.old .margin").first).to_be_visible()
    expect(page.get_by_role("button", name="Send through a relay")).to_have_count(0)


def test_advice_that_costs_privacy_names_its_price(author):
    page = author.open()
    author.go("sizes")
    page.get_by_label("Send through a relay").check()
    advice = page.locator(".suggestions li", has_text="Let everybody answer all questions")
    expect(advice).to_contain_text("The price: if relay and collector work together, epsilon is")
    expect(advice).to_contain_text("can become")
    page.get_by_text("Details of the relay").click()
    page.get_by_role("button", name="Choose the epsilon on the device anew").click()
    expect(page.locator("#message.notice")).to_contain_text("The epsilon on the device is now")
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    author.is_verified()
    fewer = page.locator(".suggestions li", has_text="bins instead of")
    expect(fewer.first).not_to_contain_text("The price")


TABLE = """\
[survey]
id = "sleep"
epsilon = 1.0
users = 800

[features.shift]
values = [true, false]

[features.insomnia]
values = [true, false]

[features.age]
values = ["young", "old"]

[tables.sleep]
features = ["shift", "insomnia"]
"""


@pytest.mark.parametrize("author", [(TABLE, {})], indirect=True)
def test_a_question_of_a_table_can_also_be_asked_alone(author):
    page = author.open()
    author.go("sizes")
    advice = page.locator(".suggestions li", has_text="Also ask \u201cshift\u201d alone")
    expect(advice).to_contain_text("The margin of \u201cshift\u201d becomes")
    expect(advice).to_contain_text("The widest margin becomes")  # the price
    advice.get_by_role("button").click()
    expect(advice).to_have_count(0)
    assert "alone = true" in author.save()


@pytest.mark.parametrize("author", [(TABLE, {})], indirect=True)
def test_beliefs_are_rounded_as_in_the_dossier(author):
    page = author.open()
    author.go("sizes")
    for epsilon in (1, 7.6, 9.5, 12, 17, 32):
        author.fill("Epsilon: how much one answer may reveal", str(epsilon))
        bound = percent_at_most(update_belief(0.1, math.exp(epsilon)))
        expect(page.locator("#belief")).to_contain_text(f"{bound.removesuffix('%')}\u202f% likely.")


def test_times_of_a_relay_are_chosen_and_the_wrong_one_is_marked(author):
    page = author.open()
    author.go("sizes")
    page.get_by_label("Send through a relay").check()
    page.get_by_text("Details of the relay").click()

    def choose(name: str, time: str) -> None:
        page.get_by_label(name).fill(time)
        page.get_by_label(name).blur()

    choose("Opens (UTC)", "2031-12-01T08:30")
    choose("Closes (UTC)", "2031-11-01T00:00")
    expect(page.get_by_label("Closes (UTC)")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("needs a time after \u201cOpens\u201d")).to_be_visible()
    choose("Closes (UTC)", "")
    choose("Closes (UTC)", "2032-01-01T00:00")
    expect(page.get_by_label("Closes (UTC)")).not_to_have_attribute("aria-invalid", "true")
    text = author.save()
    assert "opens = 2031-12-01T08:30:00Z" in text
    assert "closes = 2032-01-01T00:00:00Z" in text


NUMBER = """\
[survey]
id = "age"
epsilon = 1.0
users = 300

[features.age]
range = [18, 90]

[features.ill]
values = [true, false]
"""


@pytest.mark.parametrize("author", [(NUMBER, {})], indirect=True)
def test_advice_writes_the_margin_of_a_mean_as_the_list_does(author):
    page = author.open()
    author.go("sizes")
    author.is_verified()
    row = page.locator(".margin", has_text="age").locator(".value").inner_text()
    advice = page.locator(".suggestions li", has_text="The widest margin becomes \u00b1")
    expect(advice.first).to_contain_text(f"in place of {row.removeprefix('mean ')} (age).")
