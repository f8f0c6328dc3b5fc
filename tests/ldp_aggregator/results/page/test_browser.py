"""The results page in a real browser: accessible, on a phone, in the dark, on paper, without requests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from ldp_aggregator.results.page.page import render_page
from ldp_aggregator.results.page.source import estimate_results
from tests.ldp_aggregator.estimation.test_validation_result import validated
from tests.ldp_aggregator.results.page.test_page import hostile
from tests.ldp_aggregator.results.test_table import simulate
from tests.support.browser import assert_accessible, assert_no_sideways_scroll

pytestmark = pytest.mark.slow

_SIZES = ((1280, 900), (390, 844), (360, 640))
WIDE, PHONE, NARROW = ({"viewport": {"width": width, "height": height}} for width, height in _SIZES)
OPTIONS = {
    "wide": WIDE,
    "dark": {**WIDE, "color_scheme": "dark"},
    "phone": PHONE,
    "narrow": NARROW,
    "forced-colours": {**PHONE, "forced_colors": "active"},
}
Open = Callable[..., Page]


def pages() -> dict[str, bytes]:
    survey = estimate_results(simulate(20_000))
    other = estimate_results(simulate(20_000, seed=7))
    return {
        "survey": render_page(survey),
        "compared": render_page(survey, other, independent=True),
        "round": render_page(estimate_results(validated(4_000))),
        "empty": render_page(estimate_results(simulate(0))),
        "hostile": render_page(hostile()),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    for name, data in pages().items():
        (folder / f"{name}.html").write_bytes(data)
    return folder


@pytest.fixture
def visit(chromium: Browser, folder: Path) -> Iterator[Open]:
    """Open a page; at the end it must have no errors, and have requested nothing but itself."""
    messages: list[str] = []
    opened: list[Page] = []

    def go(name: str, **options: Any) -> Page:
        page = chromium.new_context(**options).new_page()
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


@pytest.mark.parametrize("look", OPTIONS)
@pytest.mark.parametrize("name", ["survey", "compared", "round", "empty", "hostile"])
def test_the_page_is_accessible_and_fits_its_window(visit: Open, name: str, look: str) -> None:
    page = visit(name, **OPTIONS[look])
    assert_accessible(page)
    assert_no_sideways_scroll(page)
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"results-{name}-{look}.png", full_page=True)


def test_dark_and_light_have_other_colours(visit: Open) -> None:
    read = "getComputedStyle(document.body).backgroundColor"
    light, dark = (visit("survey", **OPTIONS[look]).evaluate(read) for look in ("wide", "dark"))
    assert light != dark


def test_the_page_can_be_read_without_scripts(visit: Open) -> None:
    page = visit("survey", java_script_enabled=False)
    assert page.locator("#feature-1 tbody").count() == 5
    assert page.locator("#feature-1 svg").first.is_visible()


def test_the_bars_have_the_width_of_their_cells(visit: Open) -> None:
    page = visit("survey", **OPTIONS["narrow"])
    for plot in page.locator("#classes td.plot").all():
        cell, image = plot.bounding_box(), plot.locator("svg").bounding_box()
        assert cell is not None
        assert image is not None
        assert 60 < image["width"] <= cell["width"]


def test_print_shows_everything_in_light_colours(visit: Open) -> None:
    page = visit("survey", color_scheme="dark")
    assert page.pdf(format="A4").startswith(b"%PDF-")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("nav").is_hidden()
    page.set_viewport_size({"width": 680, "height": 900})  # A4 without its margins
    overflow = "document.querySelectorAll('.scroll').length && [...document.querySelectorAll('.scroll')]"
    assert page.evaluate(f"{overflow}.every(each => each.scrollWidth <= each.clientWidth + 1)")


def test_a_keyboard_user_can_scroll_wide_tables(visit: Open) -> None:
    page = visit("compared", **OPTIONS["narrow"])
    table = page.locator("#comparison .scroll").first
    table.focus()
    assert table.evaluate("each => each === document.activeElement")
