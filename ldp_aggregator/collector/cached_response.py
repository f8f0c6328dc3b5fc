"""A response that is the same for all requests; its digest and its gzip form are computed once."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cached_property

from flask import Response, request

_MIN_GZIP_BYTES = 1000


@dataclass(frozen=True)
class CachedResponse:
    body: bytes
    media_type: str

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.body).hexdigest()

    @cached_property
    def gzipped(self) -> bytes:
        return gzip.compress(self.body, mtime=0)

    def make_response(self, cache_control: str) -> Response:
        """Return the response: 304 if the request names the current ETag, compressed if it accepts gzip."""
        use_gzip = request.accept_encodings.quality("gzip") > 0 and len(self.body) > _MIN_GZIP_BYTES
        response = Response(self.gzipped if use_gzip else self.body, content_type=self.media_type)
        if use_gzip:
            response.content_encoding = "gzip"
        response.headers["Cache-Control"] = cache_control
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.vary.add("Accept-Encoding")
        response.set_etag(f"{self.digest}{'-gzip' * use_gzip}")
        response.make_conditional(request)
        return response
