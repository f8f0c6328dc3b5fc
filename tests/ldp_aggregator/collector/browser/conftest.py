"""A collector with several surveys, and a headless Chromium that opens its page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from encoders.randomness import FastStream
from encoders.survey import Plan, read_survey
from ldp_client import make_report
from tests.ldp_aggregator.views.samples import HOSTILE
from tests.support.commands import post_reports
from tests.support.servers import TOKEN, collector
from tests.support.silo_surveys import WARDS, make_message, make_rows, read_silo_survey
from tests.support.surveys import survey_toml

CLINIC = survey_toml(
    id="clinic",
    epsilon=8.0,
    label={"name": "ill"},
    features={
        "smoker": ["never", "formerly", "now"],
        "coin": ["heads", "tails"],
        "weight": {"range": [30, 150], "missing": "category"},
    },
)
EMPTY = survey_toml(
    id="empty", label={"name": "rested"}, features={"age": ["young", "old"], "hours": {"range": [0, 12]}}
)
MANY = survey_toml(
    id="many",
    epsilon=4.0,
    label={"name": "kind", "values": [f"a rather long class {number}" for number in range(12)]},
    features={"colour": ["red", "green", "blue"], "taste": ["sweet", "bitter"]},
)
TEA = survey_toml(
    id="tea",
    label=None,
    users=2000,
    features={
        "tea": {"values": ["black", "green"]},
        "hours": {"range": [0, 12], "missing": "category"},
        "cups": {"choices": ["small", "large"], "missing": "category"},
    },
)
SURVEYS = {"clinic": CLINIC, "empty": EMPTY, "many": MANY, "names": HOSTILE, "tea": TEA, "wards": WARDS}
"""The surveys by id; the page shows them in this order."""
REPORTS = 1200
CACHE_SECONDS = 0.2
SHORT_CACHE = f"from ldp_aggregator.collector import service; service.RESULT_TTL_SECONDS = {CACHE_SECONDS}"


@dataclass
class Site:
    """A running collector, and the plan of its survey with reports."""

    url: str
    clinic: Plan

    def send(self, count: int) -> None:
        """Send `count` reports: all people who are ill smoke, and weights vary enough to be estimated."""
        rows = [
            ({"smoker": "now", "coin": "heads", "weight": 40}, "yes"),
            ({"smoker": "never", "coin": "heads", "weight": 60}, "no"),
            ({"smoker": "now", "coin": "tails", "weight": None}, "yes"),
            ({"smoker": "formerly", "coin": "tails", "weight": 140}, "no"),
            ({"smoker": "now", "coin": "tails", "weight": 110}, "yes"),
            ({"smoker": "never", "coin": "tails", "weight": 60}, "no"),
            ({"smoker": "now", "coin": "heads", "weight": None}, "yes"),
            ({"smoker": "formerly", "coin": "heads", "weight": 140}, "no"),
        ]
        self.post(b"".join(make_report(self.clinic, *rows[number % 8]) for number in range(count)))

    def post(self, body: bytes) -> None:
        post_reports(f"{self.url}/v1/surveys/clinic", body)


def write_surveys(folder: Path) -> list[Path]:
    paths = {name: folder / f"{name}.toml" for name in SURVEYS}
    for name, path in paths.items():
        path.write_text(SURVEYS[name])
    return list(paths.values())


def make_messages(count: int) -> bytes:
    """Return messages of silos with 500 rows each."""
    plan = read_silo_survey().compile()
    return b"".join(make_message(plan, make_rows(plan, 500), FastStream(seed)) for seed in range(count))


def make_tea_reports(count: int) -> bytes:
    plan = read_survey(TEA).compile()
    rows = [{"tea": "green", "hours": 7, "cups": ["large"]}, {"tea": "black", "hours": None, "cups": None}]
    return b"".join(make_report(plan, rows[number % 4 == 0]) for number in range(count))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    store = f"sqlite:///{folder}/store.db"
    with collector(write_surveys(folder), store, workers=1, prelude=SHORT_CACHE) as (url, _):
        site = Site(url, read_survey(CLINIC).compile())
        site.send(REPORTS)
        good = make_report(site.clinic, {"smoker": "now", "coin": "heads", "weight": 60}, "yes")
        site.post(good + good.replace(bytes.fromhex(site.clinic.digest), bytes(32)) * 3)
        post_reports(f"{url}/v1/surveys/tea", make_tea_reports(600))
        post_reports(f"{url}/v1/surveys/wards", make_messages(9))
        yield site


@pytest.fixture(scope="module")
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """Share the browser's cache between tests; each tab has a session storage of its own."""
    with chromium.new_context(locale="en-GB") as context:
        yield context


@dataclass
class Visit:
    """A page, its requests, and its errors and console messages."""

    page: Page
    asked: list[str]
    errors: list[str]

    def unlock(self, token: str = TOKEN) -> None:
        """Enter the token by keyboard."""
        self.page.locator("#token").fill(token)
        self.page.keyboard.press("Enter")

    def open(self) -> Visit:
        """Enter the token and wait for the estimates."""
        self.unlock()
        self.page.locator("#sections section").first.wait_for()
        return self

    def cells(self, caption: str) -> list[list[str]]:
        """Return the body of the table whose caption contains a text."""
        read = "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
        rows = self.page.locator(f"table:has(caption:has-text('{caption}')) tbody tr")
        found: list[list[str]] = rows.evaluate_all(read)
        return found


@pytest.fixture
def visit(chromium: Browser, context: BrowserContext, site: Site) -> Iterator[Callable[..., Visit]]:
    """Open the page in a new tab; at the end it must have no errors unless `fails`."""
    visits: list[tuple[Visit, bool]] = []

    def go(path: str = "/", url: str = site.url, *, fails: bool = False, **options: Any) -> Visit:
        page = (chromium.new_context(locale="en-GB", **options) if options else context).new_page()
        made = Visit(page, [], [])
        page.on("request", lambda request: made.asked.append(request.url))
        page.on("pageerror", lambda error: made.errors.append(str(error)))
        page.on(
            "console", lambda message: made.errors.append(message.text) if message.type != "info" else None
        )
        visits.append((made, fails))
        page.goto(url + path)
        return made

    yield go
    for made, fails in visits:
        if not fails:
            assert made.errors == []
        if made.page.context is context:
            made.page.close()
        else:
            made.page.context.close()
