"""The dossier in a real browser: accessible, on a phone, in the dark, on paper, without requests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from ldp_aggregator.wording.language import write_in
from ldp_design.dossier.people_dossier import render_dossier
from ldp_design.dossier.silo_dossier import read_silo_source, render_silo_dossier
from tests.ldp_design.dossier.surveys import INVITED, NUMBERS, SURVEYS, make_source
from tests.support.browser import (
    PHONE,
    WIDE,
    Open,
    assert_every_look,
    assert_prints_everything,
    visits,
)
from tests.support.languages import DOSSIER, read_german
from tests.support.silo_surveys import read_silo_survey

pytestmark = pytest.mark.slow

NAMES = ("numbers", "invitation", "texts", "hostile", "silos", "german", "german-silos")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    sources = {
        "numbers": make_source(folder, NUMBERS, trials=50_000),
        "invitation": make_source(folder, INVITED),
        "texts": make_source(folder, SURVEYS["texts"], users=8000),
        "hostile": make_source(folder, SURVEYS["hostile"], faults=["a fault"], name="a 'file'.toml"),
    }
    for name, source in sources.items():
        (folder / f"{name}.html").write_bytes(render_dossier(source))
    silos = read_silo_source(read_silo_survey(), folder / "wards.toml", 20_000, 4, None)
    (folder / "silos.html").write_bytes(render_silo_dossier(silos))
    with write_in(read_german(DOSSIER)):
        (folder / "german.html").write_bytes(render_dossier(sources["texts"]))
        (folder / "german-silos.html").write_bytes(render_silo_dossier(silos))
    return folder


@pytest.fixture
def visit(chromium: Browser, folder: Path) -> Iterator[Open]:
    with visits(chromium, folder) as opened:
        yield opened


@pytest.mark.parametrize("name", NAMES)
def test_the_dossier_is_accessible_fits_its_window_and_prints_everything_in_light_colours(visit, name):
    page = visit(name, color_scheme="dark")
    assert_prints_everything(page)
    page.emulate_media(media="screen")
    assert_every_look(page, f"dossier-{name}")


def test_the_bases_are_distinguishable_without_colours(visit):
    page = visit("numbers", **WIDE)
    read = "each => [getComputedStyle(each).borderTopStyle, each.textContent.replace(/ C\\d+$/, '')].join()"
    looks = {each.evaluate(read) for each in page.locator("#legend .basis").all()}
    assert looks == {
        "solid,computed",
        "dotted,computed under an assumption",
        "dashed,assumed",
        "double,declared by the author",
    }


def test_the_drawing_has_a_name_for_screen_readers(visit):
    page = visit("numbers", **PHONE)
    drawing = page.get_by_role("img", name="Data flow: Device of the person, then Network")
    assert drawing.is_visible()
    box = drawing.bounding_box()
    assert box is not None
    assert 250 < box["width"] <= 390
