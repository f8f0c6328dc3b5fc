"""A page with the JavaScript client, a collector at another origin, and browsers that can be killed."""

import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from playwright.sync_api import Browser, BrowserType, Error, Page

from tests.support.browser import OPTIONS, find_chromium
from tests.support.faulty_proxy import Proxy, faulty
from tests.support.servers import TOKEN, collector, stop, wait_for
from tests.support.surveys import SLEEP

SURVEY = "/v1/surveys/sleep"
START = """([url, options]) => {
    globalThis.outcomes = [];
    globalThis.client = new ldp.Client(url, {
        person: null, spread: 0, onOutcome: (receipt) => outcomes.push(receipt.state), ...options,
    });
}"""
REPORT = "async () => ({ ...(await client.report({ age: 'young', hours: 7 }, 'yes')) })"
REPORT_AT = """(start) => {
    globalThis.result = new Promise((resolve) => setTimeout(resolve, start - Date.now()))
        .then(() => client.report({ age: "old", hours: 3 }, "no"));
}"""
"""Reports at a time in milliseconds, for tabs that report at once."""
STORED = """async (name) => {
    if (!(await indexedDB.databases()).some((each) => each.name === name)) return [];
    const database = await new Promise((resolve) => {
        indexedDB.open(name).onsuccess = (event) => resolve(event.target.result);
    });
    const request = database.transaction("surveys").objectStore("surveys").getAll();
    await new Promise((resolve) => (request.onsuccess = resolve));
    database.close();
    return request.result.map(({ state, report }) => [state, [...(report ?? [])]]);
}"""
"""Returns the states and reports of the journal in a database."""


@dataclass
class Site:
    """A collector behind a proxy that records the bodies of reports; several sites may have one collector."""

    proxy: Proxy
    base: str
    earlier: int
    """The number of reports that the collector had counted before."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.proxy.port}{SURVEY}"

    @property
    def bodies(self) -> list[bytes]:
        return [body for body, _ in self.proxy.bodies]

    def count(self) -> int:
        """Return the number of reports that the collector has counted."""
        return count_reports(self.base) - self.earlier


def count_reports(base: str) -> int:
    """Return the number of reports that a collector has counted."""
    request = urllib.request.Request(f"{base}{SURVEY}/progress", headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request) as response:
        progress = json.load(response)
    reports: int = progress["reports"]
    return reports


@contextmanager
def serve_collector(folder: Path) -> Iterator[str]:
    """Run a collector with its store in a file, which caches no counts; yield its base URL."""
    survey = folder / "sleep.toml"
    survey.write_text(SLEEP)
    with collector([survey], f"sqlite:///{folder}/store.db", workers=1) as (base, _):
        yield base


@contextmanager
def serve_site(base: str) -> Iterator[Site]:
    """Put a new proxy in front of a collector."""
    with faulty(base) as proxy:
        yield Site(proxy, base, count_reports(base))


class ScriptedPage(Protocol):
    """What the following functions need of a page of Playwright, or of a tab of Firefox."""

    def goto(self, url: str) -> object: ...
    def evaluate(self, expression: str, arg: Any = None) -> Any: ...
    def wait_for_function(self, expression: str) -> object: ...


def open_package(page: ScriptedPage, origin: str) -> None:
    """Open a page that has loaded the package, without a client."""
    page.goto(f"{origin}/tests/client.html")
    page.wait_for_function("() => 'ldp' in globalThis")


def open_client(page: ScriptedPage, origin: str, site: Site, options: dict[str, Any] | None = None) -> None:
    """Open a page with a client."""
    open_package(page, origin)
    page.evaluate(START, [site.url, options or {}])


def call(page: ScriptedPage, method: str, *arguments: object) -> dict[str, Any]:
    """Call a method of the page's client, and return the receipt; `flush` waits for up to a minute."""
    if method == "flush" and not arguments:
        arguments = (60,)
    receipt: dict[str, Any] = page.evaluate(
        "async ([method, values]) => ({ ...(await client[method](...values)) })", [method, arguments]
    )
    return receipt


class KillableBrowser:
    """Chromium as a process of its own on a profile, which a kill leaves as it is."""

    def __init__(self, chromium: BrowserType, profile: Path) -> None:
        port_file = profile / "DevToolsActivePort"
        port_file.unlink(missing_ok=True)
        options = [*OPTIONS, "--headless=new", "--no-first-run"]
        options += ["--disable-background-networking", "--disable-component-update"]
        options += ["--remote-debugging-port=0", f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(
            [find_chromium(), *options, "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(lambda: port_file.exists() and "\n" in port_file.read_text())
            port = port_file.read_text().split()[0]
            self._browser: Browser = chromium.connect_over_cdp(f"http://127.0.0.1:{port}")
        except BaseException:
            stop(self._process)
            raise

    def open_page(self, origin: str) -> Page:
        """Open a tab that has loaded the package; again if its process was killed meanwhile."""
        for _ in range(5):
            with suppress(Error):
                page = self._browser.contexts[0].new_page()
                open_package(page, origin)
                return page
        raise AssertionError("the browser opens no page")

    def renderers(self) -> list[int]:
        """Return the ids of the processes of all tabs."""
        found = self._browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
        return [each["id"] for each in found if each["type"] == "renderer"]

    def kill(self) -> None:
        """End the browser's process at once."""
        self._process.kill()
        self._process.wait()
        self.close()

    def close(self) -> None:
        with suppress(Error):
            self._browser.close()
        stop(self._process)


def kill_processes(ids: list[int]) -> None:
    """Kill processes of a browser at once; some may have ended."""
    for each in ids:
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
