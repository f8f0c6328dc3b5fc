"""A Firefox for all tests, a container of tabs for each, and a collector."""

from collections.abc import Callable, Iterator

import pytest

from encoders.survey import read_survey
from encoders.survey.signature import signature_text
from ldp_design.authoring.signing import KeyPair, make_keys, sign
from tests.support.firefox import Firefox
from tests.support.firefox_tab import Tab
from tests.support.surveys import SLEEP
from tests.support.web_client import Site, open_client, serve_collector, serve_site


@pytest.fixture(scope="session")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with Firefox(tmp_path_factory.mktemp("firefox")) as started:
        yield started


@pytest.fixture(scope="session")
def author() -> KeyPair:
    """Return the keys of the survey's author."""
    return make_keys()


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory, author: KeyPair) -> Iterator[str]:
    """Run a collector whose survey is signed."""
    folder = tmp_path_factory.mktemp("collector")
    signature = sign(read_survey(SLEEP).compile(), author.private_pem)
    (folder / "sleep.toml.sig").write_text(signature_text(signature))
    with serve_collector(folder) as started:
        yield started


@pytest.fixture
def site(base: str) -> Iterator[Site]:
    with serve_site(base) as served:
        yield served


@pytest.fixture
def container(firefox: Firefox) -> Iterator[str]:
    """Give each test cookies and a storage of its own, and close its tabs at the end."""
    with firefox.container() as opened:
        yield opened


@pytest.fixture
def visit(firefox: Firefox, container: str, origin: str, site: Site) -> Iterator[Callable[..., Tab]]:
    """Return a function that opens a tab with a client; errors that nothing catches fail the test."""
    tabs: list[Tab] = []

    def go(**options: object) -> Tab:
        tab = firefox.open_tab(container)
        open_client(tab, origin, site, options)
        tabs.append(tab)
        return tab

    yield go
    assert [error for tab in tabs for error in tab.errors] == []
