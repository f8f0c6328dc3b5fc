"""Trials of "exactly once, durable" with real collectors, Redis, SQLite, SIGKILL and truncated files.

test_endurance.py runs short ones, benchmarks/collector_endurance.py runs them at full size. Each trial raises
AssertionError if the guarantee is broken, else it returns its measurements.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import redis

from encoders.errors import ReportError
from encoders.randomness import FastStream
from encoders.report import ID_BYTES, MEDIA_TYPE, Report, pack, split, unpack
from encoders.survey import Plan, read_survey
from encoders.survey.randomise import read_report
from ldp_aggregator.collector import create_app
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.stores import MemoryStore, Store, Total, open_store
from ldp_aggregator.stores.base import REPORTS_PER_READ
from ldp_aggregator.stores.sqlite_buckets import read_buckets
from tests.servers import ClusterNode, KillableCollector, LocalRedis, redis_nodes, redis_server, wait_for

SURVEY = f"""
[survey]
id = "trial"
epsilon = 1.0
[label]
name = "rested"
values = ["yes", "no"]
[features.age]
values = ["young", "old"]
[features.hours]
range = [0, 12]
bins = 19
[features.district]
values = {[str(number) for number in range(600)]}
[features.debt]
range = [0, 9]
"""
VECTORS = Path(__file__).parents[2] / "vectors"
PATIENCE = 60.0
CONNECTIONS = 4


def plan_of(text: str = SURVEY) -> Plan:
    return read_survey(text).compile()


# -- what is sent, and what must be counted -----------------------------------------------------


@dataclass
class Sent:
    """Reports and their totals, cell by cell."""

    reports: list[bytes] = field(default_factory=list)
    totals: dict[str, Total] = field(default_factory=dict)


def make_reports(plan: Plan, count: int, seed: int) -> Sent:
    """Make reports of random people to random questions, in random order."""
    rng, rows, made = FastStream(seed), random.Random(seed), Sent()
    people = [
        plan.encode(
            {
                "age": rows.choice(["young", "old"]),
                "hours": rows.uniform(0, 12),
                "district": str(rows.randrange(600)),
                "debt": rows.uniform(0, 9),
            },
            rows.choice(["yes", "no"]),
        )
        for _ in range(200)
    ]
    chosen = Counter(rows.choices(range(len(plan.questions)), k=count))
    for question in plan.questions:
        truths = [question.value(*rows.choice(people)) for _ in range(chosen[question.index])]
        if not truths:
            continue
        payloads = question.mechanism.perturb_many(np.array(truths), rng)
        made.totals[question.key] = Total(len(truths), question.mechanism.tally(payloads))
        for payload in payloads:
            report_id = rng.take(ID_BYTES)
            made.reports.append(pack(Report(plan.digest_bytes, question.index, report_id, payload.tobytes())))
    rows.shuffle(made.reports)
    return made


def into_bodies(reports: Sequence[bytes], largest: int, rng: random.Random) -> list[tuple[int, bytes]]:
    """Divide reports into bodies of 1 to `largest`, and many single ones; return each with its size."""
    bodies, start = [], 0
    while start < len(reports):
        size = 1 if rng.random() < 0.8 else rng.randint(1, largest)
        piece = reports[start : start + size]
        bodies.append((len(piece), b"".join(piece)))
        start += size
    return bodies


def require_equal(found: Mapping[str, Total], expected: Mapping[str, Total]) -> None:
    """Compare every cell of every counter of reports; support counters, which have no reports, may lag."""
    found = {name: total for name, total in found.items() if total.n}
    assert found.keys() == expected.keys(), "other counters"
    for name, total in expected.items():
        assert found[name].n == total.n, f"{found[name].n} reports were counted, {total.n} were sent"
        assert (found[name].cells == total.cells).all(), "a cell differs"


def require_whole(url: str, plan: Plan) -> None:
    """Check in one read of the store that each counter has as many reports as ids, and consistent sums."""
    for question in plan.questions:
        ids, n, cells = _look(url, plan.id, question.key)
        assert ids == n, f"{ids} ids are remembered, {n} reports counted"
        if getattr(question.mechanism, "constant_sum", False):
            assert cells.sum() == n * int(question.mechanism.parameters.get("size", 1))


def _look(url: str, survey: str, counter: str) -> tuple[int, int, np.ndarray]:
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=PATIENCE)
        connection.execute("BEGIN")
        query = "SELECT number, n, cells FROM counters WHERE survey = ? AND name = ?"
        row = connection.execute(query, (survey, counter)).fetchone()
        ids, last = 0, -1
        while row and (found := read_buckets(connection, row[0], last, REPORTS_PER_READ)):
            last, (names, _) = found
            ids += len(names)
        connection.close()
        return (ids, row[1], np.frombuffer(row[2], "<i8")) if row else (0, 0, np.zeros(1, np.int64))
    with redis.Redis.from_url(url) as server:
        together = server.pipeline(transaction=True)
        together.hlen(f"ldp:{{{survey}:{counter}}}:ids").get(f"ldp:{{{survey}:{counter}}}:sums")
        ids, sums = together.execute()
    values = np.frombuffer(sums or bytes(16), ">i8").astype(np.int64)
    return ids, int(values[0]), values[1:]


def totals_of(url: str) -> dict[str, Total]:
    store = open_store(url)
    try:
        return store.totals("trial")
    finally:
        store.close()


# -- a client that repeats the same bytes until they are acknowledged ---------------------------


class Client:
    """One connection to one collector, opened again when it breaks."""

    def __init__(self, base: str, seconds: float = PATIENCE) -> None:
        self._where, self._connection = urlsplit(base), None
        self._seconds = seconds
        self.attempts = 0

    def post(self, body: bytes) -> tuple[int, dict[str, object]]:
        """Post once; status 0 means no response."""
        self.attempts += 1
        if self._connection is None:
            self._connection = http.client.HTTPConnection(
                self._where.hostname or "", self._where.port, timeout=self._seconds
            )
        try:
            self._connection.request("POST", "/v1/surveys/trial/reports", body, {"Content-Type": MEDIA_TYPE})
            answer = self._connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            self.close()
            return 0, {}

    def deliver(self, body: bytes) -> tuple[int, dict[str, object]]:
        """Post until the response is not retryable."""
        end = time.monotonic() + self._seconds
        while time.monotonic() < end:
            status, answer = self.post(body)
            if status and not answer.get("retryable"):
                return status, answer
            time.sleep(0.02)
        raise AssertionError(f"not acknowledged within {self._seconds} s")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def statuses(size: int, answer: Mapping[str, object]) -> Counter[str]:
    """Return the numbers of recorded and duplicate reports of a body, and of rejected ones by reason."""
    if size == 1:
        return Counter([str(answer.get("status") if "reason" not in answer else answer["reason"])])
    found = Counter({name: int(str(answer[name])) for name in ("recorded", "duplicate")})
    rejected = answer["rejected"]
    assert isinstance(rejected, list)
    found.update(str(each["reason"]) for each in rejected)
    assert found.total() == size, answer
    return +found


class Crowd:
    """Posts bodies over concurrent connections, each until it is acknowledged; starts at most `limit`."""

    def __init__(
        self, bases: Sequence[str], bodies: Sequence[tuple[int, bytes]], limit: int = sys.maxsize
    ) -> None:
        self.begun, self.attempts, self.seen, self.limit = 0, 0, Counter[str](), limit
        self._bases, self._bodies, self._lock = bases, iter(bodies), threading.Lock()
        self._pool = ThreadPoolExecutor(CONNECTIONS)
        self._ends = [self._pool.submit(self._work, bases[n % len(bases)]) for n in range(CONNECTIONS)]

    def _work(self, base: str) -> None:
        client = Client(base)
        while True:
            while self.begun >= self.limit:
                time.sleep(0.001)
            with self._lock:
                size, body = next(self._bodies, (0, b""))
                self.begun += 1
            if not size:
                break
            status, answer = client.deliver(body)
            assert status in (200, 409), (status, answer)
            with self._lock:
                self.seen.update(statuses(size, answer))
        client.close()
        with self._lock:
            self.attempts += client.attempts

    def wait_until_begun(self, bodies: int) -> None:
        while self.begun < bodies:
            assert not any(end.done() for end in self._ends), [end.exception() for end in self._ends]
            time.sleep(0.001)

    def join(self) -> Counter[str]:
        self._pool.shutdown()
        for end in self._ends:
            end.result()
        return self.seen


def deliver(bases: str | Sequence[str], bodies: Sequence[tuple[int, bytes]]) -> Counter[str]:
    return Crowd([bases] if isinstance(bases, str) else bases, bodies).join()


# -- 1. kill -9 ---------------------------------------------------------------------------------


@dataclass
class Killed:
    """Numbers of kills and posts, and the outcomes of the reports."""

    kills: Counter[str]
    posts: int
    attempts: int
    seen: Counter[str]


def kills(folder: Path, kind: str, reports: int, wanted: int, largest: int = 1000) -> Killed:
    """Kill parts of a collector and its store at random moments, while reports arrive."""
    plan, rng = plan_of(), random.Random(reports)
    sent = make_reports(plan, reports, seed=wanted)
    survey = folder / "survey.toml"
    survey.write_text(SURVEY)
    server = LocalRedis(folder) if kind == "redis" else None
    url = server.url if server else f"sqlite:///{folder}/store.db"
    collector = KillableCollector(survey, url, folder / "collector.log")
    victims = ["worker", "master", "collector"] + (["redis", "redis", "redis and worker"] if server else [])
    order = [victims[turn % len(victims)] for turn in range(wanted)]
    rng.shuffle(order)
    bodies = into_bodies(sent.reports, largest, rng)
    try:
        if server:
            server.start()
        collector.start()
        moments = sorted(rng.sample(range(1, len(bodies) - CONNECTIONS), wanted))
        crowd = Crowd([collector.base], bodies, moments[0] + CONNECTIONS)
        for victim, moment, limit in zip(order, moments, [*moments[1:], len(bodies) * 2], strict=True):
            crowd.wait_until_begun(moment)
            time.sleep(rng.uniform(0, 0.01))
            _kill(victim, collector, server, rng)
            require_whole(url, plan)
            crowd.limit = limit + CONNECTIONS
        seen = crowd.join()
        require_whole(url, plan)
        require_equal(totals_of(url), sent.totals)
        again = deliver(collector.base, [(1, report) for report in rng.sample(sent.reports, 50)])
        assert again == {"duplicate": 50}
    finally:
        collector.stop()
        if server:
            server.stop()
    assert seen.keys() <= {"recorded", "duplicate"}
    assert seen.total() == reports
    return Killed(Counter(order), len(bodies), crowd.attempts, seen)


def _kill(victim: str, collector: KillableCollector, server: LocalRedis | None, rng: random.Random) -> None:
    """Kill one or two parts, and start them again."""
    if "redis" in victim:
        assert server is not None
        server.kill()
    if "worker" in victim:
        wait_for(collector.workers)  # just after its start it may have none
        os.kill(rng.choice(collector.workers()), signal.SIGKILL)
    if victim in ("collector", "master"):
        collector.kill(everything=victim == "collector")
        collector.start()
    if "redis" in victim:
        assert server is not None
        time.sleep(rng.uniform(0, 0.2))
        server.start()
    assert collector.process is not None
    assert collector.process.poll() is None, collector.printed()[-2000:]


# -- 2. the machine under Redis crashes ----------------------------------------------------------


@dataclass
class Cuts:
    """Number of truncations of the file, and total number of bytes lost."""

    cuts: int
    lost: int
    reports: int


def cut_files(folder: Path, cuts: int, reports_between: int = 60) -> Cuts:
    """Restart Redis on its file, truncated at an acknowledgement or within the next command."""
    plan, rng, lost = plan_of(), random.Random(cuts), 0
    (folder / "first").mkdir()
    server, survey = LocalRedis(folder / "first"), plan.id
    counted: dict[str, Total] = {}
    try:
        server.start()
        store = open_store(server.url)
        for turn in range(cuts):
            _count(store, plan, counted, make_reports(plan, reports_between, turn))
            if turn == cuts // 2:
                _rewrite(server.url)
            sizes = [path.stat().st_size for path in _files(folder / "first")]
            # what follows was not acknowledged yet: one command, truncated somewhere
            later = make_reports(plan, rng.choice([1, reports_between]), cuts + turn)
            one = [
                each for each in later.reports if unpack(each).question == unpack(later.reports[0]).question
            ]
            act = dict(counted)
            _count(store, plan, act, _totalled(plan, one))
            copy = folder / f"copy-{turn}"
            shutil.copytree(folder / "first" / "appendonlydir", copy / "appendonlydir")
            lost += _cut(_files(copy), sizes, 0 if turn % 5 == 0 else rng.random())
            crashed = LocalRedis(copy, "--aof-load-truncated", "yes")
            try:
                crashed.start()
                found = totals_of(crashed.url)
                require_equal(
                    found, counted
                )  # all acknowledged reports, and nothing of the truncated command
                require_whole(crashed.url, plan)
                assert (
                    Intake(plan, open_store(crashed.url)).record_body(b"".join(one))[0].status == "recorded"
                )
                require_equal(totals_of(crashed.url), act)
            finally:
                crashed.stop()
                shutil.rmtree(copy)
            counted = act
        assert survey == "trial"
        store.close()
    finally:
        server.stop()
    return Cuts(cuts, lost, sum(total.n for total in counted.values()))


def _totalled(plan: Plan, reports: list[bytes]) -> Sent:
    made = Sent(list(reports))
    for each in map(unpack, reports):
        question = plan.questions[each.question]
        total = Total(1, np.array(question.mechanism.contribution(each.payload), dtype=np.int64))
        made.totals[question.key] = (
            made.totals[question.key] + total if question.key in made.totals else total
        )
    return made


def _count(store: Store, plan: Plan, counted: dict[str, Total], sent: Sent) -> None:
    intake = Intake(plan, store)
    intake._buffered_writes.add_recorded = lambda column: None  # type: ignore[method-assign]  # one command: no support counters
    outcomes = intake.record_body(b"".join(sent.reports))
    assert {outcome.status for outcome in outcomes} == {"recorded"}
    for key, total in sent.totals.items():
        counted[key] = counted[key] + total if key in counted else total


def _files(folder: Path) -> list[Path]:
    """Return the part of the append-only file that grows: the last one."""
    base = folder if folder.name == "appendonlydir" else folder / "appendonlydir"
    return [max(base.glob("*.incr.aof"), key=lambda path: int(path.name.split(".")[-3]))]


def _cut(files: list[Path], sizes: list[int], part: float) -> int:
    (path,), (size,) = files, sizes
    whole = path.stat().st_size
    keep = size + int((whole - size) * part)
    assert size < whole
    assert keep < whole
    os.truncate(path, keep)
    return whole - keep


def _rewrite(url: str) -> None:
    with redis.Redis.from_url(url) as server:
        server.bgrewriteaof()
        while (
            server.info("persistence")["aof_rewrite_in_progress"]
            or (server.info("persistence")["aof_rewrite_scheduled"])
        ):
            time.sleep(0.01)


# -- 3. duplicates, and ids that are used again --------------------------------------------------


@dataclass
class Repeats:
    """Numbers of repeated reports and reused ids that were recognised."""

    duplicates: int
    reused: int


def repeats(folder: Path, duplicates: int, reused: int, reports: int = 1000) -> Repeats:
    """Send counted reports again, and others under their ids: alone, in bodies, and within one body."""
    plan, rng = plan_of(), random.Random(duplicates)
    sent = make_reports(plan, reports, seed=3)
    survey = folder / "survey.toml"
    survey.write_text(SURVEY)
    others = [other_report(plan, report, rng) for report in sent.reports]
    with redis_server(folder) as url:
        collector = KillableCollector(survey, url, folder / "collector.log")
        try:
            collector.start()
            assert deliver(collector.base, [(reports, b"".join(sent.reports))]) == {"recorded": reports}
            singles = duplicates // 100
            bodies = [(1, rng.choice(sent.reports)) for _ in range(singles)]
            while singles < duplicates:
                chosen = rng.choices(sent.reports, k=min(1000, duplicates - singles))
                bodies.append((len(chosen), b"".join(chosen)))
                singles += len(chosen)
            seen = deliver(collector.base, bodies)
            assert seen == {"duplicate": duplicates}, seen
            half = reused // 2
            bodies = [(1, rng.choice(others)) for _ in range(half)]
            while half < reused:
                chosen = rng.choices(others, k=min(100, reused - half))
                bodies.append((len(chosen), b"".join(chosen)))
                half += len(chosen)
            seen = deliver(collector.base, bodies)
            assert seen == {"id-reused": reused}, seen
        finally:
            collector.stop()
        require_whole(url, plan)
        require_equal(totals_of(url), sent.totals)
    return Repeats(duplicates, reused)


def other_report(plan: Plan, report: bytes, rng: random.Random) -> bytes:
    """Return a different valid report with the same id."""
    read = unpack(report)
    question = plan.questions[read.question]
    while True:
        payload = bytes(each ^ rng.randrange(256) for each in read.payload)
        candidate = np.frombuffer(payload, np.uint8)[None]
        if payload != read.payload and question.mechanism.are_valid(candidate).all():
            return pack(Report(read.plan_digest, read.question, read.id, payload))


# -- 4. bodies that no device would send ------------------------------------------------------------


@dataclass
class Fuzzed:
    """Numbers of bodies and of valid reports in them, and the outcomes of all reports."""

    bodies: int
    outcomes: Counter[str]
    grown: float


class ReferenceIntake:
    """Computes the expected outcomes of each body, report by report, and the expected totals."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._seen: dict[tuple[int, bytes], bytes] = {}

    def outcomes(self, body: bytes) -> list[str]:
        try:
            return [self._verdict(piece) for piece in split(body)]
        except ReportError as error:
            return [f"cut: {error.reason}"]

    def _verdict(self, piece: bytes) -> str:
        try:
            report = read_report(self._plan, piece)
        except ReportError as error:
            return str(error.reason)
        key = report.question, report.id
        if key not in self._seen:
            self._seen[key] = piece
            return "recorded"
        return "duplicate" if self._seen[key] == piece else "id-reused"

    def totals(self) -> dict[str, Total]:
        by_question: dict[int, list[bytes]] = {}
        for (index, _), piece in self._seen.items():
            by_question.setdefault(index, []).append(unpack(piece).payload)
        found = {}
        for index, payloads in by_question.items():
            matrix = np.frombuffer(b"".join(payloads), np.uint8).reshape(len(payloads), -1)
            question = self._plan.questions[index]
            found[question.key] = Total(len(payloads), question.mechanism.tally(matrix))
        return found


class Fuzz:
    """Makes bodies of valid reports, bad ones of the vectors and those of another plan, with damage."""

    def __init__(self, plan: Plan, seed: int, sound: int = 2000) -> None:
        self.rng = random.Random(seed)
        self._plan, self._sound = plan, make_reports(plan, sound, seed).reports
        other = plan_of(SURVEY.replace("epsilon = 1.0", "epsilon = 2.0"))
        vectors = json.loads((VECTORS / "bad.json").read_text())
        theirs, ours = bytes.fromhex(vectors["digest"]), plan.digest_bytes
        bad = [bytes.fromhex(each["report"]) for each in vectors["reports"]]
        self._strange = make_reports(other, 50, seed).reports + bad
        self._strange += [report.replace(theirs, ours) for report in bad]

    def body(self) -> bytes:
        pieces = [self._piece() for _ in range(self.rng.choice([1, 1, 1, 2, 3, 6]))]
        body = b"".join(pieces)
        return self._spoil(body) if self.rng.random() < 0.3 else body

    def _piece(self) -> bytes:
        rng, report = self.rng, self.rng.choice(self._sound)
        kind = rng.randrange(8)
        if kind < 3:
            return report
        if kind < 5:
            return self._spoil(report)
        if kind == 5:
            return rng.choice(self._strange)
        read = unpack(report)
        if kind == 6:
            return other_report(self._plan, report, rng)
        size = rng.choice([0, 1, 255, 256, 4030, 4032, 4033, 4096, 5000, len(read.payload)])
        index = rng.choice([read.question, 0, 1, 127, 128, 255, 256, 65536, 2**32])
        return pack(Report(read.plan_digest, index, read.id, bytes(size)))

    def _spoil(self, body: bytes) -> bytes:
        rng, spoilt = self.rng, bytearray(body)
        for _ in range(rng.choice([1, 1, 2, 5])):
            at, kind = rng.randrange(len(spoilt) + 1), rng.randrange(7)
            if kind == 0 and at < len(spoilt):
                spoilt[at] ^= 1 << rng.randrange(8)
            elif kind == 1:
                del spoilt[at:]
            elif kind == 2:
                del spoilt[at : at + rng.randrange(1, 8)]
            elif kind == 3:
                spoilt[at:at] = rng.randbytes(rng.randrange(1, 8))
            elif kind == 4:
                spoilt[at : at + 5] = rng.choice(_HUGE)
            elif kind == 5:
                spoilt[at : at + 1] = bytes([rng.choice([0x94, 0x95, 0xC4, 0xC5, 0xC6, 0xCC, 0xDC, 0xDD])])
            else:
                spoilt[:at] = b""
        return bytes(spoilt)


_HUGE = [
    bytes.fromhex(each) for each in ("ddffffffff", "dfffffffff", "c6ffffffff", "dbffffffff", "c9ffffffff")
]
"""Headers of arrays, maps, bytes, texts and extensions of 4 GiB."""


def fuzz_intake(bodies: int, seed: int = 1) -> Fuzzed:
    """Pass damaged bodies to the intake."""
    plan, store, seen = plan_of(), MemoryStore(), Counter[str]()
    fuzz, reference, intake = Fuzz(plan, seed), ReferenceIntake(plan), Intake(plan, store)
    for _ in range(bodies):
        body = fuzz.body()
        expected = reference.outcomes(body)
        try:
            found = [
                str(each.error.reason) if each.error else each.status for each in intake.record_body(body)
            ]
        except ReportError as error:
            found = [f"cut: {error.reason}"]
        assert found == expected, body.hex()
        seen.update(found)
    require_equal(store.totals(plan.id), reference.totals())
    return Fuzzed(bodies, seen, 0.0)


def fuzz_pages(bodies: int, seed: int = 2) -> Fuzzed:
    """Post damaged bodies to the application, some with wrong headers, without sockets."""
    plan, store, seen = plan_of(), MemoryStore(), Counter[str]()
    store.publish(plan.id, plan.json)
    web = create_app(CollectorSettings(max_body=100_000), store).test_client()
    fuzz, reference = Fuzz(plan, seed), ReferenceIntake(plan)
    for _ in range(bodies):
        body = fuzz.body()
        strange = fuzz.rng.random() < 0.1 or not body  # the test client sends no length for an empty body
        headers = fuzz.rng.choice(_STRANGE_HEADERS) if strange else {"Content-Type": MEDIA_TYPE}
        answer = web.post(f"/v1/surveys/{plan.id}/reports", data=body, headers=headers)
        assert answer.status_code < 500, (answer.status_code, body.hex())
        seen.update(_require_answer(answer.status_code, answer.json, body, reference, strange))
    require_equal(store.totals(plan.id), reference.totals())
    return Fuzzed(bodies, seen, 0.0)


_STRANGE_HEADERS: list[dict[str, str]] = [
    {},
    {"Content-Type": "application/json"},
    {"Content-Type": MEDIA_TYPE + "; charset=utf-8"},
    {"Content-Type": MEDIA_TYPE.upper()},
    {"Content-Type": MEDIA_TYPE, "Content-Encoding": "gzip"},
    {"Content-Type": MEDIA_TYPE, "Transfer-Encoding": "chunked"},
    {"Content-Type": MEDIA_TYPE, "Content-Length": "-1"},
    {"Content-Type": MEDIA_TYPE, "Content-Length": "99999999999999999999"},
    {"Content-Type": MEDIA_TYPE, "Content-Length": "1e3"},
    {"Content-Type": MEDIA_TYPE, "Content-Length": "0"},
    {"Content-Type": MEDIA_TYPE, "Expect": "a miracle"},
]
_BEFORE = {"length-required", "incomplete-body", "unsupported-media-type", "too-large", "malformed", "None"}
"""Refusals of a whole request because of its headers."""


def _require_answer(
    status: int, answer: Mapping[str, object], body: bytes, reference: ReferenceIntake, strange: bool
) -> Counter[str]:
    """Compare a response with the expected outcomes of the body."""
    if strange and status != 200 and str(answer.get("reason")) in _BEFORE:
        return Counter(["refused by its headers"])
    expected = reference.outcomes(body)
    if expected[0].startswith("cut") or len(expected) == 1:
        observed = [str(answer.get("status") if status == 200 else answer["reason"])]
        assert observed == [each.removeprefix("cut: ") for each in expected], body.hex()
    else:
        assert statuses(len(expected), answer) == Counter(expected), body.hex()
    return Counter(expected)


def fuzz_wire(folder: Path, bodies: int, seed: int = 3) -> Fuzzed:
    """Post damaged bodies and invalid requests to a collector over HTTP; measure its worker's memory."""
    plan, seen = plan_of(), Counter[str]()
    survey, url = folder / "survey.toml", f"sqlite:///{folder}/store.db"
    survey.write_text(SURVEY)
    collector = KillableCollector(survey, url, folder / "collector.log", workers=1)
    try:
        collector.start()
        fuzz, reference = Fuzz(plan, seed, sound=500), ReferenceIntake(plan)
        client = Client(collector.base)
        (worker,) = collector.workers()
        before = 0.0
        for number in range(bodies):
            body = fuzz.body()
            status, answer = client.post(body)
            assert 200 <= status < 500, (status, body.hex())
            seen.update(_require_answer(status, answer, body, reference, strange=False))
            if number % 20 == 0:
                first = _talk(collector.port, _garbled(fuzz, body))
                assert not first.startswith(b"HTTP/1.1 5"), first
                assert not first.startswith(b"HTTP/1.1 200"), first
                seen["refused by its headers"] += 1
            if number == min(1000, bodies // 4):
                before = resident(worker)
        client.close()
        assert collector.workers() == [worker], "the worker died"
        grown = resident(worker) - before
        assert grown < 50, f"the worker grew by {grown:.0f} MB"
    finally:
        collector.stop()
    assert "unexpected" not in collector.printed()
    assert "Traceback" not in collector.printed()
    require_whole(url, plan)
    require_equal(totals_of(url), reference.totals())
    return Fuzzed(bodies, seen, grown)


def _garbled(fuzz: Fuzz, body: bytes) -> bytes:
    """Return a request whose body must not be accepted."""
    head = b"POST /v1/surveys/trial/reports HTTP/1.1\r\nHost: x\r\nContent-Type: %b\r\n" % MEDIA_TYPE.encode()
    size = len(body)
    return fuzz.rng.choice(
        [
            head + b"Content-Length: %d\r\n\r\n%b" % (size + 1, body),
            head + b"Content-Length: %d\r\nContent-Length: %d\r\n\r\n%b" % (size, size + 1, body),
            head + b"Content-Length: -%d\r\n\r\n%b" % (size + 1, body),
            head + b"Content-Length: 9%019d\r\n\r\n%b" % (size, body),
            head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (size, body),
            head + b"Transfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n%b" % (size, body),
            head + b"\r\n" + body,
            head.replace(b"POST", b"PUT") + b"Content-Length: %d\r\n\r\n%b" % (size, body),
            head.replace(b"trial", b"other") + b"Content-Length: %d\r\n\r\n%b" % (size, body),
            head.replace(b"msgpack", b"nothing") + b"Content-Length: %d\r\n\r\n%b" % (size, body),
            fuzz.rng.randbytes(100),
        ]
    )


def _talk(port: int, request: bytes) -> bytes:
    """Send bytes, end the sending, return the beginning of the response."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection, suppress(ConnectionError):
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return connection.recv(4096)
    return b""


def resident(process: int) -> float:
    """Return a process's memory in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


# -- 5. several collectors ------------------------------------------------------------------------


@contextmanager
def store_url(folder: Path, kind: str) -> Iterator[str]:
    if kind == "cluster":
        with redis_nodes(folder) as nodes:
            yield nodes[0].url
    else:
        with redis_server(folder) as url:
            yield url


def several(folder: Path, kind: str, reports: int, largest: int = 100) -> Counter[str]:
    """Two collectors on one store: half of the reports go to both at first, then all of them do."""
    plan, rng = plan_of(), random.Random(reports)
    sent = make_reports(plan, reports, seed=5)
    survey = folder / "survey.toml"
    survey.write_text(SURVEY)
    with store_url(folder, kind) as url, ExitStack() as stack:
        collectors = [KillableCollector(survey, url, folder / f"{n}.log", workers=1) for n in range(2)]
        for collector in collectors:
            stack.callback(collector.stop)
            collector.launch()
        for collector in collectors:
            collector.wait()
        third = reports // 3
        shares = [sent.reports[: 2 * third], sent.reports[third:]]
        crowds = [
            Crowd([collector.base], into_bodies(rng.sample(share, len(share)), largest, rng))
            for collector, share in zip(collectors, shares, strict=True)
        ]
        seen = sum((crowd.join() for crowd in crowds), Counter[str]())
        assert seen == {"recorded": reports, "duplicate": third}, seen
        for collector in collectors:
            again = deliver(collector.base, into_bodies(sent.reports, largest, rng))
            assert again == {"duplicate": reports}, again
            seen += again
        require_equal(totals_of(url), sent.totals)
    return seen


# -- 6. a cluster loses a shard -------------------------------------------------------------------


@dataclass
class Loss:
    """Number of unreachable questions, the responses to their reports meanwhile, and response times."""

    lost: int
    others: int
    refused: int
    slowest: float


def shard_loss(folder: Path, reports: int, turns: int = 1) -> Loss:
    """Kill one primary without a replica: reports of its questions wait, the others are counted."""
    plan, rng = plan_of(), random.Random(reports)
    survey = folder / "survey.toml"
    survey.write_text(SURVEY)
    with redis_nodes(folder) as nodes:
        collector = KillableCollector(survey, nodes[0].url, folder / "collector.log", workers=1)
        try:
            collector.start()
            # all workers: a later one may need the lost node to start
            wait_for(lambda: _ready(collector.port))
            expected: dict[str, Total] = {}
            found = Loss(0, 0, 0, 0.0)
            for turn in range(turns):
                sent = make_reports(plan, reports, seed=turn)
                for key, total in sent.totals.items():
                    expected[key] = expected[key] + total if key in expected else total
                shards = {
                    index: next(node for node in nodes if _keeps(node, plan, index))
                    for index in range(len(plan.questions))
                }
                victim = shards[rng.randrange(len(shards))]
                wait_for(lambda: all(map(_sees_all, nodes)))
                victim.kill()
                found.lost = sum(node is victim for node in shards.values())
                found.others = len(shards) - found.lost
                left = []
                client = Client(collector.base)
                for report in sent.reports:
                    start = time.monotonic()
                    gone = shards[unpack(report).question] is victim
                    status, answer = client.post(report) if gone else client.deliver(report)
                    found.slowest = max(found.slowest, time.monotonic() - start)
                    if gone:
                        assert (status, answer["reason"], answer["retryable"]) == (
                            503,
                            "store-unavailable",
                            True,
                        ), (status, answer)
                        found.refused += 1
                        left.append((1, report))
                    else:
                        assert answer == {"status": "recorded"}, answer
                client.close()
                victim.start()
                deliver(collector.base, left)
                assert deliver(collector.base, [(reports, b"".join(sent.reports))]) == {"duplicate": reports}
            require_equal(totals_of(nodes[0].url), expected)
        finally:
            collector.stop()
    return found


def _sees_all(node: ClusterNode) -> bool:
    info = node.client.execute_command("CLUSTER", "INFO")
    return all(each in info for each in (b"state:ok", b"slots_pfail:0", b"slots_fail:0"))


def _ready(port: int) -> bool:
    return _talk(port, b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n").startswith(b"HTTP/1.1 200")


def _keeps(node: ClusterNode, plan: Plan, index: int) -> bool:
    """Return whether a node itself holds the keys of a question."""
    try:
        node.client.exists(f"ldp:{{{plan.id}:{plan.questions[index].key}}}:ids")
    except redis.exceptions.MovedError:
        return False
    return True
