"""A page with the JavaScript client, served at an origin of its own."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.browser import open_chromium
from tests.support.http_servers import serve_folder
from tests.support.javascript import FOLDER


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with serve_folder(FOLDER) as served:
        yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_chromium() as opened:
        yield opened
