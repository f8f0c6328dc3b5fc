"""Who may use the studio: one browser, which opened the address with the one-time token.

The token becomes a cookie that scripts cannot read. Every request needs the exact host and the cookie, and
one that changes something the studio's own origin, so that other pages, programs and users get nothing.
"""

from __future__ import annotations

import secrets

from flask import Flask, Response, redirect, request

_SAME = ("same-origin", "none")
_REFUSED = (
    '<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Studio</title>'
    "<p>This address opens the studio once, in one browser. To open it again, end ldp-survey studio with "
    "Ctrl-C and start it anew: nothing is lost."
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
        self.frames = f"/frame-{secrets.token_urlsafe(16)}"
        """Below this path are the files of frames, which have no cookie; they contain nothing of a survey."""
        self._token: str | None = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)
        self._cookie_name = f"studio-{port}"

    @property
    def address(self) -> str:
        """The address that opens the studio once."""
        return f"{self.origin}/?token={self._token}"

    def protect(self, app: Flask) -> None:
        """Check every request of an application before it is answered, and add headers to the response."""
        app.before_request(self._check)
        app.after_request(_add_headers)

    def _check(self) -> Response | None:
        site = request.headers.get("Sec-Fetch-Site", "none")
        if request.host != self._host:
            return _refuse()
        if request.method == "GET" and request.path.startswith(f"{self.frames}/"):
            return None
        if request.path == "/" and "token" in request.args:
            return self._take_token(request.args["token"])
        cookie = request.cookies.get(self._cookie_name, "")
        if not secrets.compare_digest(cookie.encode(), self._cookie.encode()):
            return _refuse()
        if request.path != "/" and site not in _SAME:
            return _refuse()
        if request.method != "GET" and request.headers.get("Origin") != self.origin:
            return _refuse()
        return None

    def _take_token(self, token: str) -> Response:
        if self._token is None or not secrets.compare_digest(token.encode(), self._token.encode()):
            return _refuse()
        self._token = None
        response = redirect("/", 303)
        assert isinstance(response, Response)
        response.set_cookie(self._cookie_name, self._cookie, httponly=True, samesite="Strict", path="/")
        return response


def _refuse() -> Response:
    return Response(_REFUSED, 403, mimetype="text/html")


def _add_headers(response: Response) -> Response:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response
