"""Who may use the studio: one browser, which opened the address with the one-time token.

The token becomes a cookie that scripts cannot read. Every request needs the exact host and the cookie, and
one that changes something the studio's own origin, so that other pages, programs and users get nothing. The
address contains a secret folder, to which the cookie is bound: browsers send cookies of 127.0.0.1 to all
ports, but this one not to another program's pages.
"""

from __future__ import annotations

import secrets

from flask import Flask, Response, request

_SAME = ("same-origin", "none")
_COOKIE = "studio"
_REFUSED = (
    '<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Studio</title>'
    "<p>This address works in the browser that opened it first: use that one, or end ldp-survey studio and "
    "start it anew: nothing is lost."
)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Access:
    """The secrets of one run of the studio."""

    def __init__(self, port: int) -> None:
        self._host = f"127.0.0.1:{port}"
        self.origin = f"http://{self._host}"
        self.folder = f"/{secrets.token_urlsafe(16)}/"
        """Below it is everything that needs the cookie."""
        self.frames = f"/{secrets.token_urlsafe(16)}/"
        """Below it are the files of frames, which have no cookie; they contain nothing of a survey."""
        self._token, self._cookie = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.address = f"{self.origin}{self.folder}?token={self._token}"
        """The address that opens the studio once."""

    def protect(self, app: Flask) -> None:
        """Check every request of an application before it is answered, and add headers to the response."""
        app.before_request(self._check)
        app.after_request(_add_headers)

    def _check(self) -> Response | None:
        path, is_read, token = request.path, request.method == "GET", request.args.get("token", "")
        if request.host == self._host:
            if path.startswith(self.frames) and is_read:
                return None
            if path == self.folder and self._token and _equal(token, self._token):
                return self._exchange_token()
            is_ours = path.startswith(self.folder) and _equal(request.cookies.get(_COOKIE, ""), self._cookie)
            is_near = path == self.folder or request.headers.get("Sec-Fetch-Site", "none") in _SAME
            is_same = is_read or request.headers.get("Origin") == self.origin
            if is_ours and is_near and is_same:
                return self._drop_token() if token else None
        return Response(_REFUSED, 403, mimetype="text/html")

    def _exchange_token(self) -> Response:
        self._token = ""
        response = self._drop_token()
        response.set_cookie(_COOKIE, self._cookie, httponly=True, samesite="Strict", path=self.folder)
        return response

    def _drop_token(self) -> Response:
        return Response(status=303, headers={"Location": self.folder})


def _equal(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(), other.encode())


def _add_headers(response: Response) -> Response:
    response.headers.remove("Cache-Control")
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response
