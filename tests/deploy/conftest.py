"""A survey, the shipped files, and a server that replaces the collector."""

import configparser
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.support.http_servers import QuietHandler, serve
from tests.support.servers import SHIPPED_NGINX
from tests.support.surveys import SLEEP

DEPLOY = SHIPPED_NGINX.parent


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.toml"
    path.write_text(SLEEP)
    return path


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return read


@pytest.fixture(scope="module")
def cluster_services() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((DEPLOY / "cluster" / "compose.yaml").read_text())
    return read


@pytest.fixture(scope="module")
def relay_services() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((DEPLOY / "relay" / "compose.yaml").read_text())
    return read


@pytest.fixture(scope="module")
def unit() -> configparser.SectionProxy:
    parser = configparser.RawConfigParser(strict=False, delimiters="=")
    parser.optionxform = str
    parser.read(DEPLOY / "ldp-collector.service")
    return parser["Service"]


class HeaderRecorder(QuietHandler):
    """Replaces the collector, and stores the headers that it receives."""

    protocol_version = "HTTP/1.1"
    received: list[dict[str, str]]

    def do_POST(self) -> None:
        self.received.append({name.lower(): value for name, value in self.headers.items()})
        self.read_body()
        self.answer(200)


@pytest.fixture
def listener() -> Iterator[tuple[int, list[dict[str, str]]]]:
    handler = type("Recorder", (HeaderRecorder,), {"received": []})
    with serve(handler) as origin:
        yield urlsplit(origin).port, handler.received
