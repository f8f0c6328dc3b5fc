"""Run the collector under gunicorn: several workers, nothing logged about senders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication


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
        """Make the application, in the worker."""
        return self._make_app()


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
        worker_class="gthread",
        accesslog=None,
        loglevel="error",  # gunicorn's warning of a garbled request names its sender's address
        control_socket_disable=True,
        proc_name="ldp-collector",
        when_ready=lambda arbiter: announce([str(listener) for listener in arbiter.LISTENERS]),
    ).run()
