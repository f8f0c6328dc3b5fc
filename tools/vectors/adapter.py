"""This project's client behind the interface of docs/porting.md: the example for an adapter around a port.

``python tools/vectors/adapter.py --port 9000`` serves it and prints its URL. It needs only msgpack.
Never use it for real reports: the random bytes are part of the request.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # runs from a clone, installed or not

from encoders.errors import LdpError, RowError, SurveyError, TokenError
from encoders.randomness import GivenBytes
from encoders.survey import Plan
from ldp_client import make_report

Answer = dict[str, str]


def answer(question: dict[str, Any]) -> Answer:
    """Make one report, or return the reason of the refusal."""
    try:
        plan = plan_of(question["plan"])
    except SurveyError:
        return {"error": "plan"}
    row = {name: value_of(value) for name, value in question["row"].items()}
    random = bytes.fromhex(question["random"])
    rng = Counted(random)
    token, wave = question.get("token"), question.get("wave")
    try:
        report = make_report(plan, row, value_of(question["label"]), rng, token, wave)
    except TokenError:
        return {"error": "token"}
    except RowError as error:
        return {"error": "row", "field": error.field}
    except LdpError:
        return {"error": "random"}  # more bytes were wanted than given
    return {"report": report.hex()} if rng.taken == len(random) else {"error": "random"}


@lru_cache(maxsize=8)
def plan_of(text: str) -> Plan:
    """Read a plan once, because most requests of the checker use the same few plans."""
    return Plan.from_json(text.encode("utf-8"))


def value_of(value: Any) -> Any:
    """Return the value of a row that stands in JSON, see docs/porting.md."""
    if isinstance(value, list):
        return [value_of(each) for each in value]
    if not isinstance(value, dict):
        return value
    return int(value["integer"]) if "integer" in value else float(value["double"])


class Counted(GivenBytes):
    """Given bytes with a count of the bytes that were taken."""

    taken = 0

    def take(self, count: int) -> bytes:
        """Return the next `count` of the given bytes."""
        self.taken += count
        return super().take(count)


class Handler(BaseHTTPRequestHandler):
    """The interface: a POST with one JSON object, answered with one JSON object."""

    wbufsize = -1  # head and body in one packet; two would wait for each other
    respond: Callable[[dict[str, Any]], Answer]

    def do_POST(self) -> None:
        """Answer one question of the checker."""
        asked = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/report":
            self.send_error(404)
            return
        body = json.dumps(type(self).respond(json.loads(asked))).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *message: object) -> None:
        """Say nothing: the checker does."""


def serve(port: int, respond: Callable[[dict[str, Any]], Answer] = answer) -> ThreadingHTTPServer:
    """Return a server on this machine; port 0 is any free one."""
    handler = type("OneHandler", (Handler,), {"respond": staticmethod(respond)})
    return ThreadingHTTPServer(("127.0.0.1", port), handler)


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="Serve this project's client to check_port.py.")
    parser.add_argument("--port", type=int, default=9000, help="0 is any free one")
    server = serve(parser.parse_args().port)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


if __name__ == "__main__":
    main()
