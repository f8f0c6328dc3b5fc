"""Reads the body of a post: its media type, its length and the body limit."""

from __future__ import annotations

from collections.abc import Sequence

from flask import request
from werkzeug.exceptions import ClientDisconnected

from encoders.errors import Reason, ReportError
from encoders.report import MAX_REPORT_BYTES, MEDIA_TYPE
from encoders.survey.unsealing import MAX_MESSAGES, MESSAGES_TYPE
from ldp_aggregator.collector.service import Service

PLAIN_TEXT = "text/plain"
"""The type of a body with the bytes of one report that a web page sends without a preflight."""


def is_plain_text() -> bool:
    """Return whether the body of the current request has the type `text/plain`, so it must be one report."""
    return request.mimetype == PLAIN_TEXT


def read_body(service: Service) -> bytes:
    """Return the whole body; Content-Length is required, because a chunked body may be truncated unnoticed.

    A parameter of the media type, such as the charset that browsers add, has no effect on the bytes. Raises
    ReportError if the body has another type, is longer than `max_body`, has no stated length, or is
    truncated. A body of `text/plain` has at most the length of one report.
    """
    limit = service.settings.max_body
    if is_plain_text():
        limit = min(limit, MAX_REPORT_BYTES)
    elif request.mimetype != MEDIA_TYPE:
        raise ReportError(
            Reason.UNSUPPORTED_MEDIA_TYPE,
            f"send reports as {MEDIA_TYPE}, or the bytes of one report as {PLAIN_TEXT}",
        )
    return _read_whole_body(limit)


def read_sealed_body(columns: Sequence[int]) -> bytes:
    """Read the body of a relay's request: at most 1,000 messages of these lengths. See :func:`read_body`."""
    if request.mimetype != MESSAGES_TYPE:
        raise ReportError(Reason.UNSUPPORTED_MEDIA_TYPE, f"send sealed messages as {MESSAGES_TYPE}")
    return _read_whole_body(MAX_MESSAGES // len(columns) * sum(columns))


def _read_whole_body(limit: int) -> bytes:
    length = request.content_length
    if length is None or "HTTP_TRANSFER_ENCODING" in request.environ:
        raise ReportError(Reason.LENGTH_REQUIRED, "send Content-Length, and no Transfer-Encoding")
    if length > limit:
        raise ReportError(
            Reason.TOO_LARGE, f"a body of {request.mimetype} has at most {limit} bytes: send fewer reports"
        )
    try:
        body = request.get_data(cache=False)
    except (ClientDisconnected, OSError):
        body = b""
    if len(body) != length:
        raise ReportError(Reason.INCOMPLETE, "the body is shorter than its Content-Length; send it again")
    return body
