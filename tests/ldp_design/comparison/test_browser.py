"""The page of a comparison in a browser: accessible, readable on a phone and on paper, without requests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from ldp_design.comparison.comparison_page import render_comparison
from tests.ldp_design.comparison.test_page import COMPARISON
from tests.support.browser import (
    LOOKS,
    Open,
    assert_every_look,
    assert_prints_everything,
    each_look,
    visits,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def visit(chromium: Browser, tmp_path: Path) -> Iterator[Open]:
    (tmp_path / "comparison.html").write_bytes(render_comparison(COMPARISON, None, 0.9))
    with visits(chromium, tmp_path) as opened:
        yield opened


def test_the_page_is_accessible_and_fits_into_the_window(visit):
    assert_every_look(visit("comparison"), "comparison")


def test_the_page_prints_everything(visit):
    assert_prints_everything(visit("comparison"))


def test_texts_of_the_picture_are_readable_on_a_phone(visit):
    page = visit("comparison", **LOOKS["narrow"])
    heights = page.locator(".curves text").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect().height)"
    )
    assert min(heights) >= 10


def test_no_text_of_the_picture_is_cut_off(visit):
    page = visit("comparison")
    for look in each_look(page):
        outside = page.locator(".curves").evaluate(
            """picture => {
                const frame = picture.getBoundingClientRect();
                return [...picture.querySelectorAll("text")].filter(text => {
                    const box = text.getBoundingClientRect();
                    return box.left < frame.left || box.right > frame.right || box.bottom > frame.bottom + 1;
                }).map(text => text.textContent);
            }"""
        )
        assert outside == [], look
