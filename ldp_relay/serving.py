"""Runs a relay under gunicorn: one process with threads, because all messages go through one file."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication

from encoders.build import find_build
from encoders.server_sockets import allow_connections, require_no_passed_sockets
from ldp_relay import delivery
from ldp_relay.held_messages import RECEIVED, HeldMessages
from ldp_relay.relay_app import create_app
from ldp_relay.relay_settings import RelaySettings

THREADS = 16


class _Server(BaseApplication):  # type: ignore[misc]
    def __init__(self, settings: RelaySettings, **options: Any) -> None:
        self._settings, self._options = settings, options
        super().__init__()

    def load_config(self) -> None:
        """Set gunicorn's settings; ignore its configuration files."""
        for name, value in self._options.items():
            if name in self.cfg.settings:  # older versions of gunicorn lack some
                self.cfg.set(name, value)

    def load(self) -> Flask:
        """Make the application, in the worker, and start to pass messages on."""
        held = HeldMessages(self._settings.database)
        surveys = list(self._settings.surveys.values())
        for each in surveys:
            if each.messages_per_network and (count := held.counts(each.plan.digest)[RECEIVED]):
                delivery.log_event("limits-forgotten", survey=each.plan.id, received_before=count)
        refusals: dict[str, Counter[str]] = {each.plan.digest: Counter() for each in surveys}
        delivery.start(surveys, held, refusals)
        return create_app(self._settings, held, refusals)


def serve(settings: RelaySettings, print_address: Callable[[str], None]) -> None:
    """Serve until stopped (SIGTERM, SIGINT); `print_address` is called when the socket listens."""
    require_no_passed_sockets("bind")

    def when_ready(master: Any) -> None:
        delivery.log_event("started", surveys=sorted(settings.surveys), **vars(find_build()))
        print_address(str(master.LISTENERS[0]))

    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s", force=True)
    _Server(
        settings,
        bind=[settings.bind],
        workers=1,
        threads=THREADS,
        worker_class="gthread",
        worker_connections=allow_connections(THREADS),
        keepalive=5,
        forwarded_allow_ips="",
        accesslog=None,
        loglevel="critical",  # its other messages may contain an address
        control_socket_disable=True,
        proc_name="ldp-relay",
        when_ready=when_ready,
    ).run()
