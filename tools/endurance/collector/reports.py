"""Random reports of one survey, their exact totals, and checks of a store against them."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import redis

from encoders.randomness import FastStream
from encoders.report import ID_BYTES, Report, pack, unpack
from encoders.survey import Plan, read_survey
from ldp_aggregator.stores import Total, open_store
from ldp_aggregator.stores.shards import join_shards
from ldp_aggregator.stores.sqlite_buckets import read_buckets
from ldp_aggregator.stores.store import REPORTS_PER_READ, byte_rows
from tools.endurance.collector.posting import PATIENCE

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


def totalled(plan: Plan, reports: Sequence[bytes]) -> Sent:
    """Return reports with their totals."""
    made = Sent(list(reports))
    for each in map(unpack, reports):
        question = plan.questions[each.question]
        total = Total(1, np.array(question.mechanism.contribution(each.payload), dtype=np.int64))
        made.totals[question.key] = (
            made.totals[question.key] + total if question.key in made.totals else total
        )
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
            assert cells.sum() == n * int(str(question.mechanism.parameters.get("size", 1)))


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
        return join_shards(store.totals("trial"))
    finally:
        store.close()


def ids_of(url: str, plan: Plan) -> set[bytes]:
    """Return the ids of all counted reports."""
    store = open_store(url)
    try:
        return {
            report_id
            for counter in store.totals(plan.id)
            for ids, _ in store.report_ids(plan.id, counter)
            for report_id in byte_rows(ids)
        }
    finally:
        store.close()


def other_report(plan: Plan, report: bytes, rng: random.Random) -> bytes:
    """Return a different valid report with the same id."""
    read, stream = unpack(report), FastStream(rng.getrandbits(64))
    question = plan.questions[read.question]
    while True:
        payload = question.mechanism.perturb(rng.randrange(question.domain), stream)
        if payload != read.payload:
            return pack(Report(read.plan_digest, read.question, read.id, payload))
