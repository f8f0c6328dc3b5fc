"""Run the collector under gunicorn: several workers, nothing logged about senders."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication

from ldp_aggregator.collector.worker import CONNECTIONS, KEEPALIVE_SECONDS, Worker
from ldp_aggregator.stores import StoreError

log = logging.getLogger("ldp.collector")

_PAUSE = 0.5
"""Seconds between a worker that found no store and the next."""


class Server(BaseApplication):  # type: ignore[misc]
    """Gunicorn around an application that each worker makes for itself, after the fork.

    Parameters
    ----------
    make_app : callable
    options : Any
        Gunicorn's settings.
    """

    def __init__(self, make_app: Callable[[], Flask], **options: Any) -> None:
        self._make_app, self._options = make_app, options
        super().__init__()

    def load_config(self) -> None:
        """Hand the settings to gunicorn; neither its files nor its environment variables are read."""
        for name, value in self._options.items():
            if name in self.cfg.settings:  # older versions lack the newest ones
                self.cfg.set(name, value)

    def load(self) -> Flask:
        """Make the application, in the worker; if its store is away, leave it to the next worker."""
        try:
            return self._make_app()
        except StoreError as error:  # gunicorn would end altogether: to it, this is no way to start
            log.error("%s", error)
            time.sleep(_PAUSE)
            raise SystemExit(1) from error


def serve(
    make_app: Callable[[], Flask],
    bind: str,
    workers: int,
    threads: int,
    announce: Callable[[list[str]], None],
) -> None:
    """Serve until told to stop (SIGTERM, SIGINT).

    Parameters
    ----------
    make_app : callable
        Makes the application; called once in every worker.
    bind : str
        HOST:PORT; port 0 takes a free one.
    workers, threads : int
    announce : callable
        Gets the addresses once the sockets listen.
    """
    Server(
        make_app,
        bind=bind,
        workers=workers,
        threads=threads,
        worker_class=f"{Worker.__module__}.{Worker.__name__}",  # by name: older versions take no class
        worker_connections=CONNECTIONS,
        backlog=CONNECTIONS,
        keepalive=KEEPALIVE_SECONDS,
        accesslog=None,
        loglevel="error",  # gunicorn's warning of a garbled request names its sender's address
        control_socket_disable=True,
        proc_name="ldp-collector",
        worker_exit=lambda _, worker: _let_go(worker),
        when_ready=lambda arbiter: announce([str(listener) for listener in arbiter.LISTENERS]),
    ).run()


def _let_go(worker: Any) -> None:
    """Let the store know, before a worker ends, what that has counted for the poisoning meter."""
    app = getattr(worker, "wsgi", None)
    if isinstance(app, Flask):
        for intake in app.extensions["ldp"].intakes.values():
            intake.flush()
