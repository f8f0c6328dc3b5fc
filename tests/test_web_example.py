"""The web example in a real chromium, with the collector that it starts."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from ldp_client import State
from tests.support.browser import assert_every_look, press
from tests.support.servers import TOKEN, inherited_environment, listens, stop

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent.parent / "examples" / "web"
WIDE = {"width": 1100, "height": 900}
LOOKS = {
    f"{theme} {size['width']}": {"viewport": size, "color_scheme": theme}
    for theme in ("light", "dark")
    for size in (WIDE, {"width": 360, "height": 700})
}
ARRIVED = "has arrived, and counts once"
WAITS = "waits in this browser"
DATABASES = "async () => (await indexedDB.databases()).map(({ name }) => name)"
GPC = "Object.defineProperty(navigator, 'globalPrivacyControl', { value: true })"
NO_STORAGE = """Object.defineProperty(globalThis, "indexedDB", {
    get() { throw new DOMException("no", "SecurityError") },
})"""


@dataclass
class Example:
    """The running example: its page, its collector, and its process."""

    page: str
    collector: str
    process: subprocess.Popen[str]

    def count(self) -> int:
        """Return the number of reports that the collector has counted."""
        request = urllib.request.Request(
            f"{self.collector}v1/surveys/sleep-and-work-2026/progress",
            headers={"Authorization": f"Bearer {TOKEN}"},
        )
        with urllib.request.urlopen(request) as response:
            reports: int = json.load(response)["reports"]
        return reports


@contextmanager
def started(**environment: str) -> Iterator[Example]:
    """Start the example on free ports."""
    process = subprocess.Popen(
        [sys.executable, str(FOLDER / "serve.py"), "--port", "0", "--collector-port", "0"],
        env={**inherited_environment(), "LDP_OPERATOR_TOKEN": TOKEN, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    printed = ""
    while "Ctrl-C" not in printed and (line := process.stdout.readline()):
        printed += line
    try:
        page, operator = re.findall(r"http://127\.0\.0\.1:\d+/", printed)
        yield Example(page, operator, process)
    finally:
        stop(process)


@pytest.fixture(scope="module")
def example() -> Iterator[Example]:
    with started() as running:
        yield running


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """Give each test a profile of its own."""
    with chromium.new_context(viewport=WIDE) as opened:
        yield opened


@pytest.fixture
def visit(context: BrowserContext, example: Example) -> Iterator[Callable[[], Page]]:
    """Return a function that opens the page in a tab; errors of the page fail the test."""
    errors: list[str] = []

    def go() -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(example.page)
        return page

    yield go
    assert errors == []


def answer(page: Page) -> None:
    page.get_by_label("At night").check()
    page.get_by_label("How many hours").fill("5.5")
    page.get_by_label("No", exact=True).check()


def expect_sentence(page: Page, text: str) -> None:
    expect(page.locator("#sentence")).to_contain_text(text)


def test_an_answer_is_previewed_sent_once_and_remembered_at_the_next_visit(visit, example):
    before = example.count()
    page, posted = visit(), []
    page.on("request", lambda each: each.method == "POST" and posted.append(each.url))
    expect_sentence(page, "You have not agreed to take part")
    expect(page.locator("#promise")).to_contain_text("at most 74% sure")
    answer(page)
    press(page, "Show what would be sent")
    expect(page.locator("#preview")).to_be_focused()
    expect(page.locator("#possible tr")).to_have_count(15)
    expect(page.locator("#possible .own")).to_have_count(1)
    shares = page.locator("#possible td").all_inner_texts()
    assert sum(float(share.strip().rstrip("%")) for share in shares) == pytest.approx(100, abs=1)
    assert len(bytes.fromhex(page.locator("#bytes").text_content() or "")) > 50
    assert page.evaluate(DATABASES) == []
    assert posted == []

    press(page, "Yes, send")
    expect(page.locator("#receipt")).to_be_focused()
    expect_sentence(page, ARRIVED)
    assert page.get_by_role("link", name="the dashboard").get_attribute("href") == example.collector
    assert page.locator("#bytes").text_content() == page.get_by_label("How many hours").input_value() == ""
    assert example.count() == before + 1
    assert len(posted) == 1

    page.reload()
    for tab in (page, visit()):
        expect_sentence(tab, ARRIVED)
        expect(tab.locator("#form")).to_be_hidden()
        expect(tab.get_by_role("button", name="Withdraw")).to_be_hidden()
    assert example.count() == before + 1


def test_the_keyboard_alone_answers_the_survey(visit, example):
    before = example.count()
    page = visit()
    expect_sentence(page, "You have not agreed")
    page.locator("#rules summary").focus()
    keys = ["Enter", "Tab", "ArrowDown", "ArrowDown", "Tab", "7", ".", "5", "Tab", "Space", "ArrowDown"]
    for key in keys:
        page.keyboard.press(key)
    expect(page.get_by_label("At night")).to_be_checked()
    expect(page.get_by_label("How many hours")).to_have_value("7.5")
    expect(page.get_by_label("No", exact=True)).to_be_checked()
    for key in ("Tab", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("#preview")).to_be_focused()
    for key in ("Tab", "Enter", "Tab", "Enter"):  # the bytes, then the button that agrees
        page.keyboard.press(key)
    expect_sentence(page, ARRIVED)
    assert example.count() == before + 1


def test_enter_in_a_field_shows_the_preview_and_does_not_agree(visit):
    page = visit()
    answer(page)
    page.get_by_label("How many hours").press("Enter")
    expect(page.locator("#preview")).to_be_visible()
    expect_sentence(page, "You have not agreed")
    assert page.evaluate(DATABASES) == []


@pytest.mark.parametrize("button", ["Show what would be sent", "Yes, send"])
def test_an_incomplete_form_neither_shows_nor_sends_anything(visit, button):
    page = visit()
    press(page, button)
    expect(page.get_by_label("Yes", exact=True)).to_be_focused()
    expect(page.locator("#preview")).to_be_hidden()
    assert page.evaluate(DATABASES) == []


def test_answers_that_are_missing_are_sent_like_any_other(visit, example):
    before = example.count()
    page = visit()
    page.get_by_label("I am not sure").check()
    press(page, "Show what would be sent")
    expect(page.locator("#drawn")).to_contain_text("no answer, rested: not sure")
    press(page, "Yes, send")
    expect_sentence(page, ARRIVED)
    assert example.count() == before + 1


def test_a_refusal_sends_and_stores_nothing_and_clears_the_form(visit, example):
    before = example.count()
    page = visit()
    answer(page)
    press(page, "Show what would be sent")
    press(page, "No, send nothing")
    expect(page.locator("#receipt")).to_be_focused()
    expect_sentence(page, "You do not take part: nothing was sent")
    expect(page.locator("#preview")).to_be_hidden()
    expect(page.get_by_label("How many hours")).to_have_value("")
    assert page.evaluate(DATABASES) == []
    assert example.count() == before


def test_a_report_that_waits_can_be_withdrawn(visit, example):
    before = example.count()
    page = visit()
    page.route("**/reports", lambda route: route.abort())
    answer(page)
    press(page, "Yes, send")
    expect_sentence(page, "cannot be reached")
    expect_sentence(page, WAITS)
    expect(page.locator("#form")).to_be_hidden()
    press(page, "Withdraw my answer")
    expect_sentence(page, "You have withdrawn")
    page.unroute("**/reports")
    page.reload()
    expect_sentence(page, "You have withdrawn")
    expect(page.locator("#form")).to_be_hidden()
    assert example.count() == before


def test_answers_stay_in_the_form_if_consent_cannot_be_recorded(visit):
    page = visit()
    answer(page)
    page.evaluate(NO_STORAGE)
    press(page, "Yes, send")
    expect_sentence(page, "does not let this page store anything")
    expect(page.get_by_label("How many hours")).to_have_value("5.5")


@pytest.mark.parametrize(
    ("script", "sentence"),
    [(GPC, "Global Privacy Control"), (NO_STORAGE, "does not let this page store anything")],
    ids=["global privacy control", "no storage"],
)
def test_a_browser_that_forbids_reports_gets_a_reason_in_place_of_the_form(context, visit, script, sentence):
    context.add_init_script(script)
    page = visit()
    expect_sentence(page, sentence)
    expect(page.locator("#form")).to_be_hidden()


def test_a_page_without_https_asks_nothing(context, example):
    def answer_from_the_example(route: Route) -> None:
        path = urlsplit(route.request.url).path
        route.fulfill(response=context.request.get(f"{example.page.rstrip('/')}{path}"))

    page = context.new_page()
    page.route("http://survey.example/**", answer_from_the_example)
    page.goto("http://survey.example/")
    expect_sentence(page, "not loaded over https")
    expect(page.locator("#form")).to_be_hidden()


def respond(status: int, reason: str) -> Callable[[Route], None]:
    return lambda route: route.fulfill(
        status=status,
        content_type="application/problem+json",
        body=json.dumps({"reason": reason}),
        headers={"Access-Control-Allow-Origin": "*"},
    )


@pytest.mark.parametrize(
    ("handler", "sentence"),
    [
        (lambda route: route.abort(), "cannot be reached"),
        (lambda route: route.fulfill(status=403, body="no"), "cannot be reached"),
        (respond(404, "unknown-survey"), "does not have this survey"),
        (respond(410, "survey-closed"), "The survey is over"),
    ],
    ids=["no network", "an origin that a proxy refuses", "another survey", "closed"],
)
def test_without_a_survey_the_page_says_why(context, visit, handler, sentence):
    context.route("**/v1/surveys/*", handler)
    page = visit()
    expect_sentence(page, sentence)
    expect(page.locator("#form")).to_be_hidden()


def test_a_browser_that_has_answered_needs_no_collector_to_know_it(context, visit):
    page = visit()
    answer(page)
    press(page, "Yes, send")
    expect_sentence(page, ARRIVED)
    context.route("**/v1/surveys/*", lambda route: route.abort())
    page.reload()
    expect_sentence(page, ARRIVED)


def test_every_step_is_accessible_at_every_width_and_in_both_themes(chromium, example):
    with chromium.new_context(bypass_csp=True) as context:
        page = context.new_page()
        page.goto(example.page)
        answer(page)
        press(page, "Show what would be sent")
        page.get_by_text("The bytes of this example").click()
        page.get_by_text("The rules of this survey").click()
        assert_every_look(page, "example-preview", LOOKS)
        press(page, "Yes, send")
        expect_sentence(page, ARRIVED)
        assert_every_look(page, "example-sent", LOOKS)


def test_the_page_has_the_documented_attributes_against_tools_that_record_visits():
    page = (FOLDER / "index.html").read_text("utf-8")
    documented = (FOLDER.parents[1] / "docs" / "embedding-web.md").read_text("utf-8")
    listed, used = (
        set(re.findall(r'data-[\w-]+(?:="\w+")?|class="[^"]+"', re.sub(r"data-survey=\S+", "", each)))
        for text in (documented, page)
        for each in re.findall(r"<main\s[^>]*>", text)
    )
    assert len(listed) == 5
    assert used == listed


def test_the_page_may_send_to_the_collector_only(example):
    with urllib.request.urlopen(example.page) as response:
        policy = response.headers["Content-Security-Policy"]
    collector = example.collector.rstrip("/")
    documented = (FOLDER.parents[1] / "docs" / "embedding-web.md").read_text("utf-8")
    assert (
        f"Content-Security-Policy: {policy}\n".replace(collector, "https://collector.example") in documented
    )
    for path in ("survey.toml", "ldp-bayes/../serve.py", "ldp-bayes/..%2f..%2fpackage.json"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{example.page}{path}")


def test_every_state_has_a_sentence():
    source = (FOLDER / "page.js").read_text("utf-8")
    sentences = source.partition("SENTENCES = {")[2].partition("};")[0]
    assert set(re.findall(r"^  (\w+):", sentences, re.MULTILINE)) == set(State)


def test_ports_that_are_taken_are_reported_and_the_collector_ends(example):
    port = urlsplit(example.page).port
    taken = subprocess.run(
        [sys.executable, str(FOLDER / "serve.py"), "--port", str(port), "--collector-port", "0"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert taken.returncode == 1
    assert f"the page's port {port} cannot be used" in taken.stderr


def test_ctrl_c_stops_the_page_and_the_collector(tmp_path):
    with started(TMPDIR=str(tmp_path)) as example:
        assert list(tmp_path.iterdir())
        example.process.send_signal(signal.SIGINT)
        output, _ = example.process.communicate(timeout=120)
        assert output == "\nstopped; the reports of this demonstration are deleted\n"
        assert example.process.returncode == 0
        for address in (example.page, example.collector):
            assert not listens(urlsplit(address).port or 0)
    assert not list(tmp_path.iterdir())


def test_a_preview_of_former_answers_is_hidden(visit):
    page = visit()
    answer(page)
    press(page, "Show what would be sent")
    expect(page.locator("#preview")).to_be_visible()
    page.get_by_label("How many hours").fill("6.5")
    expect(page.locator("#preview")).to_be_hidden()
    assert page.locator("#bytes").text_content() == ""


def test_a_collectors_port_in_use_names_the_option():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, str(FOLDER / "serve.py"), "--port", "0", "--collector-port", str(port)]
        ended = subprocess.run(
            command, env=inherited_environment(), capture_output=True, text=True, timeout=60
        )
    assert ended.returncode == 1
    assert "--collector-port" in ended.stderr
