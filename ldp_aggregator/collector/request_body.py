"""Reads the body of a post: its media type, its length and the body limit."""

from __future__ import annotations

from flask import request
from werkzeug.exceptions import ClientDisconnected

from encoders.errors import Reason, ReportError
from encoders.report import MEDIA_TYPE
from ldp_aggregator.collector.service import Service


def read_body(service: Service) -> bytes:
    """Return the whole body; Content-Length is required, because a chunked body may be truncated unnoticed.

    Raises
    ------
    ReportError
        If the body has another type, is longer than `max_body`, has no stated length, or is truncated.
    """
    limit = service.settings.max_body
    if request.mimetype != MEDIA_TYPE:
        raise ReportError(Reason.UNSUPPORTED_MEDIA_TYPE, f"send reports as {MEDIA_TYPE}")
    length = request.content_length
    if length is None or "HTTP_TRANSFER_ENCODING" in request.environ:
        raise ReportError(Reason.LENGTH_REQUIRED, "send Content-Length, and no Transfer-Encoding")
    if length > limit:
        raise ReportError(Reason.TOO_LARGE, f"a body has at most {limit} bytes")
    try:
        body = request.get_data(cache=False)
    except (ClientDisconnected, OSError):
        body = b""
    if len(body) != length:
        raise ReportError(Reason.INCOMPLETE, "the body is shorter than its Content-Length; send it again")
    return body
