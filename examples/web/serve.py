"""The web example: a collector, and the page at another origin. Start it with `make web-demo`.

It needs nothing beyond what the collector needs. The page's server only sends files: a survey of your own
needs no server of this kind, any static one will do.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent
CLIENT = HERE.parents[1] / "clients" / "javascript" / "src"
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css"}
DATA_SURVEY = re.compile(r'(?<=data-survey=")[^"]*')


def main() -> None:
    """Serve both until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Serve the web example: a collector, and a page.")
    parser.add_argument("--port", type=int, default=8001, help="port of the page; 0: a free one")
    parser.add_argument(
        "--collector-port", type=int, default=8000, help="port of the collector; 0: a free one"
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    token = os.environ.setdefault("LDP_OPERATOR_TOKEN", secrets.token_urlsafe(12))
    try:
        with collector(options.collector_port) as survey, page(options.port, survey) as server:
            operator = "{0.scheme}://{0.netloc}/".format(urlsplit(survey))
            print(f"The page:             http://127.0.0.1:{server.server_port}/")
            print(f"The dashboard:  {operator}   token: {token}\n")
            print("Open the page and answer; the dashboard then counts one report. A browser answers")
            print("once: to answer again, open the page in a private window. Ctrl-C stops both.", flush=True)
            server.serve_forever()
    except KeyboardInterrupt:
        print("\nstopped; the reports of this demonstration are deleted")


@contextmanager
def collector(port: int) -> Iterator[str]:
    """Run a collector on SQLite in a folder that is deleted at the end; yield the survey's URL."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(sys.executable).parent / "ldp-collector"
        command = [program, "serve", HERE / "survey.toml", "--store", f"sqlite:///{folder}/ldp.db"]
        command += ["--bind", f"127.0.0.1:{port}", "--workers", "1"]
        with Path(folder, "log").open("wb") as log:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
            )
        try:
            line = process.stdout.readline() if process.stdout else ""
            match = re.search(r"http://\S+", line)
            if match is None:
                log_text = Path(folder, "log").read_text("utf-8")
                sys.exit(
                    f"the collector did not start:\n{line}{log_text}"
                    "If its port is in use, choose another one with --collector-port; 0: a free one."
                )
            yield match[0]
        finally:
            process.terminate()
            process.wait()


@contextmanager
def page(port: int, survey: str) -> Iterator[ThreadingHTTPServer]:
    """Open the server of the page, and of the client's modules."""
    files = {f"/{name}": (HERE / name).read_bytes() for name in ("page.js", "page.css")}
    files["/"] = DATA_SURVEY.sub(survey, (HERE / "index.html").read_text("utf-8")).encode()
    for path in CLIENT.rglob("*.js"):
        files[f"/ldp-bayes/{path.relative_to(CLIENT).as_posix()}"] = path.read_bytes()
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; "
        "connect-src {0.scheme}://{0.netloc}".format(urlsplit(survey))
    )
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), partial(Handler, files, policy))
    except OSError as error:
        reason = f"the page's port {port} cannot be used ({error.strerror})"
        sys.exit(f"{reason}: choose another one with --port; 0: a free one")
    with server:
        yield server


class Handler(BaseHTTPRequestHandler):
    """Sends files from memory."""

    def __init__(self, files: dict[str, bytes], policy: str, *arguments: object) -> None:
        self.files, self.policy = files, policy
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """Send one file."""
        path = urlsplit(self.path).path
        body = self.files.get(path)
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", TYPES[Path(path).suffix or ".html"])
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", self.policy)
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-cache")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing: requests show who visits the page."""


if __name__ == "__main__":
    main()
