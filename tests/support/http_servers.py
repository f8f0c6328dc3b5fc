"""HTTP servers that run in a thread of the test, of a folder or of a handler."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class QuietHandler(BaseHTTPRequestHandler):
    """A handler that prints nothing; it reads a request, and answers it, in one call each."""

    def read_body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Send an answer; a header is named for example Retry_After."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class FileHandler(QuietHandler, SimpleHTTPRequestHandler):
    """Sends files, to scripts of every origin."""

    def end_headers(self) -> None:
        self.send_header("Access-Control-Allow-Origin", "*")  # a sandboxed frame loads modules with it
        super().end_headers()


@contextmanager
def serve(handler: Callable[..., Any] | HTTPServer) -> Iterator[str]:
    """Serve a handler at a free port of this machine, or run a server; yield its origin."""
    server = handler if isinstance(handler, HTTPServer) else ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def serve_folder(folder: Path) -> AbstractContextManager[str]:
    """Serve the files of a folder; yield the origin."""
    return serve(partial(FileHandler, directory=str(folder)))
