"""HTTP as the client needs it: fetch a plan, post a report. Standard library only.

No cookies, no redirects, one fixed user agent and header order: requests of two devices differ in the
report's bytes alone.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import SplitResult, urlsplit

from encoders.report import MEDIA_TYPE
from ldp_client.errors import TransportError

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

USER_AGENT = "ldp-client"
MAX_ANSWER_BYTES = 1 << 20  # a plan is never larger


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's answer.

    Attributes
    ----------
    status : int
    body : bytes
    retry_after : float or None
        Seconds, if the server named them.
    """

    status: int
    body: bytes
    retry_after: float | None = None

    def entry(self, name: str) -> object:
        """Return one entry of a JSON object in the body, or None if it is no such thing."""
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return document.get(name) if isinstance(document, dict) else None


class Transport(Protocol):
    """Carries one request; tests inject their own."""

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Answer:
        """Return the server's answer, or raise TransportError if there is none."""
        ...


class HttpTransport:
    """Requests over :mod:`http.client`, a connection each: a device sends one report in its life."""

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Answer:
        """Send one request and read the whole answer, all within `timeout` seconds."""
        import http.client  # late: an application that never sends does not pay for it

        try:
            connection, secure = _connection(urlsplit(url))
            with (
                closing(socket.create_connection((connection.host, connection.port), timeout)) as raw,
                _within(timeout, raw),
                closing(secure(raw)) as connection.sock,
            ):
                connection.request(method, urlsplit(url).path or "/", body, _headers(body))
                response = connection.getresponse()
                return Answer(response.status, _read(response), _retry_after(response))
        except (OSError, http.client.HTTPException, ValueError, RuntimeError) as error:
            raise TransportError(f"no answer from the collector: {type(error).__name__}") from error


def _connection(parts: SplitResult) -> tuple[HTTPConnection, Callable[[socket.socket], socket.socket]]:
    """Return a connection that is not connected yet, and what secures its socket."""
    import http.client

    host = parts.hostname or ""
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, parts.port), lambda raw: raw
    import ssl

    context = ssl.create_default_context()
    secured = http.client.HTTPSConnection(host, parts.port, context=context)
    return secured, lambda raw: context.wrap_socket(raw, server_hostname=host)


def check_url(url: str) -> str:
    """Return the URL without a closing slash.

    Raises
    ------
    TransportError
        Unless it is an http or https URL with a host.
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good or parts.query or parts.fragment:
        raise TransportError("a survey's URL looks like https://host/v1/surveys/ID")
    return url.rstrip("/")


@contextmanager
def _within(seconds: float, connected: socket.socket) -> Iterator[None]:
    """End an exchange that takes longer, whatever it waits for.

    A socket's own timeout is for each read: a server that drips, in its handshake or its answer, would
    hold the caller for hours. A duplicate is cut, since a secured socket takes the original over.
    """
    line = connected.dup()
    alarm = threading.Timer(seconds, _cut, [line])
    alarm.daemon = True
    try:
        alarm.start()
        yield
    finally:
        alarm.cancel()
        line.close()


def _cut(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


def _headers(body: bytes | None) -> dict[str, str]:
    headers = {"User-Agent": USER_AGENT, "Accept": "application/json"}
    return headers | ({"Content-Type": MEDIA_TYPE} if body is not None else {})


def _read(response: HTTPResponse) -> bytes:
    data = response.read(MAX_ANSWER_BYTES + 1)
    if len(data) > MAX_ANSWER_BYTES:
        raise ValueError("the answer is too long")
    if response.length:
        raise ValueError("the answer breaks off")
    return data


def _retry_after(response: HTTPResponse) -> float | None:
    """Read Retry-After: seconds, or a date, which is held against the server's own clock."""
    text = response.getheader("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    from email.utils import parsedate_to_datetime

    try:
        wait = parsedate_to_datetime(text) - parsedate_to_datetime(response.getheader("Date", ""))
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, wait.total_seconds())
