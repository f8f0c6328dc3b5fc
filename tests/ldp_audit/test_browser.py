"""The page of an audit in a browser: accessible, readable on a phone and on paper, without requests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from ldp_audit.render import render_html
from tests.ldp_audit.test_render import RESULTS
from tests.support.browser import (
    Open,
    assert_every_look,
    assert_prints_everything,
    save_screenshot,
    visits,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def visit(chromium: Browser, tmp_path: Path) -> Iterator[Open]:
    for name, result in RESULTS.items():
        (tmp_path / f"{name}.html").write_text(render_html(result), "utf-8")
    with visits(chromium, tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("name", RESULTS)
def test_the_page_is_accessible_fits_into_the_window_and_prints_everything(visit, name):
    page = visit(name)
    assert_every_look(page, f"audit-{name}")
    assert_prints_everything(page)
    save_screenshot(page, f"audit-{name}-print")
