"""The wire format of a report: a msgpack array of format version, plan digest, question, id and payload.

Its length depends only on the plan and the question. Decoding is strict: a report has one encoding, and two
reports are equal if their bytes are. A body or a file of reports is one or more of them, concatenated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgpack

from encoders.errors import Reason, ReportError

FORMAT = 1
MEDIA_TYPE = "application/vnd.msgpack"
MAX_REPORT_BYTES = 4096
MAX_MESSAGE_BYTES = 65_536
"""Most bytes of a report of a silo, which is a message of many counts."""
ID_BYTES = 16
DIGEST_BYTES = 32
SHORTEST_REPORT = 58
"""Bytes of the shortest report: one byte of payload, and a question below 128."""
OVERHEAD_BYTES = 64
"""Largest number of bytes of a report that are not payload."""


@dataclass(frozen=True, slots=True)
class Report:
    """One randomised answer with all fields of the wire format."""

    plan_digest: bytes
    """SHA-256 of the plan that the report belongs to, 32 bytes."""
    question: int
    id: bytes
    """16 random bytes, by which the collector counts the report once."""
    payload: bytes


def pack(report: Report) -> bytes:
    packed: bytes = msgpack.packb([FORMAT, report.plan_digest, report.question, report.id, report.payload])
    return packed


def unpack(data: bytes, max_bytes: int = MAX_REPORT_BYTES) -> Report:
    """Read one report strictly.

    `max_bytes` is the limit of the plan: MAX_REPORT_BYTES, or MAX_MESSAGE_BYTES for a silo's.
    Raises ReportError: ``too-large`` above `max_bytes`, ``malformed`` for anything that `pack` does not
    write.
    """
    if len(data) > max_bytes:
        why = f"a report of this survey has at most {max_bytes} bytes: send the client's bytes"
        raise ReportError(Reason.TOO_LARGE, why)
    try:
        fields = msgpack.unpackb(data, max_bin_len=max_bytes, **_STRICT)
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise _malformed("not one msgpack object") from error
    if not (isinstance(fields, list) and [type(field) for field in fields] == _TYPES):
        raise _malformed("not a list [version, plan digest, question, id, payload]")
    version, plan_digest, question, report_id, payload = fields
    if version != FORMAT or len(plan_digest) != DIGEST_BYTES or len(report_id) != ID_BYTES or question < 0:
        raise _malformed("unknown version, or a digest or id of the wrong length")
    report = Report(plan_digest, question, report_id, payload)
    if pack(report) != data:
        raise _malformed("not canonical msgpack")
    return report


def _malformed(why: str) -> ReportError:
    return ReportError(Reason.MALFORMED, f"{why}: send the client's bytes")


def split(body: bytes) -> list[bytes]:
    """Split a body into its reports, without checking each; raise ReportError if it has another form."""
    return list(iterate_reports(body))


def iterate_reports(body: bytes) -> Iterator[bytes]:
    """Yield the reports of a body one at a time; see :func:`split`."""
    if not body:
        raise ReportError(Reason.MALFORMED, "the body is empty: send at least one report")
    unpacker = msgpack.Unpacker(max_buffer_size=len(body))
    unpacker.feed(body)
    count = start = 0
    while start < len(body):
        if body[start] != ARRAY_OF_FIVE:
            raise _malformed("the body is not a sequence of reports")
        try:
            unpacker.skip()
        except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
            raise _malformed("the body ends inside a report or is not msgpack") from error
        count += 1
        if count > len(body) // SHORTEST_REPORT + 1:
            raise _malformed("the body has more msgpack arrays than reports fit into it")
        end = unpacker.tell()
        yield body[start:end]
        start = end


_STRICT = {
    "raw": False,
    "strict_map_key": True,
    "use_list": True,
    "max_array_len": 8,
    "max_map_len": 0,
    "max_ext_len": 0,
    "max_str_len": 0,
}
ARRAY_OF_FIVE = 0x95
_TYPES = [int, bytes, int, bytes, bytes]
