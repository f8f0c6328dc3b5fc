"""The results page in a real browser: accessible, on a phone, in the dark, on paper, without requests."""

from collections.abc import Iterator

import pytest

from ldp_aggregator.views.results_page import render_page
from ldp_aggregator.wording.language import write_in
from tests.ldp_aggregator.views.samples import LEARNERS, make_results
from tests.support.browser import LOOKS, Open, assert_every_look, assert_prints_everything, visits
from tests.support.languages import read_german

pytestmark = pytest.mark.slow

NAMES = ["survey", "compared", "round", "empty", "pooled", "hostile", "shares", "choices", "waves"]
NAMES += [f"curator-{each}" for each in LEARNERS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name in NAMES:
        results = ["survey", "other"] if name == "compared" else [name]
        (folder / f"{name}.html").write_bytes(render_page(*map(make_results, results)))
    with write_in(read_german()):
        (folder / "german.html").write_bytes(render_page(*map(make_results, ["survey", "other"])))
    return folder


@pytest.fixture
def visit(chromium, folder) -> Iterator[Open]:
    with visits(chromium, folder) as opened:
        yield opened


@pytest.mark.parametrize("name", [*NAMES, "german"])
def test_the_page_is_accessible_and_fits_its_window(visit, name):
    assert_every_look(visit(name), f"results-{name}")


def test_dark_and_light_have_other_colours(visit):
    read = "getComputedStyle(document.body).backgroundColor"
    light, dark = (visit("survey", **LOOKS[look]).evaluate(read) for look in ("wide", "dark"))
    assert light != dark


def test_the_page_can_be_read_without_scripts(visit):
    page = visit("survey", java_script_enabled=False)
    assert page.locator("#feature-1 tbody").count() == 5
    assert page.locator("#feature-1 svg").first.is_visible()


def test_the_bars_have_the_width_of_their_cells(visit):
    page = visit("survey", **LOOKS["narrow"])
    for plot in page.locator("#classes td.plot").all():
        cell, image = plot.bounding_box(), plot.locator("svg").bounding_box()
        assert cell is not None
        assert image is not None
        assert 60 < image["width"] <= cell["width"]


def test_print_shows_everything_in_light_colours(visit):
    page = visit("survey", color_scheme="dark")
    assert_prints_everything(page)
    assert page.locator("nav").is_hidden()


def test_a_keyboard_user_can_scroll_wide_tables(visit):
    page = visit("compared", **LOOKS["narrow"])
    table = page.locator("#comparison .scroll").first
    table.focus()
    assert table.evaluate("each => each === document.activeElement")
