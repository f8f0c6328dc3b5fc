"""An address that can be pointed to another server, as a DNS name, a proxy or a virtual address can."""

import socket
import threading
from contextlib import suppress
from typing import Self


class Forwarder:
    """Forwards new connections to the current target; connections that are open stay with the former one.

    Attributes
    ----------
    port : int
        Where it listens on 127.0.0.1.
    target : int
        The port to which it forwards.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self.target))
                except OSError:
                    connection.close()
                    continue
                self._open += [connection, server]
                for source, sink in ((connection, server), (server, connection)):
                    threading.Thread(target=_copy, args=(source, sink), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
