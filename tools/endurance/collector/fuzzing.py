"""Send bodies and requests that no device would send."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from encoders.errors import ReportError
from encoders.report import MEDIA_TYPE, Report, pack, split, unpack
from encoders.survey import Plan
from encoders.survey.randomise import read_report
from ldp_aggregator.collector import create_app
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.collector.settings import CollectorSettings
from ldp_aggregator.stores import MemoryStore, Total
from tests.support.servers import KillableCollector, resident
from tools.endurance.collector.posting import Client, statuses, talk
from tools.endurance.collector.reports import (
    SURVEY,
    make_reports,
    other_report,
    plan_of,
    require_equal,
    require_whole,
    totals_of,
)

VECTORS = Path(__file__).parents[3] / "tests" / "vectors"


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
            return [self._outcome(piece) for piece in split(body)]
        except ReportError as error:
            return [f"cut: {error.reason}"]

    def _outcome(self, piece: bytes) -> str:
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
        return self._damage(body) if self.rng.random() < 0.3 else body

    def _piece(self) -> bytes:
        rng, report = self.rng, self.rng.choice(self._sound)
        kind = rng.randrange(8)
        if kind < 3:
            return report
        if kind < 5:
            return self._damage(report)
        if kind == 5:
            return rng.choice(self._strange)
        read = unpack(report)
        if kind == 6:
            return other_report(self._plan, report, rng)
        size = rng.choice([0, 1, 255, 256, 4030, 4032, 4033, 4096, 5000, len(read.payload)])
        index = rng.choice([read.question, 0, 1, 127, 128, 255, 256, 65536, 2**32])
        return pack(Report(read.plan_digest, index, read.id, bytes(size)))

    def _damage(self, body: bytes) -> bytes:
        rng, damaged = self.rng, bytearray(body)
        for _ in range(rng.choice([1, 1, 2, 5])):
            at, kind = rng.randrange(len(damaged) + 1), rng.randrange(7)
            if kind == 0 and at < len(damaged):
                damaged[at] ^= 1 << rng.randrange(8)
            elif kind == 1:
                del damaged[at:]
            elif kind == 2:
                del damaged[at : at + rng.randrange(1, 8)]
            elif kind == 3:
                damaged[at:at] = rng.randbytes(rng.randrange(1, 8))
            elif kind == 4:
                damaged[at : at + 5] = rng.choice(_HUGE)
            elif kind == 5:
                damaged[at : at + 1] = bytes([rng.choice([0x94, 0x95, 0xC4, 0xC5, 0xC6, 0xCC, 0xDC, 0xDD])])
            else:
                damaged[:at] = b""
        return bytes(damaged)


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
        response = web.post(f"/v1/surveys/{plan.id}/reports", data=body, headers=headers)
        assert response.status_code < 500, (response.status_code, body.hex())
        seen.update(_require_response(response.status_code, response.json or {}, body, reference, strange))
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


def _require_response(
    status: int, response: Mapping[str, object], body: bytes, reference: ReferenceIntake, strange: bool
) -> Counter[str]:
    """Compare a response with the expected outcomes of the body."""
    if strange and status != 200 and str(response.get("reason")) in _BEFORE:
        return Counter(["refused by its headers"])
    expected = reference.outcomes(body)
    if expected[0].startswith("cut") or len(expected) == 1:
        observed = [str(response.get("status") if status == 200 else response["reason"])]
        assert observed == [each.removeprefix("cut: ") for each in expected], body.hex()
    else:
        assert statuses(len(expected), response) == Counter(expected), body.hex()
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
            status, response = client.post(body)
            assert 200 <= status < 500, (status, body.hex())
            seen.update(_require_response(status, response, body, reference, strange=False))
            if number % 20 == 0:
                first = talk(collector.port, _garbled(fuzz, body))
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
