"""A gunicorn worker that no slow peer holds up for ever."""

from __future__ import annotations

import selectors
import socket
from contextlib import suppress
from functools import partial
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

from ldp_aggregator.collector.auth import OPERATOR_LISTENER
from ldp_aggregator.collector.serving.deadlines import RESPONSE_SECONDS, Deadlines

MAX_CONNECTIONS = 1000
"""Of a worker at once; whoever comes then waits in the kernel's queue, of this length too."""
KEEPALIVE_SECONDS = 5
LINGER_SECONDS = 1.0
_LINGER_READS = 16


class Worker(ThreadWorker):  # type: ignore[misc]
    """Gunicorn's threads, with deadlines: for a request's header and body together, and for its answer.

    The time in between is the application's own and has none. It lets go of the sockets when it begins to
    end, not when it has ended: so a stopping collector refuses connections, rather than drop them in the end.
    """

    def set_accept_enabled(self, enabled: bool) -> None:
        """Begin or cease to take connections."""
        super().set_accept_enabled(enabled)
        if not (enabled or self.alive):
            for listener in self.sockets:
                listener.close()

    def enqueue_req(self, conn: Any) -> None:
        """Hand a connection that has begun to send to a thread; a new one waits for that as a kept one does.

        Gunicorn hands new ones over at once: as many silent ones as it has threads would hold up everybody.
        """
        if conn.timeout is not None:  # it was here before
            super().enqueue_req(conn)
            return
        conn.set_timeout()
        self.keepalived_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_client_socket_readable, conn))

    def handle(self, conn: Any) -> Any:
        """Await a request on a connection that has begun to send one, and answer it."""
        self._deadlines.begin(conn.sock)
        try:
            more = super().handle(conn)
            if more is False:
                self._linger(conn.sock)
            return more
        finally:
            self._deadlines.end(conn.sock)

    def _linger(self, connection: socket.socket) -> None:
        """Say that nothing follows, and hear what still comes, lest the answer be lost with it.

        Gunicorn does so itself, but in the one thread that accepts for all.
        """
        self._deadlines.begin(connection, LINGER_SECONDS)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_WR)
            for _ in range(_LINGER_READS):
                if not connection.recv(1 << 12):
                    break
            connection.shutdown(socket.SHUT_RDWR)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Answer a request whose header is there."""
        self._deadlines.pause(conn.sock)
        return super().handle_request(req, conn)

    def load_wsgi(self) -> None:
        """Load the application; let it know where a request came in, and limit the time to take an answer."""
        super().load_wsgi()
        self._deadlines: Deadlines = self.wsgi.extensions["ldp"].deadlines
        work = self.wsgi.wsgi_app
        operator_address = tuple(map(str, self.sockets[1].getsockname()[:2])) if self.sockets[1:] else None

        def wsgi_app(environ: Any, start_response: Any) -> Any:
            environ[OPERATOR_LISTENER] = (environ["SERVER_NAME"], environ["SERVER_PORT"]) == operator_address
            answer = work(environ, start_response)
            self._deadlines.begin(environ["gunicorn.socket"], RESPONSE_SECONDS)
            return answer

        self.wsgi.wsgi_app = wsgi_app
