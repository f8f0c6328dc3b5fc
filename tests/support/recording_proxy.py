"""A proxy that records everything that leaves a browser, and a script that reads what a page has stored."""

import http.client
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.support.http_servers import QuietHandler, serve

ENTRIES = """async () => {
    const all = [];
    for (const { name } of await indexedDB.databases()) {
        const database = await new Promise((resolve, reject) => {
            const opening = indexedDB.open(name);
            opening.onsuccess = () => resolve(opening.result);
            opening.onerror = reject;
        });
        for (const store of database.objectStoreNames) {
            const reading = database.transaction(store).objectStore(store).getAll();
            await new Promise((resolve) => { reading.onsuccess = resolve; });
            all.push(...reading.result.map((entry) => ({ ...entry, plan: undefined })));
        }
        database.close();
    }
    return JSON.stringify([all, { ...localStorage }, { ...sessionStorage }, document.cookie, history.state]);
}"""
"""The entries of the page's databases without their plans, its storages, its cookies and its state."""


class RecordingProxy(QuietHandler):
    """Forwards requests for absolute addresses, and records their bytes."""

    def do_GET(self) -> None:
        self._forward()

    def do_POST(self) -> None:
        self._forward()

    def do_CONNECT(self) -> None:  # https and web sockets, which no test needs
        assert isinstance(self.server, Recording)
        self.server.requests.append((self.raw_requestline, bytes(self.headers), b""))
        self.send_error(501)

    def _forward(self) -> None:
        body = self.read_body()
        assert isinstance(self.server, Recording)
        self.server.requests.append((self.raw_requestline, bytes(self.headers), body))
        address = urlsplit(self.path)
        path = address.path + (f"?{address.query}" if address.query else "")
        with closing(http.client.HTTPConnection(address.netloc, timeout=60)) as connection:
            connection.request(self.command, path, body or None, dict(self.headers))
            response = connection.getresponse()
            content = response.read()
        self.send_response_only(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        with suppress(ConnectionError):  # the page closed before its answer
            self.end_headers()
            self.wfile.write(content)


class Recording(ThreadingHTTPServer):
    """The proxy, with the first line, the headers and the body of each request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), RecordingProxy)
        self.requests: list[tuple[bytes, bytes, bytes]] = []

    @property
    def through(self) -> Any:
        """The option `proxy` of Chromium; without its rule, Chromium connects to this machine directly."""
        return {"server": f"http://127.0.0.1:{self.server_port}", "bypass": "<-loopback>"}


@contextmanager
def recording() -> Iterator[Recording]:
    """Run the proxy."""
    server = Recording()
    with serve(server):
        yield server
