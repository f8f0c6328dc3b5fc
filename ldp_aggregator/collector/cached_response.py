"""Bytes ready to be sent: their digest and their compressed form are worked out once."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cached_property

from flask import Response, request

_WORTH_PACKING = 1000


@dataclass(frozen=True)
class Content:
    """Something to send, the same to everybody who asks.

    Attributes
    ----------
    body : bytes
    media_type : str
    """

    body: bytes
    media_type: str

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the body, in hexadecimal."""
        return hashlib.sha256(self.body).hexdigest()

    @cached_property
    def packed(self) -> bytes:
        """The body as gzip."""
        return gzip.compress(self.body, mtime=0)

    def answer(self, cache: str) -> Response:
        """Answer the current request: with 304 if it has these bytes, packed if it takes that."""
        takes_gzip = request.accept_encodings.quality("gzip") > 0 and len(self.body) > _WORTH_PACKING
        response = Response(self.packed if takes_gzip else self.body, content_type=self.media_type)
        if takes_gzip:
            response.content_encoding = "gzip"
        response.headers["Cache-Control"] = cache
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.vary.add("Accept-Encoding")
        response.set_etag(f"{self.digest}{'-gzip' * takes_gzip}")
        response.make_conditional(request)
        return response
