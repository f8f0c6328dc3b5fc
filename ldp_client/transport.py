"""HTTP as the client needs it: fetch a plan, post a report. Standard library only.

No cookies, no redirects, one fixed user agent and header order: requests of two devices differ in the
report's bytes alone.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from encoders.report import MEDIA_TYPE
from ldp_client.errors import TransportError

if TYPE_CHECKING:
    from http.client import HTTPResponse

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
        """Send one request and read the whole answer."""
        import http.client  # late: an application that never sends does not pay for it

        parts = urlsplit(url)
        connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        try:
            connection = connect(parts.hostname or "", parts.port, timeout=timeout)
            with closing(connection):
                connection.connect()
                with _within(timeout, connection.sock):
                    connection.request(method, parts.path or "/", body, _headers(body))
                    response = connection.getresponse()
                    wait = _seconds(response.getheader("Retry-After"))
                    return Answer(response.status, _read(response), wait)
        except (OSError, http.client.HTTPException, ValueError, RuntimeError) as error:
            raise TransportError(f"no answer from the collector: {type(error).__name__}") from error


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

    A socket's own timeout is for each read: a server that drips would hold the caller for hours.
    """
    alarm = threading.Timer(seconds, _cut, [connected])
    alarm.daemon = True
    alarm.start()
    try:
        yield
    finally:
        alarm.cancel()


def _cut(connected: socket.socket) -> None:
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)


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


def _seconds(header: str | None) -> float | None:
    """Read Retry-After in its form of seconds; a date is not worth trusting the device's clock."""
    return float(header) if header and header.isascii() and header.isdigit() else None
