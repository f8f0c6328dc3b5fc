"""A trial of secrecy: people report over HTTP with identifying data; then all stored data is searched for it.

The search covers what the collector prints and leaves in TMPDIR, and all files of the store, during the
sending and after it. For Redis it also covers the logs of slow and of refused commands. It does not cover the
times of files, nor the times in Redis's own log, which belong to Redis's operations and not to reports.
"""

from __future__ import annotations

import http.client
import os
import random
import re
import secrets
import socket
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import redis

from encoders.report import MEDIA_TYPE, unpack
from encoders.survey import Plan
from ldp_aggregator.collector.access_tokens import hash_secret
from ldp_aggregator.reports.batch_reader import compute_marks
from ldp_aggregator.stores import open_store
from ldp_client import make_report
from tests.support.servers import KillableCollector, LocalRedis
from tests.support.traces import SentData, traces
from tools.endurance.collector.posting import PATIENCE
from tools.endurance.collector.reports import into_bodies, other_report, plan_of

SURVEY = f"""
[survey]
id = "trial"
epsilon = 1.0
[label]
name = "rested"
values = ["yes", "no"]
[features.hours]
range = [0, 12]
bins = 19
[features.district]
values = {[str(number) for number in range(600)]}
[mechanism]
frequency = "OUE"
"""
_GATEWAY_TOKEN = secrets.token_hex(16)
_LONG_PAYLOAD = 16
"""Minimum length in bytes of a payload to search for: shorter ones occur by chance."""
_COUNTED = ("--rate", "60000", "--trusted-proxy", "127.0.0.0/8")
"""Makes the collector read addresses, also those in X-Forwarded-For."""
_OPERATOR_TIME = re.compile(rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z")
"""The times of the operator's log: in the name of a note, and in the note."""
_LOG_LINE = re.compile(rb"^\d+:[A-Z] \d+ \w+ \d+ [\d:.]+ ", re.MULTILINE)
"""The prefix of each line of Redis's log."""


@dataclass
class Searched:
    """What was sent, and how much stored data was searched."""

    reports: int
    requests: int
    responses: Counter[int]
    bytes: int


class Person:
    """Sends from a distinct address, with identifying data in every request."""

    def __init__(self, port: int, rng: random.Random, sent_data: SentData) -> None:
        self.address = f"127.{rng.randrange(128, 255)}.{rng.randrange(128, 255)}.{rng.randrange(128, 255)}"
        self._port, self._rng, self._sent_data = port, rng, sent_data
        self.responses = Counter[int]()
        sent_data.addresses.append(self.address)
        self._behind = f"203.0.113.{rng.randrange(100, 255)}"
        sent_data.addresses.append(self._behind)
        self._agent, self._cookie, self._name = (self._word() for _ in range(3))

    def _word(self) -> str:
        word = secrets.token_hex(12)
        self._sent_data.words.append(word)
        return word

    def _headers(self) -> dict[str, str]:
        return {
            "User-Agent": f"Survey/{self._agent}",
            "Cookie": f"session={self._cookie}",
            "X-Forwarded-For": self._behind,
            "X-Real-IP": self._behind,
            "Forwarded": f"for={self._behind}",
            "From": f"{self._name}@example.org",
            "Authorization": f"Basic {self._cookie}",
            "Referer": f"http://example.org/{self._name}",
            "Origin": f"http://{self._name}.example.org",
            "Content-Type": MEDIA_TYPE,
        }

    def ask(self, method: str, page: str, body: bytes = b"", **headers: str) -> int:
        """Make one request on a new connection; status 0 means no response."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self._port, timeout=PATIENCE, source_address=(self.address, 0)
        )
        with suppress(OSError, http.client.HTTPException):
            connection.request(method, page, body, self._headers() | headers)
            response = connection.getresponse()
            response.read()
            self.responses[response.status] += 1
            connection.close()
            return response.status
        connection.close()
        return 0

    def report(self, body: bytes, size: int = 1) -> None:
        """Post until the body is counted; several reports use the gateway's token."""
        page, end = f"/v1/surveys/trial/reports?who={self._name}", time.monotonic() + PATIENCE
        headers = {"Authorization": f"Bearer {_GATEWAY_TOKEN}"} if size > 1 else {}
        while self.ask("POST", page, body, **headers) != 200:
            assert time.monotonic() < end
            time.sleep(0.05)

    def misbehave(self, plan: Plan, report: bytes, turn: int) -> None:
        """Send one request that a collector refuses, or that devices do not make; another each time."""
        page, rude = "/v1/surveys/trial/reports", self._word().encode() + self._rng.randbytes(40)
        other = other_report(plan, report, self._rng)
        self._sent_data.contents += [rude, other]
        acts: list[Callable[[], object]] = [
            lambda: self.ask("POST", page, rude),
            lambda: self.ask("POST", page, report[:-1] + rude),
            lambda: self.ask("POST", page, other),
            lambda: self.ask("POST", page, rude, **{"Content-Type": "text/plain"}),
            lambda: self.ask("POST", page, rude, **{"Content-Type": "text/html"}),
            lambda: self.ask("OPTIONS", page),
            lambda: self.ask("POST", page, rude, **{"Content-Length": "99999999"}),
            lambda: self.ask("POST", page, report.replace(plan.digest_bytes, bytes(32))),
            lambda: self.ask("POST", f"/v1/surveys/{self._word()}/reports", report),
            lambda: self.ask("GET", f"/{self._word()}?{self._word()}"),
            lambda: self.ask("GET", f"/v1/surveys/trial/snapshot?{self._word()}"),
            lambda: self.ask("GET", "/v1/surveys/trial"),
            lambda: self._talk(rude),
            lambda: self._talk(b"POST %b HTTP/1.1\r\nX-%b\r\n\r\n" % (page.encode(), rude)),
        ]
        acts[turn % len(acts)]()

    def _talk(self, request: bytes) -> None:
        where = ("127.0.0.1", self._port)
        with suppress(OSError), socket.create_connection(where, PATIENCE, (self.address, 0)) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(4096)


def secrecy(folder: Path, kind: str, reports: int, people: int = 4) -> Searched:
    """Send reports and other data, interrupt Redis once, and search the stored data for traces."""
    plan, rng, sent_data = plan_of(SURVEY), random.Random(reports), SentData(start=time.time())
    sent_data.words.append(_GATEWAY_TOKEN)
    sent = _make(plan, reports, rng, sent_data)
    (folder / "survey.toml").write_text(SURVEY)
    (folder / "temporary").mkdir()
    tokens = folder / "tokens.toml"
    tokens.write_text(f'[tokens.gateway]\nrole = "gateway"\nsha256 = "{hash_secret(_GATEWAY_TOKEN)}"\n')
    with _store(folder, kind) as (url, server):
        environment = os.environ | {
            "TMPDIR": str(folder / "temporary"),
            "LDP_COLLECTOR_SERVE_TOKENS": str(tokens),
        }
        collector = KillableCollector(
            folder / "survey.toml", url, folder / "printed", options=_COUNTED, environment=environment
        )
        try:
            collector.start()
            crowd = [Person(collector.port, random.Random(rng.random()), sent_data) for _ in range(people)]
            _send(crowd, plan, sent[0], into_bodies(sent, 200, rng), server)
            files = {f"running {name}": data for name, data in _files(folder, url).items()}
        finally:
            collector.stop()
        sent_data.end = time.time()
        _require_content(url, plan, dict(zip(sent_data.kept[::2], sent_data.kept[1::2], strict=True)))
        files |= _files(folder, url)
    found = sorted(set(traces(files, sent_data)))
    assert not found, found
    responses = sum((person.responses for person in crowd), Counter[int]())
    return Searched(reports, responses.total(), responses, sum(map(len, files.values())))


def _make(plan: Plan, count: int, rng: random.Random, sent_data: SentData) -> list[bytes]:
    """Make reports as devices do; add rows, reports, ids and marks to `sent_data`."""
    sent = []
    for _ in range(count):
        hours = rng.uniform(1, 11)
        row: dict[str, object] = {"hours": hours, "district": str(rng.randrange(600))}
        sent.append(make_report(plan, row, rng.choice(["yes", "no"])))
        sent_data.contents += [sent[-1], f"{hours:.9f}".encode(), np.float64(hours).tobytes()]
        read = unpack(sent[-1])
        if len(read.payload) >= _LONG_PAYLOAD:
            sent_data.contents.append(read.payload)
        sent_data.kept += [read.id, compute_marks(np.frombuffer(read.payload, np.uint8)[None]).tobytes()]
    return sent


@contextmanager
def _store(folder: Path, kind: str) -> Iterator[tuple[str, LocalRedis | None]]:
    (folder / "store").mkdir()
    if kind == "sqlite":
        yield f"sqlite:///{folder}/store/ldp.db", None
        return
    log, options = str(folder / "store" / "redis.log"), ("--slowlog-log-slower-than", "-1")
    server = LocalRedis(folder / "store", *options, "--rdbcompression", "no", "--logfile", log)
    try:
        server.start()
        yield server.url, server
    finally:
        server.stop()


def _send(
    crowd: Sequence[Person],
    plan: Plan,
    first: bytes,
    bodies: Sequence[tuple[int, bytes]],
    server: LocalRedis | None,
) -> None:
    """Let each person send a share, and refused requests; kill the store after half, if possible."""
    left, lock, half = iter(enumerate(bodies)), threading.Lock(), threading.Event()

    def send(person: Person) -> None:
        try:
            while True:
                with lock:
                    number, (size, body) = next(left, (0, (0, b"")))
                if not size:
                    return
                person.report(body, size)
                if number % 5 == 0:
                    person.misbehave(plan, body if size == 1 else first, number // 5)
                if number > len(bodies) // 2:
                    half.set()
        finally:
            half.set()

    crowd[0].report(first)
    with ThreadPoolExecutor(len(crowd)) as pool:
        ends = [pool.submit(send, person) for person in crowd]
        half.wait()
        if server:
            server.kill()
            time.sleep(0.5)
            server.start()
    for end in ends:
        end.result()


def _require_content(url: str, plan: Plan, remembered: dict[bytes, bytes]) -> None:
    """Check that the store holds plans, counters, rejections, ids and marks, and nothing else."""
    store = open_store(url)
    found: dict[bytes, bytes] = {}
    for counter in store.totals(plan.id):
        for ids, kept in store.report_ids(plan.id, counter):
            found.update(zip(map(bytes, ids), map(bytes, kept), strict=True))
    store.close()
    assert found == remembered
    counters = {key for question in plan.questions for key in (question.key, question.support_key)}
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        tables = {
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        connection.close()
        assert tables == {"plans", "texts", "windows", "counters", "buckets", "internal", "rejections"}
        return
    with redis.Redis.from_url(url) as client:
        keys = {key.decode() for key in client.scan_iter()}
        assert (client.slowlog_get(), client.acl_log()) == ([], []), "Redis keeps a log of commands"
    allowed = {f"ldp:{{{plan.id}:{counter}}}:{kind}" for counter in counters for kind in ("ids", "sums")}
    assert keys <= allowed | {
        "ldp:plans",
        "ldp:texts",
        "ldp:windows",
        f"ldp:rejections:{plan.id}",
        "ldp:published",
        "ldp:ready:0",
        "ldp:rewriting",
        "ldp:{ldp:windows}:log",
        "ldp:{ldp:windows}:shards",
    }, keys


def _files(folder: Path, url: str) -> dict[str, bytes]:
    """Read all stored data; Redis also writes its dump."""
    if not url.startswith("sqlite"):
        with redis.Redis.from_url(url) as client:
            client.save()
    kept = [folder / "printed", *(folder / "store").rglob("*"), *(folder / "temporary").rglob("*")]
    files = {
        str(path.relative_to(folder)): _OPERATOR_TIME.sub(b"", path.read_bytes())
        for path in kept
        if path.is_file()
    }
    if "store/redis.log" in files:
        files["store/redis.log"] = _LOG_LINE.sub(b"", files["store/redis.log"])
    return files
