"""The intake: each report is checked independently, counted once, or rejected and counted by reason."""

from collections import Counter
from collections.abc import Sequence

import msgpack
import numpy as np
import pytest

from encoders.errors import Reason, ReportError
from encoders.randomness import SystemEntropy
from encoders.report import Report, pack
from encoders.survey import Plan
from ldp_aggregator.collector.intake import Intake
from ldp_aggregator.stores import Batch, MarksById, MemoryStore, StoreError
from ldp_aggregator.stores.store import count_reports
from tests.ldp_aggregator.collector.conftest import outcomes_of
from tests.support.servers import wait_for


def make(plan: Plan, question: int = 0, value: int = 1, number: int = 0) -> Report:
    """Make a report as a device does, with a given id."""
    payload = plan.questions[question].mechanism.perturb(value, SystemEntropy())
    return Report(bytes.fromhex(plan.digest), question, number.to_bytes(16, "big"), payload)


def two_of_one_id(plan: Plan) -> tuple[bytes, bytes]:
    one = other = pack(make(plan, number=1, value=0))
    while other == one:
        other = pack(make(plan, number=1, value=3))
    return one, other


def counted(store: MemoryStore) -> int:
    return count_reports(store.totals("sleep"))


def test_the_counters_of_a_body_are_the_tally_of_its_reports(plan, store):
    sent = [make(plan, number % 2, number % 4, number) for number in range(100)]
    assert outcomes_of(plan, store, b"".join(map(pack, sent))) == ["recorded"] * 100
    for question in plan.questions:
        payloads = [report.payload for report in sent if report.question == question.index]
        matrix = np.frombuffer(b"".join(payloads), np.uint8).reshape(len(payloads), -1)
        total = store.totals("sleep")[question.key]
        assert total.n == len(payloads)
        assert total.cells.tolist() == question.mechanism.tally(matrix).tolist()


def test_support_counters_count_recorded_reports_once(plan, store):
    sent = [make(plan, number % 2, number % 4, number) for number in range(100)]
    intake = Intake(plan, store)
    intake.record_body(b"".join(map(pack, sent[:50])))
    intake.record_body(b"".join(map(pack, sent)))
    intake.flush()
    for question in plan.questions:
        bits, total = question.mechanism.support_counters, store.totals("sleep").get(question.support_key)
        payloads = [report.payload for report in sent if report.question == question.index]
        matrix = np.frombuffer(b"".join(payloads), np.uint8).reshape(len(payloads), -1)
        assert (total is None) == (bits is None)
        if bits and total:
            assert (total.n, total.cells.tolist()) == (0, bits.count(matrix).tolist())
    assert any(question.mechanism.support_counters for question in plan.questions)
    assert counted(store) == 100


def test_an_error_of_the_support_counters_affects_no_response(plan, store, monkeypatch):
    intake, record = Intake(plan, store), store.record

    def only_reports(batches: list[Batch]) -> list[MarksById]:
        if not all(len(batch.ids) for batch in batches):
            raise StoreError("gone")
        return record(batches)

    monkeypatch.setattr(store, "record", only_reports)
    intake._record = only_reports
    for number in range(20):
        (outcome,) = intake.record_body(pack(make(plan, number=number)))
        assert outcome.status == "recorded"
    intake.flush()
    assert counted(store) == 20


def test_a_flush_writes_the_support_counters_of_the_last_reports(plan, store, monkeypatch):
    monkeypatch.setattr("ldp_aggregator.collector.intake.PAYLOAD_SECONDS", 0.05)
    question = next(each for each in plan.questions if each.mechanism.support_counters)
    for number in range(2):
        Intake(plan, store).record_body(pack(make(plan, question.index, number=number)))
    wait_for(lambda: question.support_key in store.totals("sleep"))


def test_the_same_bytes_again_are_duplicates(plan, store):
    one, two = pack(make(plan, number=1)), pack(make(plan, number=2))
    assert outcomes_of(plan, store, one) == ["recorded"]
    again = ["duplicate", "recorded", "duplicate", "duplicate"]
    assert outcomes_of(plan, store, one + two + one + two) == again
    assert counted(store) == 2
    assert store.rejections("sleep") == {}


def test_different_bytes_under_a_used_id_are_refused(plan, store):
    one, other = two_of_one_id(plan)
    assert outcomes_of(plan, store, one) == ["recorded"]
    assert outcomes_of(plan, store, other) == ["id-reused"]
    fresh = pack(make(plan, number=2))
    assert outcomes_of(plan, store, other + fresh + one) == ["id-reused", "recorded", "duplicate"]
    assert counted(store) == 2
    assert store.rejections("sleep") == {"id-reused": 2}


def test_of_one_id_in_a_body_the_first_report_is_counted(plan, store):
    one, other = two_of_one_id(plan)
    known, fresh = pack(make(plan, number=2)), pack(make(plan, number=3))
    assert outcomes_of(plan, store, known) == ["recorded"]
    expected = ["duplicate", "recorded", "id-reused", "duplicate", "recorded"]
    assert outcomes_of(plan, store, known + one + other + one + fresh) == expected
    assert outcomes_of(plan, store, other + one + other) == ["id-reused", "duplicate", "id-reused"]
    assert counted(store) == 3


@pytest.mark.slow
def test_a_report_repeated_within_a_body_is_sent_to_the_store_once(plan, store, monkeypatch):
    asked: list[int] = []
    record = store.record

    def record_and_note(batches: Sequence[Batch]) -> list[MarksById]:
        asked.extend(len(batch.ids) for batch in batches if len(batch.ids))
        return record(batches)

    monkeypatch.setattr(store, "record", record_and_note)
    body = pack(make(plan)) * 20_000
    outcomes = Intake(plan, store).record_body(body) + Intake(plan, store).record_body(body)
    assert Counter(outcome.status for outcome in outcomes) == {"recorded": 1, "duplicate": 39_999}
    assert asked == [1, 1]


def bad_reports(plan: Plan) -> list[tuple[str, bytes, Reason]]:
    good = make(plan)
    digest, payload = good.plan_digest, good.payload
    wide = plan.questions[1].mechanism
    return [
        ("another plan", pack(Report(bytes(32), 0, good.id, payload)), Reason.WRONG_PLAN),
        ("no such question", pack(Report(digest, 2, good.id, payload)), Reason.UNKNOWN_QUESTION),
        ("index out of range", pack(Report(digest, 0, good.id, b"\x04")), Reason.BAD_PAYLOAD),
        ("payload too long", pack(Report(digest, 0, good.id, payload + b"\0")), Reason.BAD_PAYLOAD),
        ("padding", pack(Report(digest, 1, good.id, b"\xff" * wide.payload_bytes)), Reason.BAD_PAYLOAD),
        ("oversized", pack(Report(digest, 0, good.id, bytes(5000))), Reason.TOO_LARGE),
        ("short id", pack(Report(digest, 0, b"id", payload)), Reason.MALFORMED),
        ("version 2", msgpack.packb([2, digest, 0, good.id, payload]), Reason.MALFORMED),
        ("text for bytes", msgpack.packb([1, digest, 0, "x" * 16, payload]), Reason.MALFORMED),
        ("a boolean index", msgpack.packb([1, digest, False, good.id, payload]), Reason.MALFORMED),
        ("a nested payload", msgpack.packb([1, digest, 0, good.id, [payload]]), Reason.MALFORMED),
        ("a map inside", msgpack.packb([1, digest, 0, good.id, {}]), Reason.MALFORMED),
        ("a long form", pack(good).replace(b"\x01\xc4", b"\xcc\x01\xc4", 1), Reason.MALFORMED),
    ]


def test_every_bad_report_is_rejected_with_its_reason_and_not_counted(plan, store):
    expected: dict[str, int] = {}
    for name, report, reason in bad_reports(plan):
        assert outcomes_of(plan, store, report) == [reason], name
        expected[reason] = expected.get(reason, 0) + 1
    assert counted(store) == 0
    assert store.rejections("sleep") == expected


def test_bad_reports_do_not_affect_good_ones_in_the_same_body(plan, store):
    bad = [report for _, report, _ in bad_reports(plan)]
    body = b"".join(pack(make(plan, number=number)) + report for number, report in enumerate(bad))
    outcomes = outcomes_of(plan, store, body)
    assert outcomes[::2] == ["recorded"] * len(bad)
    assert "recorded" not in outcomes[1::2]
    assert counted(store) == len(bad)


@pytest.mark.parametrize(
    "damage",
    [
        lambda body: b"",
        lambda body: body[:-1],
        lambda body: body + b"\x95",
        lambda body: b"not a report",
        lambda body: b'{"json": 1}',
        lambda body: b"\x81\x01\x02",
        lambda body: b"\x82\x01\x02\x01\x03",
        lambda body: b"\x95" * 3000,
        lambda body: body + b"\xdf\xff\xff\xff\xff",
    ],
)
def test_a_body_that_cannot_be_divided_counts_one_rejection_only(plan, store, damage):
    body = pack(make(plan, number=1)) + pack(make(plan, number=2))
    intake = Intake(plan, store)
    with pytest.raises(ReportError) as caught:
        intake.record_body(damage(body))  # type: ignore[operator]
    intake.flush()
    assert caught.value.reason is Reason.MALFORMED
    assert counted(store) == 0
    assert store.rejections("sleep") == {"malformed": 1}


def test_rejections_are_buffered_until_the_store_can_be_used(plan, store, monkeypatch):
    add_rejections = store.add_rejections

    def away(*_: object) -> None:
        raise StoreError("away")

    monkeypatch.setattr("ldp_aggregator.collector.intake.REJECTION_SECONDS", 0.01)
    monkeypatch.setattr(store, "add_rejections", away)
    intake = Intake(plan, store)
    good, other = make(plan, number=1), make(plan, number=2)
    body = pack(good) + pack(Report(bytes(32), 0, other.id, other.payload))
    for _ in range(3):
        assert [outcome.status for outcome in intake.record_body(body)][1] == "rejected"
        intake.flush()
    monkeypatch.setattr(store, "add_rejections", add_rejections)
    wait_for(lambda: store.rejections("sleep") == {"wrong-plan": 3})
    assert counted(store) == 1
