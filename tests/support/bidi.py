"""A connection to a browser by WebDriver BiDi (https://www.w3.org/TR/webdriver-bidi/)."""

import json
from contextlib import ExitStack, suppress
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

_PATIENCE_SECONDS = 120


class BidiError(Exception):
    """The browser has refused a command, or a script in a page has thrown an error."""


class Connection:
    """Sends one command after the other to the browser at a WebSocket of this machine."""

    def __init__(self, port: int) -> None:
        self.events: list[dict[str, Any]] = []
        """The events that have arrived during commands."""
        self._commands = 0
        url = f"ws://127.0.0.1:{port}/session"
        socket = connect(url, proxy=None, max_size=None, ping_interval=None)
        self._open = ExitStack()
        self._socket = self._open.enter_context(socket)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command, and return its result."""
        self._commands += 1
        self._socket.send(json.dumps({"id": self._commands, "method": method, "params": parameters}))
        while (message := json.loads(self._socket.recv(_PATIENCE_SECONDS)))["type"] == "event":
            self.events.append(message)
        if message["type"] == "error":
            raise BidiError(f"{method}: {message['error']}: {message['message']}")
        assert message["id"] == self._commands
        result: dict[str, Any] = message["result"]
        return result

    def close(self, method: str = "") -> None:
        """Send a last command, if one is given, and disconnect; the browser may have ended."""
        with suppress(ConnectionClosed):
            if method:
                self.send(method)
        self._open.close()
