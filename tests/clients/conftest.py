"""A page with the JavaScript client, served at an origin of its own."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.support.http_servers import serve_folder
from tests.support.javascript import FOLDER


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with serve_folder(FOLDER) as served:
        yield served


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """Give each test a profile of its own."""
    with chromium.new_context() as opened:
        yield opened
