"""A headless Chromium, and the checks that every page must pass."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright


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
    arguments = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


def assert_accessible(page: Page) -> None:
    """Check that axe-core finds no violation."""
    found = Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


def assert_no_sideways_scroll(page: Page) -> None:
    """Check that the page is not wider than the window."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
