"""A survey, the shipped files, and a server that replaces the collector."""

import configparser
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

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
def unit() -> configparser.SectionProxy:
    parser = configparser.RawConfigParser(strict=False, delimiters="=")
    parser.optionxform = str
    parser.read(DEPLOY / "ldp-collector.service")
    return parser["Service"]


class HeaderRecorder(BaseHTTPRequestHandler):
    """Replaces the collector, and stores the headers that it receives."""

    protocol_version = "HTTP/1.1"
    received: list[dict[str, str]]

    def do_POST(self) -> None:
        self.received.append({name.lower(): value for name, value in self.headers.items()})
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def listener() -> Iterator[tuple[int, list[dict[str, str]]]]:
    handler = type("Recorder", (HeaderRecorder,), {"received": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], handler.received
        server.shutdown()
