"""The client's HTTP: fetches a plan and posts a report, with the standard library only.

No cookies, no redirects, one fixed user agent and header order: requests of two devices differ only in the
report's bytes.
"""

from __future__ import annotations

import io
import json
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import SplitResult, urlsplit

from encoders.report import MEDIA_TYPE
from ldp_client.debug_log import describe_error, log, log_report
from ldp_client.errors import OptionError, TransportError
from ldp_client.retry_after import parse_retry_after
from ldp_client.survey_identity import SurveyIdentity, origin_of_url

if TYPE_CHECKING:
    from http.client import HTTPConnection

    from _typeshed import ReadableBuffer, WriteableBuffer

USER_AGENT = "ldp-client"
MAX_RESPONSE_BYTES = 1 << 20  # a plan is never larger


@dataclass(frozen=True, slots=True)
class Response:
    """A server's HTTP response."""

    status: int
    body: bytes
    retry_after: float | None = None
    """Seconds to wait before the next attempt, if the server gave them."""

    def entry(self, name: str) -> object:
        """Return one entry of the JSON object in the body; None if there is no such object or entry."""
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return document.get(name) if isinstance(document, dict) else None


class Transport(Protocol):
    """Sends one HTTP request; applications can inject their own transport, for a proxy or a test."""

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        """Return the server's response, or raise TransportError if there is none.

        A body is sent as `encoders.report.MEDIA_TYPE`, unchanged; redirects are not followed.
        """


def post_report(
    transport: Transport, survey: SurveyIdentity, url: str, report: bytes, timeout: float
) -> Response | None:
    """Post a survey's report; return None if there is no response."""
    try:
        return transport.request("POST", url, report, timeout)
    except TransportError as error:
        log_report(survey, f"no response: {describe_error(error)}")
        return None
    except Exception as error:  # an injected transport may raise anything, and the sender's thread must live
        log.warning("the transport raised %s instead of a TransportError", type(error).__name__)
        return None


class HttpTransport:
    """Sends requests with :mod:`http.client`, each over a new connection, since a device sends one report.

    Parameters
    ----------
    gateway_tokens : mapping of str to str, optional
        For the URL of each collector, a token that is sent with each report to it as
        `Authorization: Bearer ...`. A gateway that reports for many machines needs one if a collector limits
        the rate of reports. Never give one to a person's device.
    """

    def __init__(self, gateway_tokens: Mapping[str, str] | None = None) -> None:
        tokens = (gateway_tokens or {}).items()
        try:
            self._gateway_tokens = {origin_of_url(url): token for url, token in tokens}
        except ValueError:
            raise OptionError("gateway_tokens: the port of a URL must be a number from 0 to 65535") from None

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        """Send one request and read the whole response, all within `timeout` seconds."""
        import http.client  # late: an application that never sends does not pay for it

        deadline = _Deadline(timeout)
        try:
            connection, secure = _connection(urlsplit(url))
            with (
                closing(_connect(connection.host, connection.port, deadline)) as raw,
                closing(secure(raw)) as line,
            ):
                connection.sock = cast(socket.socket, _DeadlineSocket(line, deadline))
                connection.request(method, urlsplit(url).path or "/", body, self._headers(url, body))
                response = connection.getresponse()
                data = response.read(MAX_RESPONSE_BYTES + 1)
                if len(data) > MAX_RESPONSE_BYTES or response.length:
                    raise ValueError("the response is too long, or incomplete")
                pause = parse_retry_after(
                    response.getheader("Retry-After", ""), response.getheader("Date", "")
                )
                return Response(response.status, data, pause)
        except (OSError, http.client.HTTPException, ValueError, RuntimeError) as error:
            raise TransportError(f"no response from the collector: {describe_error(error)}") from error

    def _headers(self, url: str, body: bytes | None) -> dict[str, str]:
        headers = {"User-Agent": USER_AGENT, "Accept": "application/json"}
        if body is None:
            return headers
        headers["Content-Type"] = MEDIA_TYPE
        token = self._gateway_tokens.get(origin_of_url(url)) if self._gateway_tokens else None
        return headers | ({"Authorization": f"Bearer {token}"} if token else {})


def _connection(parts: SplitResult) -> tuple[HTTPConnection, Callable[[socket.socket], socket.socket]]:
    """Return an HTTP connection that is not yet connected, and the function that adds TLS to its socket."""
    import http.client

    host = parts.hostname or ""  # the port is never left out: it would be read from an IPv6 address
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, parts.port or 80), lambda raw: raw
    import ssl

    context = ssl.create_default_context()
    connection = http.client.HTTPSConnection(host, parts.port or 443, context=context)
    return connection, lambda raw: context.wrap_socket(raw, server_hostname=host)


class _Deadline:
    """The time at which one exchange of request and response must end.

    A socket's own timeout is for each call: a server that sends byte by byte would hold the caller for hours.
    No thread watches the time: some Pythons start none at exit.
    """

    def __init__(self, seconds: float) -> None:
        self._end = monotonic() + seconds

    def left(self) -> float:
        """Return the seconds left; raise TimeoutError if there are none."""
        left = self._end - monotonic()
        if left <= 0:
            raise TimeoutError
        return left


_lookups: dict[tuple[str, int], tuple[threading.Thread, list[Any]]] = {}
"""The thread of the latest lookup of each host, and what it found."""


def _find_addresses(host: str, port: int, deadline: _Deadline) -> Any:
    """Return the addresses of a host; raise TimeoutError at the deadline.

    No function that looks up a name has a timeout, so a thread does it. While it hangs, later attempts wait
    for it, and start no other thread.
    """

    def look_up(found: list[Any]) -> None:
        try:
            found.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:
            found.append(error)

    thread, found = _lookups.get((host, port), (None, []))
    if thread is None or not thread.is_alive():  # a fork leaves no thread alive in the child
        found = []
        thread = threading.Thread(target=look_up, args=(found,), name="ldp-client-lookup", daemon=True)
        _lookups[host, port] = thread, found
        try:
            thread.start()
        except RuntimeError:  # no thread can start, as at exit: this lookup has no deadline
            look_up(found)
    if thread.is_alive():
        thread.join(deadline.left())
    if not found:
        raise TimeoutError
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def _connect(host: str, port: int, deadline: _Deadline) -> socket.socket:
    """Connect to the first address of a host that accepts; each address gets an equal share of the time."""
    addresses = _find_addresses(host, port, deadline)
    failure = OSError("the host has no address")
    for tried, (family, kind, protocol, _, address) in enumerate(addresses):
        line = None
        try:
            line = socket.socket(family, kind, protocol)
            line.settimeout(deadline.left() / (len(addresses) - tried))
            line.connect(address)
            line.settimeout(deadline.left())  # what is left is for the handshake, all of it
            return line
        except OSError as error:  # this machine may not even know the address's family
            failure = error
            if line:
                line.close()
    raise failure


class _DeadlineSocket(io.RawIOBase):
    """The part of a socket's interface that http.client uses; every operation ends by the deadline."""

    def __init__(self, line: socket.socket, deadline: _Deadline) -> None:
        self._line, self._deadline = line, deadline

    def sendall(self, data: ReadableBuffer) -> None:
        left = memoryview(data)
        while left:
            self._line.settimeout(self._deadline.left())
            left = left[self._line.send(left) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read bytes that have arrived into a buffer; return their number."""
        self._line.settimeout(self._deadline.left())
        return self._line.recv_into(buffer)

    def close(self) -> None:
        """Do nothing: the function that connected closes."""
