"""The search for traces finds each kind of trace, and none in data that is kept by design."""

import random
import socket
import struct

import pytest

from tests.support.traces import SentData, traces

NOW = 1_795_287_123
RNG = random.Random(1)
IDS = [RNG.randbytes(16) for _ in range(200)]
MARKS = [RNG.randbytes(8) for _ in range(200)]
KEPT = b"".join(b"$16\r\n%b\r\n$8\r\n%b\r\n" % pair for pair in zip(IDS, MARKS, strict=True))
ADDRESS, WORD, REPORT = "127.130.201.177", "5f1c0ffee0ddba11", RNG.randbytes(70)
SENT_DATA = SentData([ADDRESS], [WORD], [REPORT, b"7.318274519"], IDS + MARKS, NOW - 60, NOW)
PLANTED = {
    "something as it was sent": [REPORT, b"7.318274519"],
    "a word of a sender": [WORD.encode(), WORD.upper().encode()],
    "an address in text": [f"::ffff:{ADDRESS}".encode()],
    "a packed address": [socket.inet_aton(ADDRESS), socket.inet_aton(ADDRESS)[::-1]],
    "a time of day": [b"2026-11-21T19:05", b"2026-11-21 19:05", b"21/Nov/2026:19:05:07"],
    "a time in digits": [b"%d" % NOW, b"%d.25" % NOW, b"%d" % (NOW * 1000 + 5), b"%d" % (NOW * 10**6)],
    "a time in seconds": [struct.pack("<q", NOW), struct.pack(">q", NOW - 59)],
    "a time in milliseconds": [struct.pack("<q", NOW * 1000), struct.pack(">q", NOW * 1000 + 7)],
    "a time in microseconds": [struct.pack("<q", NOW * 10**6), struct.pack(">q", NOW * 10**6 + 7)],
    "a time in nanoseconds": [struct.pack("<q", NOW * 10**9), struct.pack(">q", NOW * 10**9 + 7)],
    "a time as a float": [struct.pack("<d", NOW + 0.3), struct.pack(">d", NOW - 0.3)],
    "a time of 4 bytes": [struct.pack("<I", NOW), struct.pack(">I", NOW)],
}


def test_data_kept_by_design_is_not_a_trace():
    assert not list(traces({"appendonly.aof.1.incr.aof": KEPT, "ldp.db": KEPT}, SENT_DATA))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "planted"), [(kind, each) for kind, several in PLANTED.items() for each in several]
)
def test_a_trace_is_found_at_every_position(kind, planted):
    for shift in range(8):
        place = KEPT.index(b"$16", 3000 + 100 * shift)
        data = KEPT[:place] + b" " * shift + planted + b" " + KEPT[place:]
        assert f"{kind} in a.incr.aof" in set(traces({"a.incr.aof": data}, SENT_DATA))
