"""A flood of slow headers against the shipped proxy, while honest clients post through it."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.servers import collector, front_proxy
from tools.endurance.collector.posting import Client
from tools.endurance.collector.reports import SURVEY, make_reports, plan_of, require_equal, totals_of

HONEST = 4
"""Number of concurrent honest clients."""
PAUSE = 0.02
"""Seconds between two posts of a client."""
BEGUN = b"POST /v1/surveys/trial/reports HTTP/1.1\r\nHost: x\r\nX-Slow: "


@dataclass
class Slow:
    """Lifetimes of the slow connections and durations of the honest posts, in seconds."""

    opened: int = 0
    lives: list[float] = field(default_factory=list)
    posts: list[float] = field(default_factory=list)

    def share(self, part: float) -> float:
        """Return a quantile of the durations of honest posts, in seconds."""
        return sorted(self.posts)[min(len(self.posts) - 1, int(part * len(self.posts)))]


def slow_headers(
    folder: Path, connections: int, seconds: float, addresses: int = 250, header_seconds: int = 10
) -> Slow:
    """Keep slow connections open from several addresses; open each again when it is cut."""
    plan, seen, over = plan_of(), Slow(), threading.Event()
    (folder / "survey.toml").write_text(SURVEY)
    url = f"sqlite:///{folder}/store.db"
    sent = make_reports(plan, int(HONEST * seconds / PAUSE) + HONEST, seed=connections)
    options = ("--rate", "60000", "--trusted-proxy", "127.0.0.1")
    with (
        collector([folder / "survey.toml"], url, options=options) as (base, _),
        front_proxy(folder, urlsplit(base).port or 0, header_seconds) as front,
        ThreadPoolExecutor(HONEST + 1) as pool,
    ):
        port = urlsplit(front).port or 0
        flood = pool.submit(_flood, port, connections, addresses, seen, over)
        while seen.opened < connections and not flood.done():
            time.sleep(0.01)
        shares = [sent.reports[n::HONEST] for n in range(HONEST)]
        end = time.monotonic() + seconds
        left = [pool.submit(_post, front, share, seen, end) for share in shares]
        unsent = [each for one in left for each in one.result()]
        over.set()
        flood.result()
        last = Client(front)
        for report in unsent:  # with --rate, one per request
            assert last.deliver(report)[0] == 200
        last.close()
    require_equal(totals_of(url), sent.totals)
    return seen


def _post(front: str, reports: list[bytes], seen: Slow, end: float) -> list[bytes]:
    """Post reports one by one, each on a new connection, until the time is over; return the rest."""
    client = Client(front)
    for place, body in enumerate(reports):
        if time.monotonic() > end:
            return reports[place:]
        start = time.monotonic()
        assert client.deliver(body)[0] == 200
        client.close()
        seen.posts.append(time.monotonic() - start)
        time.sleep(PAUSE)
    return []


def _flood(port: int, connections: int, addresses: int, seen: Slow, over: threading.Event) -> None:
    """Send one byte of a header per second on each connection; open those again that are cut."""
    lines: dict[socket.socket, float] = {}
    with selectors.DefaultSelector() as cuts:
        while not over.is_set():
            round_began = time.monotonic()
            while len(lines) < connections:
                line = _begin(port, seen.opened % addresses)
                lines[line] = time.monotonic()
                cuts.register(line, selectors.EVENT_READ)
                seen.opened += 1
            for line in list(lines):
                with suppress(OSError):
                    line.send(b"x")
            while (left := round_began + 1 - time.monotonic()) > 0 and not over.is_set():
                for key, _ in cuts.select(min(left, 0.1)):  # the only event is the end of a connection
                    line = key.fileobj  # type: ignore[assignment]
                    seen.lives.append(time.monotonic() - lines.pop(line))
                    cuts.unregister(line)
                    line.close()
        for line in lines:
            line.close()


def _begin(port: int, address: int) -> socket.socket:
    """Begin a request from one of many addresses of this machine, as a botnet does."""
    line = socket.create_connection(("127.0.0.1", port), 10, (f"127.0.1.{address + 1}", 0))
    line.sendall(BEGUN)
    line.setblocking(False)
    return line
