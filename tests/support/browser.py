"""A headless Chromium, and the checks that every page must pass."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

_SIZES = ((1280, 900), (390, 844), (360, 640))
WIDE, PHONE, NARROW = ({"viewport": {"width": width, "height": height}} for width, height in _SIZES)
LOOKS = {
    "wide": WIDE,
    "dark": {**WIDE, "color_scheme": "dark"},
    "phone": PHONE,
    "narrow": NARROW,
    "forced-colours": {**PHONE, "forced_colors": "active"},
}
"""The sizes of the window and the media in which a file must be accessible."""
_ALL = {"resultTypes": ["violations"]}
_COLOURS = {**_ALL, "runOnly": {"type": "rule", "values": ["color-contrast"]}}
_OPTIONS: dict[str, dict[str, Any] | None] = {"dark": _COLOURS, "phone": None}
"""What axe-core checks in a look. Dark is wide in other colours. A phone has the colours of the narrow look;
all else on it is checked in forced colours."""
Open = Callable[..., Page]
_DISABLED = [
    "WebUIOmniboxPopup",  # with the next one: two hidden pages in each window, which take most of its start
    "WebUIOmniboxAimPopup",
    "AutofillServerCommunication",  # the browser itself sends hashes of a form's fields to its vendor
    # Playwright's list, which this list replaces, as far as it concerns pages
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "MediaRouter",
    "PaintHolding",
]
OPTIONS = [
    "--disable-gpu",
    f"--disable-features={','.join(_DISABLED)}",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    *(["--no-sandbox"] if os.geteuid() == 0 else []),
]
"""Options of Chromium: windows that start fast, and connections to this machine only."""


def find_chromium() -> str:
    """Return the path of Chromium; skip the test if it is not installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("needs Chromium (Debian: apt-get install chromium)")
    return program


@contextmanager
def open_chromium() -> Iterator[Browser]:
    """Start Chromium; skip the test if it is not installed."""
    program = find_chromium()
    expect.set_options(timeout=60_000)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=OPTIONS)
        yield browser
        browser.close()


@contextmanager
def visits(browser: Browser, folder: Path) -> Iterator[Open]:
    """Open files by name; at the end none may have errors or have requested anything but itself."""
    messages: list[str] = []
    opened: list[Page] = []

    def go(name: str, **options: Any) -> Page:
        page = browser.new_context(**options).new_page()
        url = (folder / f"{name}.html").as_uri()
        page.on("request", lambda request: messages.append(request.url) if request.url != url else None)
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("console", lambda message: messages.append(message.text))
        page.goto(url)
        opened.append(page)
        return page

    yield go
    for page in opened:
        page.context.close()
    assert messages == []


def press(page: Page, name: str) -> None:
    """Press the button of this name."""
    page.get_by_role("button", name=name).click()


def each_look(page: Page, looks: Mapping[str, Any] = LOOKS) -> Iterator[str]:
    """Give a page each look in turn, since a new window for each look takes several times as long."""
    for look, options in looks.items():
        media = {"color_scheme": "light", "forced_colors": "none"} | options
        page.set_viewport_size(media.pop("viewport"))
        page.emulate_media(**media)
        yield look


def assert_every_look(page: Page, name: str, looks: Mapping[str, Any] = LOOKS) -> None:
    """Check that a page is accessible and not wider than the window in each look."""
    for look in each_look(page, looks):
        if options := _OPTIONS.get(look, _ALL):
            assert_accessible(page, look, options)
        assert_no_sideways_scroll(page, look)
        save_screenshot(page, f"{name}-{look}")


def assert_accessible(page: Page, look: str = "", options: dict[str, Any] = _ALL) -> None:
    """Check that axe-core finds no violation."""
    found = Axe().run(page, options=options).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == [], look


def assert_no_sideways_scroll(page: Page, look: str = "") -> None:
    """Check that the page is not wider than the window."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), look


def assert_prints_everything(page: Page) -> None:
    """Check that the page prints in light colours, without tables that are wider than the paper."""
    assert page.pdf(format="A4").startswith(b"%PDF-")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.set_viewport_size({"width": 680, "height": 900})  # A4 without its margins
    tables = page.locator(".scroll").evaluate_all(
        "all => all.map(each => each.scrollWidth - each.clientWidth)"
    )
    assert tables
    assert max(tables) <= 1


def save_screenshot(page: Page, name: str) -> None:
    """Save a picture of the page to the folder that SCREENSHOTS names, if it names one."""
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)
