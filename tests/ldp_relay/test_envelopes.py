"""Envelopes: each person answers all questions, and nothing shows which answers are of one person."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from dataclasses import replace
from itertools import accumulate, combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2, poisson

pytest.importorskip("cryptography.hazmat.primitives.hpke")

from encoders.errors import LdpError, Reason, ReportError
from encoders.randomness import SystemEntropy
from encoders.survey.randomise import randomise_all, read_report
from encoders.survey.sealing import SealError, column_bytes, outer_bytes, seal_envelope
from encoders.survey.unsealing import most_records, open_inner, open_outer
from ldp_aggregator.collector.sealed_reports import open_messages
from ldp_relay import held_messages, release
from ldp_relay.held_messages import HeldMessages, Outcome, Passage
from ldp_relay.release import OrderError, order_columns, require_independent
from tests.support.relays import (
    ALL,
    COLLECTOR,
    RELAY,
    ROW,
    RelayedSite,
    inner_message,
    relay,
    relayed_plan,
    relayed_reports,
    send,
)
from tests.support.servers import wait_for
from tools.endurance.relay_trials import kills

PLAN = relayed_plan(ALL)
SIZES = [7, 9, 8]
BATCH = 12
OPEN = 1 << 32


class RecordingSource(SystemEntropy):
    """Keeps what was taken."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[bytes] = []

    def take(self, size: int) -> bytes:
        self.taken.append(super().take(size))
        return self.taken[-1]


# -- what a device sends ------------------------------------------------------------------------


def test_every_question_is_answered_with_fresh_bytes_and_no_byte_draws_a_question():
    source = RecordingSource()
    made = randomise_all(PLAN, PLAN.encode(ROW, None), source)
    assert [each.question.index for each in made] == [0, 1]
    sizes = [size for each in PLAN.questions for size in (16, each.mechanism.random_bytes)]
    assert [len(each) for each in source.taken] == sizes
    ids = [read_report(PLAN, each.report).id for each in made]
    assert ids == [source.taken[0], source.taken[2]]


def test_no_question_is_drawn():
    with pytest.raises(LdpError, match="answers all questions"):
        PLAN.draw(RecordingSource())
    assert [PLAN.question_probability(each) for each in PLAN.questions] == [1, 1]


def test_all_envelopes_have_one_size_and_the_messages_of_a_column_too():
    rows = [{"nights": nights, "rested": rested} for nights in ("none", None) for rested in (True, None)]
    for row in rows:
        reports = relayed_reports(PLAN, **row)
        envelope = seal_envelope(PLAN, reports)
        assert len(envelope) == outer_bytes(PLAN) == sum(column_bytes(PLAN)) + 49
        assert [len(each) + 2 + 49 for each in reports] == column_bytes(PLAN)


def test_columns_have_lengths_of_their_own_from_the_device_to_the_collector():
    many = ", ".join(f'"{value}"' for value in range(300))
    long = f'[mechanism]\nfrequency = "OUE"\n[features.long]\nvalues = [{many}]\n'
    plan = relayed_plan(ALL + long)
    assert column_bytes(plan) == [109, 109, 146]
    people = [relayed_reports(plan, long="7") for _ in range(3)]
    envelopes = [seal_envelope(plan, reports, code) for reports, code in zip(people, CODES, strict=True)]
    assert [len(each) for each in envelopes] == [413, 429, 429]
    contents = [
        open_outer(plan, each, RELAY, has_code=bool(code)).removeprefix(code)
        for each, code in zip(envelopes, CODES, strict=True)
    ]
    opened = open_messages(plan, records_of(*contents), COLLECTOR)
    assert opened.reports == [report for reports in people for report in reports]
    assert (opened.columns, opened.refused) == ([0, 1, 2] * 3, [])


CODES = [b"", bytes(16), bytes(range(16))]


def test_the_seals_of_an_envelope_share_nothing_but_the_key_s_id():
    content = inner_message(PLAN, *relayed_reports(PLAN))
    first, second = (content[start : start + 33] for start in (0, column_bytes(PLAN)[0]))
    assert (first[0], first[1:] == second[1:]) == (second[0], False)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_half_an_envelope_is_not_sealed(count):
    with pytest.raises(SealError, match=f"sends 2 reports of this survey, not {count}"):
        seal_envelope(PLAN, (relayed_reports(PLAN) * 2)[:count])


def test_an_envelope_for_another_collector_is_refused_by_the_relay():
    other = replace(PLAN, relay=replace(PLAN.relay, collector_key=PLAN.relay.relay_key, relay_key=""))
    content = inner_message(PLAN, *relayed_reports(PLAN))
    assert len(content) == sum(column_bytes(other))
    envelope = seal_envelope(PLAN, relayed_reports(PLAN))
    start = column_bytes(PLAN)[0]
    for place in (0, start):
        opened = bytearray(open_outer(PLAN, envelope, RELAY))
        opened[place] ^= 1
        forged = _seal_outer(bytes(opened))
        with pytest.raises(SealError, match="another key than the collector's"):
            open_outer(PLAN, forged, RELAY)


def _seal_outer(content: bytes) -> bytes:
    from encoders.survey import sealing

    return sealing._seal(content, RELAY.public_key, sealing.RELAY_INFO + PLAN.digest_bytes)


# -- the orders ---------------------------------------------------------------------------------


def names(count: int) -> list[bytes]:
    return [held_messages.name_of(b"%d" % number) for number in range(count)]


@pytest.mark.slow
def test_the_places_of_two_columns_are_independent():
    """Chi-square of the place in one column against the place in another; false alarms: 1e-9 each."""
    cells, table = 10, np.zeros((3, 10, 10))
    count = 1000
    for _ in range(20):
        orders = order_columns(names(count), secrets.token_bytes(32), 3)
        places = [{name: place * cells // count for place, name in enumerate(order)} for order in orders]
        for number, (one, other) in enumerate(combinations(places, 2)):
            for name in names(count):
                table[number, one[name], other[name]] += 1
    expected = 20 * count / cells**2
    statistic = ((table - expected) ** 2 / expected).sum(axis=(1, 2))
    assert max(statistic) < chi2.isf(1e-9, (cells - 1) ** 2)


def test_an_order_depends_on_the_secret_the_column_and_the_names_alone():
    secret = secrets.token_bytes(32)
    orders = order_columns(names(300), secret, 4)
    assert order_columns(names(300)[::-1], secret, 4) == orders
    assert order_columns(names(300), secret, 2) == orders[:2]
    for one, other in combinations([*orders, *order_columns(names(300), secrets.token_bytes(32), 4)], 2):
        assert sum(map(bytes.__eq__, one, other)) <= 20
    assert all(sorted(each) == sorted(names(300)) for each in orders)
    assert all(each != sorted(each) for each in orders)


@pytest.mark.parametrize("common", [0, 20, 21, 1000])
def test_orders_that_agree_at_more_than_20_places_are_refused(common):
    order = names(1000)
    similar = order[:common] + order[common + 1 :] + order[common : common + 1]
    assert sum(map(bytes.__eq__, order, similar)) == common
    if common <= 20:
        require_independent([order[::-1], order, similar])
    else:
        with pytest.raises(OrderError):
            require_independent([order[::-1], order, similar])


# -- the relay's database -----------------------------------------------------------------------


@pytest.fixture
def held(tmp_path: Path) -> HeldMessages:
    return HeldMessages(tmp_path / "relay.db")


def content_of(person: int) -> bytes:
    """Return three messages that name their person and their column."""
    return b"".join((b"%d%04d" % (column, person)).ljust(size, b".") for column, size in enumerate(SIZES))


def cut(passage: Passage) -> list[list[bytes]]:
    body, records, start = passage.body, [], 0
    while start < len(body):
        records.append([])
        for size in SIZES:
            records[-1].append(body[start : start + size])
            start += size
    assert len(records) == passage.records
    return records


def hold(held: HeldMessages, count: int, first: int = 0) -> None:
    for person in range(first, first + count):
        assert held.hold("s", content_of(person), OPEN) is Outcome.NEW


def mark(held: HeldMessages, passage: Passage, rejected: tuple[int, ...] = (0, 0, 0)) -> None:
    recorded = 3 * passage.records - sum(rejected)
    outcomes = {"recorded": recorded, "duplicate": 0, "rejected": sum(rejected)}
    held.mark_passed_on(passage, outcomes, rejected)


def test_each_envelope_leaves_once_in_each_column_and_all_columns_together(held):
    assert len(content_of(7)) == sum(SIZES)
    hold(held, 30)
    assert held.release("s", BATCH, is_closed=False, hour=7) == 1
    records = []
    while passage := held.next_passage("s", 5, SIZES):
        records += cut(passage)
        mark(held, passage)
    assert len(records) == BATCH
    columns = list(zip(*records, strict=True))
    people = [[int(each[1:5]) for each in column] for column in columns]
    assert all(each[:1] == b"%d" % number for number, column in enumerate(columns) for each in column)
    assert set(people[0]) == set(people[1]) == set(people[2])
    assert len(set(people[0])) == BATCH
    assert len({tuple(each) for each in people}) == 3
    assert held.counts("s")["waiting"] == 30 - BATCH
    assert held.counts("s")["passed on, recorded"] == 3 * BATCH


def test_the_same_records_come_again_until_they_are_marked_and_after_a_restart(held, tmp_path):
    hold(held, 24)
    held.release("s", BATCH, is_closed=False, hour=7)
    mark(held, held.next_passage("s", 5, SIZES), (1, 0, 2))
    second = held.next_passage("s", 5, SIZES)
    assert (second.rejected, second.is_last) == ([1, 0, 2], False)
    held.close()
    again = HeldMessages(tmp_path / "relay.db")
    hold(again, 3, 24)
    assert again.next_passage("s", 5, SIZES) == second
    mark(again, second, (0, 4, 0))
    last = again.next_passage("s", 5, SIZES)
    assert (last.records, last.is_last, last.rejected) == (2, True, [1, 4, 2])
    mark(again, last)
    assert again.next_passage("s", 5, SIZES) is None
    assert again.batches("s") == [(7, BATCH, 4)]


def test_nothing_of_an_envelope_that_left_stays_but_its_name(held, tmp_path):
    hold(held, 24)
    held.release("s", BATCH, is_closed=False, hour=7)
    left = set()
    while passage := held.next_passage("s", 5, SIZES):
        left |= {int(each[0][1:5]) for each in cut(passage)}
        assert held.withdraw("s", content_of(next(iter(left))), OPEN) is Outcome.LEFT
        mark(held, passage)
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert {person for person in range(24) if content_of(person) not in files} == left
    assert held.hold("s", content_of(min(left)), OPEN) is Outcome.KNOWN


def test_each_batch_has_a_secret_of_its_own_until_it_has_left(held):
    hold(held, 40)
    held.release("s", BATCH, is_closed=False, hour=7)
    rows = held._database.execute("SELECT secret FROM batches").fetchall()
    assert len({secret for (secret,) in rows}) == len(rows) == 2
    assert {len(secret) for (secret,) in rows} == {32}


def test_the_secret_on_the_disk_gives_the_orders(held):
    """So they are the same after a restart, and those of another batch are not."""
    hold(held, 24)
    held.release("s", BATCH, is_closed=False, hour=7)
    [(secret,)] = held._database.execute("SELECT secret FROM batches").fetchall()
    records = cut(held.next_passage("s", BATCH, SIZES))
    sent = [[int(each[1:5]) for each in column] for column in zip(*records, strict=True)]
    people = {held_messages.name_of(content_of(person)): person for person in sent[0]}
    assert [[people[name] for name in order] for order in order_columns(list(people), secret, 3)] == sent


def test_two_processes_that_pass_on_the_same_records_lose_none(held, tmp_path):
    """A new relay may begin while one whose master was killed still waits for a collector's answer."""
    hold(held, 24)
    held.release("s", BATCH, is_closed=False, hour=7)
    relays, left = (held, HeldMessages(tmp_path / "relay.db")), set()
    while passages := [passage for each in relays if (passage := each.next_passage("s", 5, SIZES))]:
        assert passages[0] == passages[1]
        left |= {record[0] for record in cut(passages[0])}
        for each in relays:
            mark(each, passages[0], (1, 0, 0))
    assert len(left) == BATCH
    assert held.batches("s") == [(7, BATCH, 3)]
    assert held.counts("s")["passed on, recorded"] == 3 * BATCH - 3


def test_devices_do_not_wait_while_orders_are_computed(held, monkeypatch):
    hold(held, 24)
    held.release("s", BATCH, is_closed=False, hour=7)
    outcomes = []

    def compute(*parts):
        outcomes.append(held.hold("s", content_of(99), OPEN))
        return order_columns(*parts)

    monkeypatch.setattr(held_messages, "order_columns", compute)
    assert held.next_passage("s", 5, SIZES)
    assert outcomes == [Outcome.NEW]


def test_orders_that_are_not_independent_let_nothing_leave(held, monkeypatch):
    hold(held, 60)
    held.release("s", 30, is_closed=False, hour=7)
    monkeypatch.setattr(release.hmac, "new", lambda secret, _, digest: HMAC(secret, b"", digest))
    with pytest.raises(OrderError):
        held.next_passage("s", 5, SIZES)
    assert held.counts("s")["leaving"] == 30


HMAC = release.hmac.new
"""The real function: the mutant forgets the column."""


# -- the collector ------------------------------------------------------------------------------


def records_of(*envelopes: bytes) -> bytes:
    return b"".join(envelopes)


def test_a_message_in_the_column_of_another_question_is_refused_alone():
    first, second = relayed_reports(PLAN)
    swapped = relayed_plan(ALL.replace('"none", "some", "many", "other"', '"none", "some"'))
    assert len(set(column_bytes(swapped))) == 1  # so sizes do not give it away
    reports = relayed_reports(swapped)
    stuffed = inner_message(swapped, reports[1], reports[1])
    good = inner_message(swapped, *relayed_reports(swapped))
    opened = open_messages(swapped, records_of(good, stuffed), COLLECTOR)
    assert opened.refused == [(0, Reason.WRONG_QUESTION)]
    assert opened.columns == [0, 1, 1]
    assert len(opened.reports) == 3
    assert first != second


def test_a_body_that_is_not_whole_records_is_refused():
    body = inner_message(PLAN, *relayed_reports(PLAN))
    for wrong in (b"", body[: column_bytes(PLAN)[0]], body + body[:1]):
        with pytest.raises(ReportError, match=f"records of {len(body)} bytes"):
            open_messages(PLAN, wrong, COLLECTOR)


def test_a_request_has_at_most_a_thousand_messages():
    assert most_records(PLAN) == 500


# -- linking ------------------------------------------------------------------------------------

FOUR = ALL + "[features.a]\nvalues = [1, 2]\n[features.b]\nvalues = [1, 2]\n"


@pytest.mark.slow
def test_no_two_columns_of_a_record_are_linked(tmp_path):
    """60 devices answer 40 surveys of four questions, in one order; false alarms: 1e-9 for each pair."""
    found: Counter[tuple[str, int, int]] = Counter()
    plan = relayed_plan(FOUR)
    sizes = column_bytes(plan)
    ends = list(accumulate(sizes, initial=0))
    for number in range(40):
        held, owners = HeldMessages(tmp_path / f"{number}.db"), {}
        for person in range(60):
            reports = relayed_reports(plan, a=1, b=2)
            owners |= dict.fromkeys(reports, person)
            assert held.hold("s", inner_message(plan, *reports), OPEN) is Outcome.NEW
        held.release("s", 60, is_closed=True, hour=7)
        body = held.next_passage("s", 60, sizes).body
        records = [body[start : start + ends[-1]] for start in range(0, len(body), ends[-1])]
        columns = [
            [owners[open_inner(plan, each[ends[j] : ends[j + 1]], COLLECTOR, j)] for each in records]
            for j in range(4)
        ]
        for one, other in combinations(range(4), 2):
            pairs = list(zip(columns[one], columns[other], strict=True))
            found["the same place", one, other] += sum(a == b for a, b in pairs)
            found["the next place", one, other] += sum(a[0] == b[1] for a, b in pairwise(pairs))
            found["the mirrored place", one, other] += sum(
                a == b for a, b in zip(columns[one], columns[other][::-1], strict=True)
            )
        for column in columns:  # and no column leaves in the order of arrival
            found["the order of arrival", columns.index(column), 0] += sum(
                a == place for place, a in enumerate(column)
            )
        held.close()
    assert max(found.values()) < poisson.isf(1e-9, 40), found


# -- a relay and a collector that run -----------------------------------------------------------

HOUR = 0.5


@pytest.mark.slow
def test_every_envelope_is_counted_once_in_each_question(tmp_path):
    site = RelayedSite(tmp_path, survey=ALL)
    site.settings("http://127.0.0.1:9")
    with site.collector() as (base, _), relay(site.settings(base), HOUR, tmp_path / "log"):
        messages = site.send(50)
        assert [send(site.url, each)[0] for each in messages[:5]] == [202] * 5  # sent again
        assert send(site.url, messages[0][:-1])[0] == 400
        wait_for(lambda: site.counts().get("passed on, recorded") == 40)
        time.sleep(3 * HOUR)
        assert site.counts()["waiting"] == 30
    assert site.counted_by_question() == [20, 20]


@pytest.mark.slow
def test_every_envelope_is_counted_once_through_kills_of_devices_relay_and_collector(tmp_path):
    """`make endurance` does it 200 times."""
    assert "each counted once" in kills(tmp_path, 4, ALL)
