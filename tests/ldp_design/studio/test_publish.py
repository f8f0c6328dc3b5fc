"""What an author publishes, in a real browser: the checklist, the signature and what is downloaded."""

import re
import zipfile
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect

from encoders.survey.signature import read_signature, verify
from ldp_design.studio.commands import start_service
from tests.ldp_design.studio.browser_author import EXAMPLE, TIMEOUT

pytestmark = pytest.mark.slow


def test_a_signature_is_of_the_survey_that_is_shown_and_a_collector_serves_it(author, tmp_path):
    page = author.open()
    author.go("publish")
    point = page.locator(".todo li", has_text=re.compile("signed"))
    page.get_by_role("button", name="Make a key and sign").click()
    expect(page.get_by_role("button", name="This survey is signed")).to_be_disabled()
    expect(point).to_have_class("done")
    public = page.locator("p", has_text="Public key, for the developers of apps").locator("code").inner_text()
    page.get_by_label("Address of your collector").fill("https://collector.example")
    with page.expect_download(timeout=4 * TIMEOUT) as download:
        page.get_by_role("button", name="Download all as a zip").click()
    folder = tmp_path / "published"
    with zipfile.ZipFile(download.value.path()) as archive:
        archive.extractall(folder)
    assert "plan.json.sig" in (folder / "README.txt").read_text("utf-8")
    plan = (folder / "plan.json").read_bytes()
    options = ("--store", "sqlite:///ldp.db", "--bind", "127.0.0.1:0", "--workers", 1)
    with (tmp_path / "errors.txt").open("w") as errors:
        arguments = ("ldp-collector", "serve", "plan.json", *options)
        process = start_service(*arguments, folder=folder, token="operator-of-the-test", errors=errors)
        with process:
            origin = re.search(r"http://[0-9.]+:[0-9]+", process.stdout.readline())[0]
            with urlopen(f"{origin}/v1/surveys/missed-payments-2026/signature") as response:
                verify(plan, read_signature(response.read()), public)
            process.stdin.close()
    expect(page.locator("#main").get_by_text("was downloaded")).to_be_visible()
    author.go("sizes")
    author.fill("Epsilon: how much one answer may reveal", "0.9")
    author.go("publish")
    expect(point).to_have_class("open")
    expect(point).to_contain_text("sign it again")
    expect(page.locator("#main").get_by_text("was downloaded")).to_have_count(0)
    author.save()
    page.get_by_role("button", name="Go there: The survey has changed").click()
    expect(page.get_by_role("button", name="Sign the survey")).to_be_focused()
    page.keyboard.press("Enter")
    expect(point).to_have_class("done")


def test_the_checklist_leads_to_the_fields_of_the_relay_and_to_saving(author):
    page = author.open()
    author.go("sizes")
    page.get_by_label("Send through a relay").check()
    author.is_verified()
    author.go("publish")
    todo = page.locator(".todo")
    expect(todo).to_contain_text("If fewer than 12,000 people answer, the relay deletes all answers")
    expect(todo).to_contain_text(
        re.compile(r"takes answers from 1 \w+ \d{4} at 00:00 UTC to 1 \w+ \d{4} at 00:00 UTC")
    )
    for point, label in (
        ("The relay's own address", "Address at the relay"),
        ("The relay's public key", "Public key of the relay"),
    ):
        page.get_by_role("button", name=f"Go there: {point}").click()
        expect(page.get_by_label(label)).to_be_focused()
        expect(page.get_by_label(label)).to_be_in_viewport()
        author.go("publish")
    page.get_by_role("button", name="Go there: The file is saved").click()
    expect(page.locator("#save")).to_be_focused()
    expect(page.get_by_text("Sign last: keys of the operators are still missing")).to_be_visible()
    expect(page.get_by_text("Save the survey first.")).to_have_count(2)  # at the files, and at the signature
    author.fill("Address of your collector", "http://counts.example")
    expect(page.get_by_label("Address of your collector")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("Write the address as https://HOST")).to_be_visible()
    page.get_by_label("Address of your collector").fill("https://counts.example")
    page.get_by_label("Address of your collector").press("Tab")
    expect(page.locator(".commands").first).to_contain_text("ldp-train https://counts.example/v1/surveys/")
    expect(page.locator(".commands").first).to_contain_text("ldp-collector access add relay --role relay")


GERMAN = (
    EXAMPLE
    + """
[texts.en]
title = "Payments"

[texts.en.features.age]
title = "Your age?"

[texts.de.about]
contact = "Amt"
"""
)


@pytest.mark.parametrize("author", [(GERMAN, {"locale": "de-DE"})], indirect=True)
def test_the_checklist_leads_to_a_missing_text_and_the_page_begins_in_the_studios_language(author):
    page = author.open()
    author.go("page")
    expect(page.get_by_label("Sprache", exact=True)).to_have_value("de")
    expect(page.get_by_text("In dieser Sprache fehlen Texte")).to_be_visible()
    author.go("publish")
    page.get_by_role("button", name="Dorthin: Texte fehlen").click()
    expect(page.locator(":focus")).to_have_attribute("id", re.compile("^f-"))


def test_the_questions_say_how_many_each_person_answers(author):
    page = author.open()
    expect(page.locator(".lead")).to_contain_text("answers one of these questions")
    author.go("sizes")
    page.get_by_label("Send through a relay").check()
    page.get_by_label("Everybody answers all questions").check()
    author.go("questions")
    expect(page.locator(".lead")).to_contain_text("answers all of these questions")


@pytest.mark.parametrize("author", [(EXAMPLE, {"locale": "de-DE"})], indirect=True)
def test_the_results_of_a_german_trial_are_german_and_say_that_people_are_made_up(author):
    page = author.open()
    author.go("trial")
    page.get_by_role("button", name="Probe beginnen").click()
    page.get_by_label("Erfundene Leute").fill("20")
    page.get_by_role("button", name="Antworten lassen").click()
    expect(page.get_by_text("Bisher gezählte Antworten: 20.")).to_be_visible()
    page.get_by_role("button", name="Ergebnisse zeigen").click()
    results = page.frame_locator("iframe")
    expect(results.get_by_text("Die Antworten sind erfunden").first).to_be_visible()
    expect(results.locator("html")).to_have_attribute("lang", "de")
    expect(page.get_by_role("link", name="Ergebnisse in einem anderen Tab")).to_be_visible()
    page.locator("#words").select_option("en")
    expect(page.get_by_role("link", name="Open the results in another tab")).to_have_count(0)
    expect(page.locator("iframe")).to_have_count(0)
    page.locator("#words").select_option("de")
    expect(page.get_by_role("link", name="Ergebnisse in einem anderen Tab")).to_be_visible()
    page.get_by_label("Erfundene Leute").fill("3000")
    page.get_by_label("Erfundene Leute").press("Tab")
    expect(page.get_by_label("Erfundene Leute")).to_have_value("1000")
    author.go("questions")
    page.get_by_role("button", name="Löschen: cards").click()
    author.go("trial")
    expect(page.get_by_text("Die Umfrage hat sich geändert, seit diese Probe begann")).to_be_visible()
