"""Runs the studio on 127.0.0.1 until Ctrl-C, or until its page has been closed for a while."""

from __future__ import annotations

import errno
import signal
import socket
import threading
import time
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from encoders.errors import LdpError
from ldp_design.studio.access import Access
from ldp_design.studio.app import create_app
from ldp_design.studio.session import Session
from ldp_design.studio.workfile import WorkFile, state_folder

IDLE_SECONDS = 30.0
_WAKE_SECONDS = 5.0
"""If the watch itself paused for so long, the machine slept, and the page gets its time again."""


class PortError(LdpError):
    """A port that another program uses."""


class _SilentHandler(WSGIRequestHandler):
    """Logs nothing: paths and errors could contain what an author writes."""

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002
        pass


def serve_studio(path: Path, port: int, announce: Callable[[str], object], *, opens_browser: bool) -> None:
    """Serve the studio of a survey file; raises WorkFileError or PortError. `announce` gets the address."""
    listener = _listen(port)
    file, access = WorkFile(path, state_folder()), Access(listener.getsockname()[1])
    session = Session(file)
    app, number = create_app(session, access), listener.fileno()
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_SilentHandler, fd=number)
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.default_int_handler)
    threading.Thread(target=_watch, args=[session, server], daemon=True).start()
    announce(access.address)
    if opens_browser:
        threading.Thread(target=webbrowser.open, args=[access.address], daemon=True).start()
    try:
        with suppress(KeyboardInterrupt):
            server.serve_forever()
    finally:
        session.ended.set()
        session.end_pilot()
        file.close()


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        why = f"--port: {port} is used by another program: choose another, or leave it out"
        raise PortError(why) from error


def _watch(session: Session, server: BaseWSGIServer) -> None:
    """End the server when no page has been open for a while."""
    before, slept_until = time.time(), 0.0
    while not session.ended.wait(1.0):
        now = time.time()
        if now - before > _WAKE_SECONDS:
            slept_until = now
        before = now
        if session.idle_seconds() > IDLE_SECONDS and now - slept_until > IDLE_SECONDS:
            server.shutdown()
            return
