"""Send prepared HTTP requests with little overhead, so that the server's time is measured."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from encoders.report import MEDIA_TYPE


def spell(url: str, bodies: Iterable[bytes]) -> list[bytes]:
    """Return whole HTTP requests that post the bodies to `url`."""
    parts = urlsplit(url)
    head = f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: {MEDIA_TYPE}\r\n"
    return [f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body for body in bodies]


def send(url: str, requests: list[bytes], connections: int) -> None:
    """Send the requests over several connections at once; each response must be 200."""
    shares = [requests[start::connections] for start in range(connections)]
    with ThreadPoolExecutor(connections) as pool:
        list(pool.map(lambda share: _send_in_turn(url, share), shares))


def _send_in_turn(url: str, requests: list[bytes]) -> None:
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for request in requests:
            connection.sendall(request)
            _read_answer(connection)


def _read_answer(connection: socket.socket) -> None:
    answer = b""
    while not (answer.endswith(b"}\n") and b"\r\n\r\n" in answer):  # JSON, as Flask writes it
        piece = connection.recv(65536)
        if not piece:
            raise ConnectionError("the server closed the connection")
        answer += piece
    if not answer.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(answer.partition(b"\r\n")[0].decode())
