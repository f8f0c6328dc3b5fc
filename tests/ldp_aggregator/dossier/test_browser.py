"""The dossier in a real browser: accessible, on a phone, in the dark, on paper, without requests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from ldp_aggregator.dossier.page import render_dossier
from tests.ldp_aggregator.dossier.surveys import INVITED, NUMBERS, SURVEYS, make_source
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
NAMES = ("numbers", "invitation", "texts", "hostile")
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    sources = {
        "numbers": make_source(folder, NUMBERS, trials=50_000),
        "invitation": make_source(folder, INVITED),
        "texts": make_source(folder, SURVEYS["texts"], users=8000),
        "hostile": make_source(folder, SURVEYS["hostile"], faults=["a fault"], name="a 'file'.toml"),
    }
    for name in NAMES:
        (folder / f"{name}.html").write_bytes(render_dossier(sources[name]))
    return folder


@pytest.fixture
def visit(chromium: Browser, folder: Path) -> Iterator[Open]:
    """Open a dossier; at the end it must have no errors, and have requested nothing but itself."""
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


# Colours depend on the look alone, so one survey has them all; the content differs between the surveys.
@pytest.mark.parametrize(
    ("name", "look"),
    [(name, look) for name in NAMES for look in OPTIONS if name == NAMES[0] or look in ("phone", "narrow")],
)
def test_the_dossier_is_accessible_and_fits_its_window(visit: Open, name: str, look: str) -> None:
    page = visit(name, **OPTIONS[look])
    assert_accessible(page)
    assert_no_sideways_scroll(page)
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"dossier-{name}-{look}.png", full_page=True)


@pytest.mark.parametrize("name", NAMES)
def test_print_shows_everything_in_light_colours(visit: Open, name: str) -> None:
    page = visit(name, color_scheme="dark")
    assert page.pdf(format="A4").startswith(b"%PDF-")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.set_viewport_size({"width": 680, "height": 900})  # A4 without its margins
    fits = "[...document.querySelectorAll('.scroll')].every(each => each.scrollWidth <= each.clientWidth + 1)"
    assert page.evaluate(fits)


def test_the_bases_are_distinguishable_without_colours(visit: Open) -> None:
    page = visit("numbers", **WIDE)
    read = "each => [getComputedStyle(each).borderTopStyle, each.textContent.replace(/ C\\d+$/, '')].join()"
    looks = {each.evaluate(read) for each in page.locator("#legend .basis").all()}
    assert looks == {
        "solid,computed",
        "dotted,computed under an assumption",
        "dashed,assumed",
        "double,declared by the author",
    }


def test_the_drawing_has_a_name_for_screen_readers(visit: Open) -> None:
    page = visit("numbers", **PHONE)
    drawing = page.get_by_role("img", name="Data flow: Device of the person, then Network")
    assert drawing.is_visible()
    box = drawing.bounding_box()
    assert box is not None
    assert 250 < box["width"] <= 390
