"""The wire format is strict: one encoding per report, and a stable reason for each refusal."""

import random
from collections.abc import Callable

import msgpack
import pytest

from encoders.errors import Reason, ReportError
from encoders.report import MAX_REPORT_BYTES, OVERHEAD_BYTES, Report, iterate_reports, pack, split, unpack

DIGEST, ID = bytes(range(32)), bytes(range(100, 116))
GOOD = Report(DIGEST, 7, ID, b"\x01\x02\x03")
FIELDS = [1, DIGEST, 7, ID, b"\x01\x02\x03"]


def refused(call: Callable[[bytes], object], data: bytes) -> Reason:
    with pytest.raises(ReportError) as caught:
        call(data)
    return caught.value.reason


@pytest.mark.parametrize(
    "question", [0, 127, 128, 255, 256, 65535, 65536, (1 << 32) - 1, 1 << 32, (1 << 64) - 1]
)
@pytest.mark.parametrize("length", [0, 1, 255, 256, 4000])
def test_packed_report_unpacks_to_itself(question, length):
    report = Report(DIGEST, question, ID, bytes(length))
    data = pack(report)
    assert unpack(data) == report
    assert len(data) <= length + OVERHEAD_BYTES or question > 65535
    assert split(data * 3) == [data] * 3


def test_a_report_s_bytes_are_pinned():
    expected = f"95 01 c420 {DIGEST.hex()} 07 c410 {ID.hex()} c403 010203"
    assert pack(GOOD) == bytes.fromhex(expected.replace(" ", ""))


def test_a_report_of_exactly_the_limit_is_read_and_one_byte_more_is_not():
    room = MAX_REPORT_BYTES - len(pack(Report(DIGEST, 0, ID, bytes(300)))) + 300
    assert len(pack(Report(DIGEST, 0, ID, bytes(room)))) == MAX_REPORT_BYTES
    unpack(pack(Report(DIGEST, 0, ID, bytes(room))))
    assert refused(unpack, pack(Report(DIGEST, 0, ID, bytes(room + 1)))) is Reason.TOO_LARGE
    assert refused(unpack, bytes(MAX_REPORT_BYTES + 1)) is Reason.TOO_LARGE


def field(index: int, value: object) -> bytes:
    return bytes(msgpack.packb([*FIELDS[:index], value, *FIELDS[index + 1 :]]))


WRONG_FIELDS = {
    "version 0": (0, 0),
    "version 2": (0, 2),
    "version true": (0, True),
    "version float": (0, 1.0),
    "version text": (0, "1"),
    "version none": (0, None),
    "digest short": (1, DIGEST[:-1]),
    "digest long": (1, DIGEST + b"x"),
    "digest empty": (1, b""),
    "digest text": (1, DIGEST.decode()),
    "digest list": (1, list(DIGEST)),
    "question negative": (2, -1),
    "question -2^63": (2, -(1 << 63)),
    "question true": (2, True),
    "question float": (2, 7.0),
    "question none": (2, None),
    "question bytes": (2, b"\x07"),
    "question text": (2, "7"),
    "question list": (2, [7]),
    "id short": (3, ID[:-1]),
    "id long": (3, ID + b"x"),
    "id text": (3, ID[:16].decode("latin-1")),
    "id integer": (3, 5),
    "payload text": (4, "abc"),
    "payload empty text": (4, ""),
    "payload none": (4, None),
    "payload list": (4, [1]),
    "payload empty list": (4, []),
    "payload empty map": (4, {}),
    "payload map": (4, {"a": 1}),
    "payload integer": (4, 3),
    "payload extension": (4, msgpack.ExtType(5, b"abc")),
    "payload empty extension": (4, msgpack.ExtType(5, b"")),
    "payload timestamp": (4, msgpack.Timestamp(1, 0)),
}


@pytest.mark.parametrize("name", WRONG_FIELDS)
def test_a_field_of_another_type_or_range_is_malformed(name):
    assert refused(unpack, field(*WRONG_FIELDS[name])) is Reason.MALFORMED


HEAD, DIGEST_BIN, ID_BIN = b"\x95\x01", b"\xc4\x20" + DIGEST, b"\xc4\x10" + ID
REST = DIGEST_BIN + b"\x07" + ID_BIN + b"\xc4\x03\x01\x02\x03"
WRONG_SHAPES = {
    "empty": b"",
    "nothing but a header": b"\x95",
    "nil": b"\xc0",
    "the byte msgpack never uses": b"\xc1",
    "a number": b"\x01",
    "a map": b"\x81\x01" + HEAD + REST,
    "a map with a key twice": b"\x82\x01\x01\x01\x01",
    "a map with an array as key": b"\x81\x90\x01",
    "an empty array": b"\x90",
    "four fields": bytes(msgpack.packb(FIELDS[:4])),
    "six fields": bytes(msgpack.packb([*FIELDS, 1])),
    "nested": b"\x91" + pack(GOOD),
    "nested deep": b"\x91" * 4000 + b"\x01",
    "nested deeper than the buffer": b"\x95" * 4000,
    "array 16": b"\xdc\x00\x05\x01" + REST,
    "array 32": b"\xdd\x00\x00\x00\x05\x01" + REST,
    "array 32 of 2^32 - 1": b"\xdd\xff\xff\xff\xff\x01" + REST,
    "map 32 of 2^32 - 1": b"\xdf\xff\xff\xff\xff\x01" + REST,
    "version as uint 8": b"\x95\xcc\x01" + REST,
    "version as uint 64": b"\x95\xcf\x00\x00\x00\x00\x00\x00\x00\x01" + REST,
    "version as int 8": b"\x95\xd0\x01" + REST,
    "digest as bin 16": HEAD + b"\xc5\x00\x20" + REST[2:],
    "digest as bin 32": HEAD + b"\xc6\x00\x00\x00\x20" + REST[2:],
    "digest as str 8": HEAD + b"\xd9\x20" + REST[2:],
    "digest as extension": HEAD + b"\xc7\x20\x05" + REST[2:],
    "question as uint 16": HEAD + DIGEST_BIN + b"\xcd\x00\x07" + ID_BIN + b"\xc4\x00",
    "question as int 64": HEAD + DIGEST_BIN + b"\xd3" + bytes(7) + b"\x07" + ID_BIN + b"\xc4\x00",
    "payload as bin 16": HEAD + DIGEST_BIN + b"\x07" + ID_BIN + b"\xc5\x00\x03abc",
    "payload as fixstr": HEAD + DIGEST_BIN + b"\x07" + ID_BIN + b"\xa3abc",
    "payload as broken utf-8": HEAD + DIGEST_BIN + b"\x07" + ID_BIN + b"\xa1\xff",
    "payload that declares 4 GiB": HEAD + DIGEST_BIN + b"\x07" + ID_BIN + b"\xc6\xff\xff\xff\xffabc",
    "payload that declares 5 kB": HEAD + DIGEST_BIN + b"\x07" + ID_BIN + b"\xc5\x13\x88abc",
    "a trailing byte": pack(GOOD) + b"\x00",
    "a trailing nil": pack(GOOD) + b"\xc0",
    "two reports": pack(GOOD) * 2,
}


@pytest.mark.parametrize("name", WRONG_SHAPES)
def test_another_shape_or_spelling_is_malformed(name):
    assert refused(unpack, WRONG_SHAPES[name]) is Reason.MALFORMED


def test_every_truncation_is_malformed():
    data = pack(GOOD)
    for end in range(len(data)):
        assert refused(unpack, data[:end]) is Reason.MALFORMED
        assert refused(split, data[:end]) is Reason.MALFORMED
    for end in range(1, len(data)):
        assert refused(split, data + data[:end]) is Reason.MALFORMED


def test_an_error_never_repeats_the_report():
    secret = b"secret-payload"
    for data in (field(4, secret.decode()), field(3, secret), pack(Report(DIGEST, 1, ID, secret)) + secret):
        with pytest.raises(ReportError) as caught:
            unpack(data)
        assert "secret" not in str(caught.value)


def test_bodies_are_split_into_their_reports_in_order():
    reports = [pack(Report(DIGEST, index, ID, bytes(index * 7))) for index in range(300)]
    assert split(b"".join(reports)) == reports


def test_splitting_does_not_check_the_reports():
    strangers = [
        field(0, 9),
        field(4, ["a", {}]),
        pack(Report(DIGEST, 0, ID, bytes(4090))),
        pack(Report(DIGEST, 0, ID, bytes(5000))),
        pack(Report(DIGEST, 0, ID, bytes(70_000))),
    ]
    assert split(b"".join([pack(GOOD), *strangers, pack(GOOD)])) == [pack(GOOD), *strangers, pack(GOOD)]


@pytest.mark.parametrize("name", ["empty", "nil", "a number", "a map", "nested", "array 16", "six fields"])
def test_a_body_of_something_else_is_malformed(name):
    assert refused(split, WRONG_SHAPES[name]) is Reason.MALFORMED
    if WRONG_SHAPES[name]:
        assert refused(split, pack(GOOD) + WRONG_SHAPES[name]) is Reason.MALFORMED


@pytest.mark.parametrize(
    "body", [b"\x95" * 100_000, b"\x95" + b"\x91" * 100_000, b"\x95\xdf\xff\xff\xff\xff", b"\x95\xc1"]
)
def test_a_hostile_body_is_malformed(body):
    assert refused(split, body) is Reason.MALFORMED


def outcome(call: Callable[[bytes], object], data: bytes) -> object:
    """Return what a call returns, or the reason it gives; anything else it raises fails the test."""
    try:
        return call(data)
    except ReportError as error:
        return error.reason


@pytest.mark.slow
def test_mutated_reports_are_refused_or_canonical():
    # 20,000 mutations, seeded: whatever is read packs to the very same bytes again.
    rng, read = random.Random(20260), 0
    for _ in range(20_000):
        question, payload = rng.choice([0, 7, 200, 70_000]), rng.randbytes(rng.randrange(40))
        data = mutate(rng, pack(Report(DIGEST, question, ID, payload)))
        report, pieces = outcome(unpack, data), outcome(split, data)
        assert report is Reason.MALFORMED or (isinstance(report, Report) and pack(report) == data)
        assert pieces is Reason.MALFORMED or (isinstance(pieces, list) and b"".join(pieces) == data)
        assert isinstance(report, Reason) or pieces == [data]
        read += isinstance(report, Report)
    assert 1000 < read < 19_000


def mutate(rng: random.Random, data: bytes) -> bytes:
    """Flip, set, truncate, remove, repeat or insert a few bytes."""
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(len(changed) + 1)
        kind = rng.randrange(6)
        if kind == 0 and place < len(changed):
            changed[place] ^= 1 << rng.randrange(8)
        elif kind == 1 and place < len(changed):
            changed[place] = rng.choice(
                [0x00, 0x90, 0x95, 0xC0, 0xC1, 0xC4, 0xC5, 0xC6, 0xD9, 0xDD, 0xDF, 0xFF]
            )
        elif kind == 2:
            del changed[place:]
        elif kind == 3:
            del changed[place : place + rng.randrange(1, 4)]
        elif kind == 4:
            changed += changed[:place]
        else:
            changed[place:place] = rng.randbytes(rng.randrange(1, 4))
    return bytes(changed)


def test_reports_are_split_only_as_far_as_they_are_read():
    reports = iterate_reports(pack(GOOD) * 2 + b"junk")
    assert [next(reports), next(reports)] == [pack(GOOD)] * 2
    with pytest.raises(ReportError):
        next(reports)
