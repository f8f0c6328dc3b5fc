"""Bodies read into batches: the outcome equals that of reading report by report, for any bytes."""

import random
import tracemalloc

import numpy as np
import pytest

from encoders.errors import Reason, ReportError
from encoders.randomness import FastStream
from encoders.report import split
from encoders.survey import Plan
from encoders.survey.randomise import read_report
from ldp_aggregator.reports import batch_reader
from ldp_aggregator.reports.batch_reader import BatchReader, compute_marks
from ldp_client import make_report
from tests.support.surveys import make_plan

MECHANISMS = [
    {"frequency": "DE", "numeric": "onebit"},
    {"frequency": "OUE", "numeric": "sign-vector"},
    {"frequency": "SHE", "numeric": "piecewise"},
    {"frequency": "SUE", "numeric": "laplace"},
    {"frequency": "THE", "numeric": "sign"},
    {"numeric": "sampled-laplace"},
    {"frequency": "SS", "numeric": "sign"},
]


@pytest.fixture(autouse=True, params=[0, 1_000], ids=["as arrays", "small ones by report"])
def small_body(request, monkeypatch):
    monkeypatch.setattr(batch_reader, "_SMALL_BODY_BYTES", request.param)


def plan_of(mechanism: dict[str, str], epsilon: float = 1.0) -> Plan:
    bins = 120 if mechanism.get("frequency") == "SS" else 150  # SS asks for 256 values at most
    features = {
        "age": ["young", "old"],
        "hours": {"range": [0, 12], "bins": bins},
        "cups": {"range": [0, 9], "missing": "category"},
        "debt": {"range": [0, 9]},
    }
    return make_plan(epsilon=epsilon, features=features, mechanism=mechanism)


def reports(plan: Plan, count: int) -> list[bytes]:
    rng, rows = FastStream(7), random.Random(1)
    return [
        make_report(
            plan,
            {
                "age": rows.choice(["young", "old"]),
                "hours": rows.uniform(0, 12),
                "cups": rows.choice([None, 3]),
                "debt": rows.uniform(0, 9),
            },
            rows.choice(["yes", "no"]),
            rng,
        )
        for _ in range(count)
    ]


def read_batches(plan: Plan, body: bytes) -> list[tuple[int, bytes, bytes] | Reason]:
    """Read a body into batches; return each report's question, id and payload, or why it is refused."""
    batches, rejections = BatchReader(plan).read(body)
    found: dict[int, tuple[int, bytes, bytes] | Reason] = {
        place: error.reason for place, error in rejections.items()
    }
    for batch in batches:
        for place, each, payload in zip(batch.positions, batch.ids, batch.payloads, strict=True):
            found[int(place)] = (batch.question.index, each.tobytes(), payload.tobytes())
    return [found[place] for place in range(len(found))]


def read_individually(plan: Plan, body: bytes) -> list[tuple[int, bytes, bytes] | Reason]:
    found: list[tuple[int, bytes, bytes] | Reason] = []
    for piece in split(body):
        try:
            report = read_report(plan, piece)
            found.append((report.question, report.id, report.payload))
        except ReportError as error:
            found.append(error.reason)
    return found


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_batches_hold_what_the_reports_hold(mechanism):
    plan = plan_of(mechanism)
    body = b"".join(reports(plan, 200))
    assert BatchReader(plan)._read_canonical(body) is not None  # none of it is read again
    assert read_batches(plan, body) == read_individually(plan, body)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_damaged_bodies_are_read_as_report_by_report(mechanism):
    plan, rng = plan_of(mechanism), random.Random(2)
    sound = reports(plan, 40)
    for _ in range(300):
        pieces = rng.choices(sound, k=rng.randrange(1, 6))
        body = bytearray(b"".join(pieces))
        for _ in range(rng.randrange(3)):
            at, what = rng.randrange(len(body)), rng.randrange(3)
            if what == 0:
                body[at] = rng.randrange(256)
            elif what == 1:
                del body[at : at + rng.randrange(1, 4)]
            else:
                body[at:at] = rng.randbytes(2)
        try:
            expected: object = read_individually(plan, bytes(body))
        except ReportError as error:
            expected = error.reason
        try:
            found: object = read_batches(plan, bytes(body))
        except ReportError as error:
            found = error.reason
        assert found == expected


def test_reports_of_another_plan_are_rejected_individually():
    plan, other = plan_of(MECHANISMS[0]), plan_of(MECHANISMS[0], 2.0)
    body = b"".join([reports(plan, 1)[0], reports(other, 1)[0], reports(plan, 2)[1]])
    assert [each if isinstance(each, Reason) else "sound" for each in read_batches(plan, body)] == [
        "sound",
        Reason.WRONG_PLAN,
        "sound",
    ]


@pytest.mark.slow
def test_a_large_body_takes_little_memory():
    plan = plan_of(MECHANISMS[1])
    body = b"".join(reports(plan, 200)) * 100
    tracemalloc.start()
    BatchReader(plan).read(body)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * len(body)


def test_an_empty_body_is_malformed():
    with pytest.raises(ReportError) as caught:
        BatchReader(plan_of(MECHANISMS[0])).read(b"")
    assert caught.value.reason is Reason.MALFORMED


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 64, 300])
def test_marks_differ_wherever_a_payload_does(size):
    rng = np.random.default_rng(3)
    payload = rng.integers(0, 256, (1, size), np.uint8)
    others = np.repeat(payload, 8 * size, axis=0)
    bits = np.unpackbits(others, axis=1)
    bits[np.arange(8 * size), np.arange(8 * size)] ^= 1  # each single bit
    random_ones = rng.integers(0, 256, (2000, size), np.uint8)
    everything = np.unique(np.concatenate([payload, np.packbits(bits, axis=1), random_ones]), axis=0)
    assert len(np.unique(compute_marks(everything), axis=0)) == len(everything)


def test_marks_are_the_same_in_every_release():
    # marks are stored: with another hash, repeated reports would be rejected as reused ids
    payload = np.arange(11, dtype=np.uint8)[None]
    assert compute_marks(payload).tobytes().hex() == "95e2ec4962f9744d"
    assert compute_marks(np.zeros((1, 1), np.uint8)).tobytes().hex() == "00e915450a2e6a90"
