"""Pages, tabs and browsers that end at random moments while the JavaScript client reports."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import BrowserType, Error, Page

from tests.support.faulty_proxy import faulty
from tests.support.http_servers import serve_folder
from tests.support.javascript import FOLDER
from tests.support.web_client import (
    REPORT,
    START,
    STORED,
    SURVEY,
    KillableBrowser,
    call,
    count_reports,
    kill_processes,
    serve_collector,
)
from tools.endurance.client.surveys import require_one_report

KINDS = ("page left", "page closed", "tab crashed", "browser killed")
AGAIN = 0.25
"""The share of people whose browser is killed a second time before they finish."""
_LEAD_SECONDS = 0.03
_RESPONSE_SECONDS = 0.02
_START_REPORT = """([seconds, row]) => void setTimeout(() => client.report(row, "yes"), seconds * 1000)"""
_ROWS: tuple[dict[str, object], ...] = ({"age": "young", "hours": 7}, {"age": "old", "hours": 3})


@dataclass(frozen=True)
class Kills:
    """The counts of a trial of kills."""

    kinds: Counter[str]
    found: Counter[str]
    """The journal's state after a kill."""
    reached: int
    """Kills after which the collector had already received the report."""
    bodies: int
    """Bodies of all people that reached the proxies."""
    people: int


class _People:
    """People in one browser, each with a journal of their own, whose pages are killed."""

    def __init__(self, chromium: BrowserType, profile: Path, origin: str, base: str) -> None:
        self._chromium, self._profile, self._origin, self._base = chromium, profile, origin, base
        self._browser = KillableBrowser(chromium, profile)
        self.count = self.reached = self.bodies = 0
        self.kinds: Counter[str] = Counter()
        self.found: Counter[str] = Counter()

    def close(self) -> None:
        self._browser.close()

    def usual_seconds(self) -> float:
        """Return how long an undisturbed person takes from the call of `report` to the outcome."""
        with faulty(self._base) as proxy:
            page = self._visit(proxy.port)
            call(page, "grant")
            start = time.monotonic()
            page.evaluate(REPORT)
            call(page, "flush")
            seconds = time.monotonic() - start
            page.close()
        self.count += 1
        return seconds

    def attack(self, kinds: list[str], longest: float) -> None:
        """End the page of one person in these ways; then let them finish."""
        with faulty(self._base) as proxy:
            proxy.delay = _RESPONSE_SECONDS
            known: set[bytes] = set()
            for kind in kinds:
                page = self._visit(proxy.port)
                call(page, "grant")
                renderers = self._browser.renderers()
                page.evaluate(_START_REPORT, [_LEAD_SECONDS, _ROWS[0]])
                time.sleep(
                    _LEAD_SECONDS / 2 + longest * random.random() ** 2
                )  # more often early: in `report`
                self._end(kind, page, renderers)
                self.kinds[kind] += 1
                self.reached += bool(proxy.bodies)
                known |= self._stored()
            page = self._visit(proxy.port)
            call(page, "grant")
            state = page.evaluate("async (row) => (await client.report(row, 'no')).state", _ROWS[1])
            assert state in ("queued", "already_reported"), state
            state = call(page, "flush", 30)["state"]
            assert state in ("sent", "duplicate"), state
            page.close()
            bodies = proxy.take()
            assert len(require_one_report(bodies, known)) == 1, "nothing was sent"
        self.bodies += len(bodies)
        self.count += 1

    @property
    def _person(self) -> str:
        return f"p{self.count}"

    def _visit(self, port: int) -> Page:
        page = self._browser.open_page(self._origin)
        page.evaluate(START, [f"http://127.0.0.1:{port}{SURVEY}", {"person": self._person}])
        return page

    def _end(self, kind: str, page: Page, renderers: list[int]) -> None:
        if kind == "browser killed":
            self._browser.kill()
            self._browser = KillableBrowser(self._chromium, self._profile)
            return
        if kind == "tab crashed":
            kill_processes(renderers)
        elif kind == "page left":
            page.goto("about:blank")
        with suppress(Error):  # a crashed tab may be gone
            page.close()

    def _stored(self) -> set[bytes]:
        """Count the state of the person's journal; return the report in it."""
        page = self._browser.open_page(self._origin)
        entries = page.evaluate(STORED, f"ldp-bayes {self._person}")
        page.close()
        self.found[entries[0][0] if entries else "(none)"] += 1
        return {bytes(report) for _, report in entries if report}


def kills(
    chromium: BrowserType, folder: Path, count: int, advance: Callable[[], object] = lambda: None
) -> Kills:
    """End at least `count` pages, tabs and browsers; require that one report of each person was counted."""
    profile = folder / "profile"
    with serve_collector(folder) as base, serve_folder(FOLDER) as origin:
        people = _People(chromium, profile, origin, base)
        try:
            longest = _LEAD_SECONDS + max(people.usual_seconds() for _ in range(2)) + _RESPONSE_SECONDS
            while people.kinds.total() < count:
                first = KINDS[people.count % len(KINDS)]
                kinds = [first] + [random.choice(KINDS)] * (random.random() < AGAIN)
                people.attack(kinds, longest)
                for _ in kinds:
                    advance()
        finally:
            people.close()
        counted = count_reports(base)
        assert counted == people.count, f"{counted} reports of {people.count} people were counted"
    return Kills(people.kinds, people.found, people.reached, people.bodies, people.count)
