"""The page of `ldp-survey page` in Chromium, with a collector at another origin."""

import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import WIDE, open_chromium
from tests.support.commands import command
from tests.support.servers import TOKEN, collector
from tests.support.web_client import QuietHandler

SURVEY = """
[survey]
id = "habits"
epsilon = 1
[label]
name = "ill"
values = ["yes", "no", "not sure"]
[features.smokes]
values = [true, false]
missing = "category"
[features.cigarettes]
range = [0, 60]
missing = "category"
ask_if = { feature = "smokes", value = true }
[features.city]
values = ["a", "b", "c", "d", "e", "f", "g", "other"]
[features.drinks]
choices = ["tea", "coffee", "milk"]
missing = "category"
[features.hours]
edges = [0, 6, 7.5, 8, 24]
[about]
purpose = "To learn <b>why</b> people are ill."
contact = "A. Researcher\\na@example.org"
[texts.en]
title = "Health & habits"
[texts.en.label]
title = "Were you ill this winter?"
values = { yes = "Yes", no = "No", "not sure" = "I am not sure" }
[texts.en.features.smokes]
title = "Do you smoke?"
values = { true = "Yes", false = "No", "(missing)" = "I prefer not to say" }
[texts.en.features.cigarettes]
title = "How many cigarettes a day?"
[texts.en.features.city]
title = "Where do you live?"
[texts.en.features.drinks]
title = "What did you drink today?"
values = { tea = "Tea", coffee = "Coffee", milk = "Milk" }
[texts.en.features.hours]
title = "How long did you sleep?"
[texts.de]
title = "Gesundheit & Gewohnheiten"
[texts.de.label]
title = "Waren Sie krank?"
values = { yes = "Ja", no = "Nein", "not sure" = "Ich bin nicht sicher" }
[texts.de.features.smokes]
title = "Rauchen Sie?"
values = { true = "Ja", false = "Nein" }
[texts.ar]
title = "الصحة والعادات"
[texts.ar.label]
title = "هل كنت مريضا؟"
"""


@dataclass
class Site:
    """A page, its collector, and the folder of the page."""

    page: str
    collector: str
    folder: Path

    def count(self) -> int:
        """Return the number of reports that the collector has counted."""
        url = f"{self.collector}/v1/surveys/habits/progress"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request) as response:
            reports: int = json.load(response)["reports"]
        return reports


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    survey = folder / "habits.toml"
    survey.write_text(SURVEY, encoding="utf-8")
    key = command("ldp-survey", "keygen", folder / "author.key").stdout.split()[-1]
    command("ldp-survey", "sign", survey, "--key", folder / "author.key")
    prelude = "from ldp_aggregator.collector import service; service.RESULT_TTL_SECONDS = 0"
    with collector([survey], f"sqlite:///{folder}/store.db", workers=1, prelude=prelude) as (base, _):
        options = ["--collector", base, "-o", folder / "page", "--public-key", key]
        command("ldp-survey", "page", survey, *options)
        handler = partial(QuietHandler, directory=str(folder / "page"))
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Site(f"http://127.0.0.1:{server.server_port}/", base, folder)
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_chromium() as opened:
        yield opened


@pytest.fixture
def visit(browser: Browser, site: Site) -> Iterator[Callable[..., Page]]:
    """Return a function that opens the page in a new profile; an error of the page fails the test."""
    errors: list[str] = []
    contexts = []

    def go(script: str = "", path: str = "", **options) -> Page:
        context = browser.new_context(**{**WIDE, "locale": "en-GB", **options})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))
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


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).click()


def expect_status(page: Page, text: str, timeout: float = 10_000) -> None:
    expect(page.get_by_role("status")).to_contain_text(text, timeout=timeout)
