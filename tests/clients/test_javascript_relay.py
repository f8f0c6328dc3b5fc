"""A survey with a relay in a real browser: the form, several tabs, and who can open what."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.http_servers import QuietHandler, serve, serve_folder

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from playwright.sync_api import BrowserContext, Page, expect

from encoders.survey import Plan
from encoders.survey.invitation import format_token
from encoders.survey.randomise import read_report
from encoders.survey.sealing import outer_bytes
from encoders.survey.unsealing import open_inner, open_outer
from tests.support.commands import command
from tests.support.relays import ALL, COLLECTOR, RELAY, ROW, SMALL, RelayedSite, later_after, relayed_plan
from tests.support.relays import relay as run_relay
from tests.support.servers import wait_for
from tests.support.surveys import RELAYED
from tests.support.web_client import STORED

pytestmark = pytest.mark.slow

SURVEY = "night-work"
FIRST_OF_ALL = (
    "All your answers are sent, each changed at random by itself. The relay mixes the answers of all people,"
)
OPEN = """async ([url, relay, digest]) => {
    const { throughRelay } = await import("/src/relay.js");
    const options = { person: null, digest, spread: 0, relay: throughRelay(relay) };
    globalThis.client = new ldp.Client(url, options);
    return String(await client.grant());
}"""
REPORT_AT = """([start, row]) => {
    globalThis.result = new Promise((resolve) => setTimeout(resolve, start - Date.now()))
        .then(() => client.report(row)).then(({ state }) => state);
}"""
"""Reports at a time in milliseconds, for tabs that report at once."""
ELEMENT = """async ([src, relay, digest]) => {
    await import("/src/form.js");
    const element = document.createElement("ldp-survey");
    for (const [name, value] of Object.entries({ src, relay, digest, lang: "en" })) {
        element.setAttribute(name, value);
    }
    document.body.append(element);
}"""


@dataclass
class FakeRelay:
    """A relay at a port of this machine, which holds the messages of one survey."""

    origin: str = field(init=False)
    plan: Plan = field(init=False)
    requests: list[str] = field(default_factory=list)
    posted: list[bytes] = field(default_factory=list)
    held: set[bytes] = field(default_factory=set)
    is_passed_on: bool = False
    has_code: bool = False

    @property
    def arguments(self) -> list[str]:
        """The survey's address, the relay's, and the plan's digest."""
        return [f"{self.origin}/{SURVEY}", self.origin, self.plan.digest]

    def respond(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        self.requests.append(f"{method} {path}")
        if (method, path) == ("GET", f"/{SURVEY}/plan"):
            return 200, self.plan.json
        if path != f"/{SURVEY}/{self.plan.digest}":
            return 404, b'{"reason": "other-plan"}'
        if method == "POST":
            open_outer(self.plan, body, RELAY, has_code=self.has_code)
            self.posted.append(body)
            self.held.add(body)
            return 202, b'{"status": "held"}'
        if self.is_passed_on:
            return 409, b'{"reason": "passed-on"}'
        self.held.discard(body)
        return 204, b""


@pytest.fixture
def relay() -> Iterator[FakeRelay]:
    served = FakeRelay()

    class Handler(QuietHandler):
        def respond(self) -> None:
            body = self.read_body()
            is_preflight = self.command == "OPTIONS"
            status, content = (204, b"") if is_preflight else served.respond(self.command, self.path, body)
            self.send_response(status)
            self.send_header("Access-Control-Allow-Origin", "*")
            if is_preflight:
                self.send_header("Access-Control-Allow-Methods", "DELETE")
            if status != 204:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = do_OPTIONS = respond

    with serve(Handler) as served.origin:
        served.plan = relayed_plan(RELAYED.replace("https://relay.example", served.origin))
        yield served


def open_tab(context: BrowserContext, origin: str, asked: list[str]) -> Page:
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{origin}/tests/client.html")
    return page


def assert_opens(plan: Plan, message: bytes) -> None:
    """Check that the collector can open a message of the relay, and finds a report of the plan."""
    report = open_inner(plan, open_outer(plan, message, RELAY), COLLECTOR)
    assert read_report(plan, report).plan_digest == plan.digest_bytes


def test_a_person_answers_in_the_form_and_withdraws_from_the_relay(context, origin, relay):
    asked: list[str] = []
    page = open_tab(context, origin, asked)
    page.evaluate(ELEMENT, relay.arguments)
    promise = page.get_by_text("A relay passes the random answer on.")
    expect(promise).to_contain_text("a factor of at most 2.72, with a remainder of at most 1 in 1,000,000")
    expect(promise).to_contain_text("if 438 of the 600 answers")
    for name, value in ROW.items():
        group = page.get_by_role("group", name=name, exact=True)
        group.get_by_label(json.dumps(value).strip('"'), exact=True).check()
    page.get_by_role("button", name="Show what would be sent").click()
    caption = page.get_by_role("table").locator("caption")
    expect(caption).to_contain_text("What relay and collector could conclude only together")
    page.get_by_role("button", name="Yes, send one random answer").click()
    status = page.get_by_role("status")
    expect(status).to_contain_text("It is counted when enough others have answered")
    [message] = relay.held
    assert_opens(relay.plan, message)
    page.get_by_role("button", name="Withdraw my answer").click()
    expect(status).to_contain_text("You have withdrawn")
    assert relay.held == set()
    path = f"/{SURVEY}/{relay.plan.digest}"
    assert relay.requests == [f"GET /{SURVEY}/plan", f"POST {path}", f"DELETE {path}"]
    assert {url.split("/")[2] for url in asked} == {origin.split("/")[2], relay.origin.split("/")[2]}


def test_a_person_who_withdraws_too_late_is_told_so(context, origin, relay):
    page = open_tab(context, origin, [])
    page.evaluate(OPEN, relay.arguments)
    assert page.evaluate("async (row) => (await client.report(row)).state", ROW) == "queued"
    assert page.evaluate("async () => String(await client.flush())").startswith("sent (the relay has it")
    relay.is_passed_on = True
    assert page.evaluate("async () => (await client.withdraw()).reason") == "passed-on"


def test_a_code_is_for_the_relay_alone(context, origin, relay):
    relay.has_code = True
    code = bytes(range(16))
    page = open_tab(context, origin, [])
    script = OPEN.replace("spread: 0,", f'spread: 0, token: "{format_token(relay.plan, code)}",')
    assert page.evaluate(script, relay.arguments) == "ready"
    assert page.evaluate("async (row) => (await client.report(row)).state", ROW) == "queued"
    assert page.evaluate("async () => String(await client.flush())").startswith("sent (the relay has it")
    [message] = relay.held
    content = open_outer(relay.plan, message, RELAY, has_code=True)
    assert content[:16] == code
    report = read_report(relay.plan, open_inner(relay.plan, content[16:], COLLECTOR))
    assert report.id != code


def test_tabs_that_report_at_once_send_one_message(context, origin, relay):
    pages = [open_tab(context, origin, []) for _ in range(3)]
    for page in pages:
        assert page.evaluate(OPEN, relay.arguments) == "ready"
    start = pages[0].evaluate("Date.now() + 300")
    for page in pages:
        page.evaluate(REPORT_AT, [start, ROW])
    states = [page.evaluate("result") for page in pages]
    assert sorted(states) == ["already_reported", "already_reported", "queued"]
    for page in pages:
        page.evaluate("async () => client.flush()")
    assert {bytes(message) for message in relay.posted} == relay.held
    [message] = relay.held
    [[state, stored]] = pages[0].evaluate(STORED, "ldp-bayes")
    assert (state, bytes(stored)) == ("sent", message)


def answer(page: Page, agree: str = "Yes, send one random answer") -> None:
    """Answer all questions of the page, and agree."""
    for name, value in ROW.items():
        group = page.get_by_role("group", name=name, exact=True)
        group.get_by_label(json.dumps(value).strip('"'), exact=True).check()
    page.get_by_role("button", name=agree).click()


@contextmanager
def open_page(
    context: BrowserContext, folder: Path, survey: str = SMALL, *options: object
) -> Iterator[tuple[RelayedSite, Page]]:
    """Serve a survey's page, relay and collector, with 19 answers; yield them and the open page.

    The relay takes the survey as closed, so that its only batch leaves, once the file `closed` exists.
    """
    site = RelayedSite(folder, closes=int(time.time()) + 1800, survey=survey)
    site.settings("http://127.0.0.1:9")
    command("ldp-survey", "page", folder / "plan.json", "-o", folder / "site", *options)
    with (
        serve_folder(folder / "site") as address,
        site.collector() as (base, _),
        run_relay(site.settings(base), 0.5, prelude=later_after(folder / "closed")),
    ):
        site.send(19)
        page = context.new_page()
        page.goto(address)
        yield site, page


def test_the_page_of_the_command_sends_through_a_real_relay_to_a_real_collector(context, tmp_path):
    with open_page(context, tmp_path) as (site, page):
        answer(page)
        expect(page.get_by_role("status")).to_contain_text("when enough others have answered")
        (tmp_path / "closed").touch()
        wait_for(lambda: site.counts().get("passed on, recorded") == 20)
    assert site.counted() == 20


LOUD = ALL.replace("epsilon = 1\nusers", "epsilon = 6\nusers").replace(
    "epsilon = 1\ndelta", "epsilon = 6.1\ndelta"
)
"""The answers of a person have epsilon 6 together."""


def test_a_page_sends_all_answers_through_a_real_relay_and_each_question_counts_them_once(context, tmp_path):
    with open_page(context, tmp_path, LOUD, "--max-epsilon", 6.1) as (site, page):
        assert 'max-local-epsilon="6"' in (tmp_path / "site" / "index.html").read_text()
        promise = page.locator("[part=promise] li")
        expect(promise.first).to_have_text(f"{FIRST_OF_ALL} question by question.")
        expect(promise.nth(2)).to_contain_text("if 14 of the 20 messages that leave together come")
        expect(promise.last).to_contain_text("up to 95.3% of yes/no answers are sent as they are")
        answer(page, "Show what would be sent")
        preview = page.locator("[part=preview]")
        expect(preview.get_by_role("table")).to_have_count(2)
        for name, truth in (("nights", "some"), ("rested", "true")):
            shown = preview.get_by_role("group", name=name)
            expect(shown.get_by_role("row", name=f"{truth} (Your answer)")).to_have_count(1)
        expect(preview.locator("code")).to_have_count(2)
        answer(page, "Yes, send all answers, each changed at random")
        expect(page.get_by_role("status")).to_contain_text("when enough others have answered")
        [[state, stored]] = page.evaluate(STORED, "ldp-bayes")
        assert (state, len(stored)) == ("sent", outer_bytes(site.plan))
        (tmp_path / "closed").touch()
        wait_for(lambda: site.counts().get("passed on, recorded") == 40)
    assert site.counted_by_question() == [20, 20]


def test_only_people_with_a_link_of_the_relay_are_asked(context, tmp_path):
    site = RelayedSite(tmp_path)
    settings = site.settings("http://127.0.0.1:9")
    settings.write_text(settings.read_text() + "codes = true\n")
    command("ldp-survey", "page", tmp_path / "plan.json", "-o", tmp_path / "site", "--codes")
    with serve_folder(tmp_path / "site") as address, run_relay(settings):
        made = command("ldp-relay", "codes", settings, site.plan.id, "--count", "1", "--page", f"{address}/")
        page = context.new_page()
        page.goto(address)
        expect(page.get_by_role("status")).to_have_text(re.compile("^Your invitation is missing"))
        expect(page.locator("form")).to_have_count(0)
        page.goto(made.stdout.strip())
        answer(page)
        held = "The relay has your random answer"
        expect(page.get_by_role("status")).to_contain_text(held)
        page.goto(address)
        expect(page.get_by_role("status")).to_contain_text(held)
        assert site.counts()["codes used"] == site.counts()["waiting"] == 1
