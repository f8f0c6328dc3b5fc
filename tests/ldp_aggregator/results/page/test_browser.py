"""The results page in a real browser: accessible, on a phone, in the dark, on paper, without requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from ldp_aggregator.results.page.page import render_page
from ldp_aggregator.results.page.source import estimate_results, read_results
from tests.ldp_aggregator.estimation.test_validation_result import validated
from tests.ldp_aggregator.results.page.test_central_page import LEARNERS, make_model
from tests.ldp_aggregator.results.page.test_page import hostile
from tests.ldp_aggregator.results.test_table import simulate
from tests.support.browser import (
    LOOKS,
    Open,
    assert_accessible,
    assert_no_sideways_scroll,
    assert_prints_everything,
    save_screenshot,
    visits,
)

pytestmark = pytest.mark.slow

NAMES = ["survey", "compared", "round", "empty", "hostile", *(f"curator-{each}" for each in LEARNERS)]


def pages(folder: Path) -> dict[str, bytes]:
    survey = estimate_results(simulate(20_000))
    other = estimate_results(simulate(20_000, seed=7))
    return {
        "survey": render_page(survey),
        "compared": render_page(survey, other, independent=True),
        "round": render_page(estimate_results(validated(4_000))),
        "empty": render_page(estimate_results(simulate(0))),
        "hostile": render_page(hostile()),
        **{f"curator-{each}": render_page(read_results(make_model(folder, each))) for each in LEARNERS},
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    for name, data in pages(folder).items():
        (folder / f"{name}.html").write_bytes(data)
    return folder


@pytest.fixture
def visit(chromium: Browser, folder: Path) -> Iterator[Open]:
    with visits(chromium, folder) as opened:
        yield opened


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize(
    "name", ["survey", "compared", "round", "empty", "hostile", *(f"curator-{each}" for each in LEARNERS)]
)
def test_the_page_is_accessible_and_fits_its_window(visit: Open, name: str, look: str) -> None:
    page = visit(name, **LOOKS[look])
    assert_accessible(page)
    assert_no_sideways_scroll(page)
    save_screenshot(page, f"results-{name}-{look}")


def test_dark_and_light_have_other_colours(visit: Open) -> None:
    read = "getComputedStyle(document.body).backgroundColor"
    light, dark = (visit("survey", **LOOKS[look]).evaluate(read) for look in ("wide", "dark"))
    assert light != dark


def test_the_page_can_be_read_without_scripts(visit: Open) -> None:
    page = visit("survey", java_script_enabled=False)
    assert page.locator("#feature-1 tbody").count() == 5
    assert page.locator("#feature-1 svg").first.is_visible()


def test_the_bars_have_the_width_of_their_cells(visit: Open) -> None:
    page = visit("survey", **LOOKS["narrow"])
    for plot in page.locator("#classes td.plot").all():
        cell, image = plot.bounding_box(), plot.locator("svg").bounding_box()
        assert cell is not None
        assert image is not None
        assert 60 < image["width"] <= cell["width"]


def test_print_shows_everything_in_light_colours(visit: Open) -> None:
    page = visit("survey", color_scheme="dark")
    assert_prints_everything(page)
    assert page.locator("nav").is_hidden()


def test_a_keyboard_user_can_scroll_wide_tables(visit: Open) -> None:
    page = visit("compared", **LOOKS["narrow"])
    table = page.locator("#comparison .scroll").first
    table.focus()
    assert table.evaluate("each => each === document.activeElement")
