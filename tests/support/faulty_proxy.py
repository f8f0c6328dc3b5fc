"""A network with chosen faults: a TCP proxy in front of a real collector."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tests.support.servers import free_port

DRIP_SECONDS = 0.05
_PATIENCE = 60.0
_PAGE = b"<html>Welcome! Please accept our terms.</html>"


def _page(head: bytes, body: bytes = _PAGE) -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (head, len(body), body)


class Proxy:
    """Relays requests to a collector; while `fault` is set, each request fails in this way.

    Attributes
    ----------
    bodies : list of (bytes, bool)
        The received part of each request's body, and whether it is complete.
    fault : str
        How the next requests fail: one of `FAULTS`, or an empty string.
    response : bytes
        What the next requests get in place of the collector's response, if it is not empty.
    heads : list of bytes
        The request line and the headers of each request.
    delay : float
        Seconds before a response is relayed.
    before_response : callable
        Called before a response is relayed.
    """

    def __init__(self, collector: tuple[str, int]) -> None:
        self._collector = collector
        self.fault = ""
        self.response = b""
        self.heads: list[bytes] = []
        self.delay = 0.0
        self.before_response: Callable[[], object] = lambda: None
        self.bodies: list[tuple[bytes, bool]] = []
        self._done = threading.Event()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", free_port()))
        self.port: int = self._listener.getsockname()[1]
        self._start()

    def take(self) -> list[tuple[bytes, bool]]:
        """Return `bodies` and clear them."""
        taken, self.bodies = self.bodies, []
        return taken

    @contextmanager
    def failing(self, fault: str) -> Iterator[None]:
        """Make the requests within this context fail in one way."""
        if fault == "refused":
            self._hang_up()
        else:
            self.fault = fault
        try:
            yield
        finally:
            self.fault = ""
            if fault == "refused":
                self._listener.listen()
                self._start()

    def close(self) -> None:
        self._done.set()
        self._shut()
        for thread in self._threads:
            thread.join(_PATIENCE)

    # -- listening -------------------------------------------------------------------------

    def _start(self) -> None:
        self._open = True
        self._listening = self._go(self._listen, self._listener)

    def _go(self, work: Callable[[socket.socket], None], line: socket.socket) -> threading.Thread:
        thread = threading.Thread(target=work, args=(line,), daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def _listen(self, listener: socket.socket) -> None:
        while True:
            line, _ = listener.accept()
            if not self._open:
                line.close()
                return
            self._go(self._serve, line)

    def _shut(self) -> None:
        self._open = False
        with suppress(OSError):  # nothing listens if connections are refused
            socket.create_connection(("127.0.0.1", self.port), _PATIENCE).close()
        self._listening.join(_PATIENCE)
        self._listener.close()

    def _hang_up(self) -> None:
        """Keep the port, but refuse connections."""
        self._shut()
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", self.port))

    # -- one request -----------------------------------------------------------------------

    def _serve(self, line: socket.socket) -> None:
        fault = self.fault
        line.settimeout(_PATIENCE)
        with line, suppress(OSError):
            if fault == "responds before it reads":
                line.sendall(_page(b"200 OK"))
            request, whole = self._read(line, half=fault == "reset within the body")
            if fault in _RESPONSES:
                line.sendall(_RESPONSES[fault])
            elif self.response:
                line.sendall(self.response)
            elif not whole:
                self._ask(request, with_response=False)
                _reset(line)
            elif fault == "never responds":
                self._done.wait(_PATIENCE)
            elif fault != "responds before it reads":
                self._relay(line, self._ask(request), fault)

    def _relay(self, line: socket.socket, response: bytes, fault: str) -> None:
        self._done.wait(self.delay)
        self.before_response()
        if fault == "drips":
            for place in range(len(response)):
                line.sendall(response[place : place + 1])
                if self._done.wait(DRIP_SECONDS):
                    return
        elif fault == "cut response":
            line.sendall(response[:-5])
        elif fault == "lost response":
            _reset(line)
        else:
            line.sendall(response)

    def _ask(self, request: bytes, with_response: bool = True) -> bytes:
        with socket.create_connection(self._collector, _PATIENCE) as line:
            line.sendall(request)
            return _message(line)[0] if with_response else b""

    def _read(self, line: socket.socket, half: bool) -> tuple[bytes, bool]:
        """Read a request, or half of its body; append the head to `heads`, and a post's body to `bodies`."""
        request, body, whole = _message(line, half)
        self.heads.append(request.partition(b"\r\n\r\n")[0])
        if request.startswith(b"POST"):
            self.bodies.append((body, whole))
        return request, whole


def _message(line: socket.socket, half: bool = False) -> tuple[bytes, bytes, bool]:
    """Read one request or response; return all of it, its body, and whether it is complete."""
    data, length = b"", None
    while length is None or len(data) < length:
        piece = line.recv(65536 if length is None else length - len(data))
        data += piece
        head, end, _ = data.partition(b"\r\n\r\n")
        if end and length is None:
            length = len(head) + 4 + (_length(head) // 2 if half else _length(head))
        if not piece:
            break
    head, _, body = data[:length].partition(b"\r\n\r\n")
    return data[:length], body, length == len(data) and not half


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return int(value)
    return 0


def _reset(line: socket.socket) -> None:
    """Reset the connection, so that the peer's next operation fails."""
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.close()


_RESPONSES = {
    "500": _page(b"500 Internal Server Error"),
    "503, Retry-After": _page(b"503 Service Unavailable\r\nRetry-After: 1"),
    "captive portal": _page(b"200 OK\r\nContent-Type: text/html"),
    "redirect": _page(b"302 Found\r\nLocation: http://portal.test/"),
    "garbage": bytes(range(256)),
    "empty": b"",
}
FAULTS = (
    "refused",
    "reset within the body",
    *_RESPONSES,
    "responds before it reads",
    "never responds",
    "drips",
    "cut response",
    "lost response",
)
"""All faults; with the last three the collector has counted the report."""


@contextmanager
def faulty(collector: str) -> Iterator[Proxy]:
    """Start a proxy in front of the collector at a base URL."""
    host, _, port = collector.removeprefix("http://").partition(":")
    proxy = Proxy((host, int(port)))
    try:
        yield proxy
    finally:
        proxy.close()
