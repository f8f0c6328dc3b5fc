"""Archives are counted like the same bytes in the intake, for all chunk sizes and with spilling."""

import gzip
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.synthetic_archives import SURVEY, count_by_intake, make_plan, make_reports
from encoders.errors import ReportError
from encoders.randomness import FastStream
from encoders.report import Report, pack, unpack
from encoders.survey import Plan, read_survey

CHUNKS = [53, 64, 1 << 20]
"""Chunks: smaller than a report, about as large, and larger than all."""


def changed(report: bytes, **fields: Any) -> bytes:
    parts = unpack(report)
    fields = {"plan_digest": parts.plan_digest, "question": parts.question, "id": parts.id} | fields
    return pack(Report(**({"payload": parts.payload} | fields)))


def odd_pieces(plan: Plan, rng: np.random.Generator) -> list[bytes]:
    """Return one parsable piece for each reason of rejection."""
    report, other = make_reports(plan, 2, seed=int(rng.integers(1 << 30)))
    return [
        changed(report, plan_digest=rng.bytes(32)),
        changed(report, question=200),
        changed(report, payload=b""),
        changed(report, payload=b"\xff" * len(unpack(report).payload)),
        changed(report, payload=other),
        changed(report, payload=bytes(5000)),
        changed(report, payload=rng.bytes(300)),
        msgpack.packb([1, [2, [3]], {"a": 1}, None, b"x"]),
        b"\x95" + b"\x01" * 4 + b"\x05",
        report[:36] + b"\xcc" + report[36:],  # the index in two bytes: not canonical
        msgpack.packb([2, *msgpack.unpackb(report)[1:]]),
    ]


def body(plan: Plan, seed: int, count: int = 60) -> list[bytes]:
    """Mix valid and repeated reports, reused ids and pieces that are rejected."""
    rng = np.random.default_rng(seed)
    good = make_reports(plan, count, seed)
    reused = [pack_other(plan, report, rng) for report in good[:10]]
    pieces = [*good, *good[5:15], *good[:3], *reused, *reused[:4], *odd_pieces(plan, rng)]
    return [pieces[place] for place in rng.permutation(len(pieces))]


def pack_other(plan: Plan, report: bytes, rng: np.random.Generator) -> bytes:
    """Return another report of the same question with the same id; by chance it may be equal."""
    question = plan.questions[unpack(report).question]
    codes = rng.integers(0, question.domain, 1)
    payload = question.mechanism.perturb_many(codes, FastStream(int(rng.integers(1 << 30))))
    return changed(report, payload=payload.tobytes())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    ("buffer", "section"), [(1 << 30, 1 << 30), (100, 1 << 30), (1 << 30, 300), (100, 300)]
)
def test_an_archive_is_counted_like_a_body(plan, read, narrow, seed, buffer, section):
    pieces = body(plan, seed)
    first, second = b"".join(pieces[:50]), b"".join([*pieces[50:], *pieces[10:20]])
    expected = count_by_intake(plan, first, second).to_json()
    narrow(CHUNKS[seed % len(CHUNKS)], buffer, section)
    assert read(plan, first, second).to_json() == expected
    assert read(plan, first, gzip.compress(second[:99]) + gzip.compress(second[99:])).to_json() == expected


@pytest.mark.slow
@pytest.mark.parametrize("section", range(150, 600, 37))
def test_a_payload_that_looks_like_a_report_is_not_counted(read, narrow, section):
    plan = make_plan(
        more="[features.wide]\nvalues = ["
        + ", ".join(f'"{each}"' for each in range(900))
        + ']\n[mechanism]\nfrequency = "OUE"\n'
    )
    small = min(make_reports(plan, 60, seed=5), key=len)
    wide = [each for each in make_reports(plan, 60, seed=6) if len(each) > 2 * len(small)]
    hiding = [changed(each, payload=_hide(small, unpack(each).payload)) for each in wide]
    data = b"".join(hiding)
    expected = count_by_intake(plan, data)
    assert expected.total() == len(hiding)
    narrow(1 << 20, section=section)
    assert read(plan, data).to_json() == expected.to_json()


def _hide(report: bytes, payload: bytes) -> bytes:
    return report + payload[len(report) :]


@pytest.mark.slow
def test_of_two_reports_under_one_id_the_first_counts(plan, read, narrow):
    rng = np.random.default_rng(3)
    good = make_reports(plan, 300)
    other = [pack_other(plan, report, rng) for report in good]
    bodies = [b"".join(each) for each in (good, other, [*other, *good])]
    expected = count_by_intake(plan, *bodies).to_json()
    assert read(plan, *bodies).to_json() == expected
    narrow(1 << 20, buffer=500)
    assert read(plan, *bodies).to_json() == expected


@pytest.mark.slow
def test_one_id_for_everything_counts_once_per_question(plan, read, narrow):
    data = b"".join(changed(report, id=bytes(16)) for report in make_reports(plan, 300))
    expected = count_by_intake(plan, data)
    narrow(1000, buffer=200)
    snapshot = read(plan, data)
    assert snapshot.to_json() == expected.to_json()
    assert {snapshot.totals[question.key].n for question in plan.questions} == {1}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_corrupted_bytes_give_the_same_counts_for_every_size_of_chunk_and_section(plan, read, narrow, seed):
    rng = np.random.default_rng(seed)
    good = make_reports(plan, 30, seed)
    data = bytearray(b"".join(good[1:]))
    for _ in range(int(rng.integers(1, 6))):
        at, kind = int(rng.integers(len(data))), rng.integers(3)
        if kind == 0:
            data[at] = int(rng.integers(256))
        elif kind == 1:
            del data[at : at + int(rng.integers(1, 90))]
        else:
            data[at:at] = rng.bytes(int(rng.integers(1, 90)))
    data = good[0] + bytes(data)
    messages = []
    whole = read(plan, data, warn=messages.append)
    for chunk, section in (
        (53, 1 << 30),
        (100, 1 << 30),
        (777, 1 << 30),
        (777, 100),
        (100, 400),
        (1 << 20, 700),
    ):
        narrow(chunk, section=section)
        assert read(plan, data, warn=lambda _: None).to_json() == whole.to_json()
    try:
        assert whole.to_json() == count_by_intake(plan, data).to_json()
        assert not messages
    except ReportError:  # a collector refuses the whole body; an archive is counted except for the damage
        assert messages


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.lists(st.integers(0, 19), min_size=1, max_size=60), cut=st.integers(0, 60))
def test_repeated_reports_count_once_in_any_order(plan, read, order, cut):
    reports = make_reports(plan, 20)
    pieces = [reports[number] for number in order]
    bodies = [b"".join(part) for part in (pieces[:cut], pieces[cut:]) if part]
    snapshot = read(plan, *bodies)
    assert snapshot.to_json() == count_by_intake(plan, *bodies).to_json()
    assert snapshot.total() == len(set(order))


@pytest.mark.slow
def test_question_indices_of_every_width_are_read(read):
    more = "".join(f'[features.f{number}]\nvalues = ["u", "v"]\n' for number in range(300))
    plan = make_plan(more=more)
    data = b"".join(make_reports(plan, 1500))
    assert read(plan, data).to_json() == count_by_intake(plan, data).to_json()


def test_a_survey_about_numbers_is_counted_too(read):
    more = '[features.number]\nrange = [0, 1]\n[mechanism]\nfrequency = "SHE"\nnumeric = "laplace"\n'
    plan = read_survey(SURVEY.format(survey="numbers", many='"u", "v"') + more).compile()
    data = b"".join([*make_reports(plan, 400), *odd_pieces(plan, np.random.default_rng(1))])
    assert read(plan, data).to_json() == count_by_intake(plan, data).to_json()
