"""Run the collector under gunicorn: several workers, replaced on SIGHUP."""

from __future__ import annotations

import errno
import logging
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from flask import Flask
from gunicorn import util
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter

from encoders.errors import LdpError
from ldp_aggregator.collector.service import SettingsError
from ldp_aggregator.collector.serving import logs
from ldp_aggregator.collector.serving.worker import CONNECTIONS, KEEPALIVE_SECONDS, Worker
from ldp_aggregator.stores import StoreError

_PAUSE = 2.0
"""Seconds between a worker that found no store and the next."""


@dataclass(frozen=True)
class Work:
    """What the workers do.

    Attributes
    ----------
    make_app : callable
        Makes the application; called once in every worker, after the fork.
    surveys : list of str
        The surveys that were read from files, by id.
    workers, threads : int
    """

    make_app: Callable[[], Flask]
    surveys: list[str]
    workers: int
    threads: int


class Server(BaseApplication):  # type: ignore[misc]
    """Gunicorn around the work.

    Parameters
    ----------
    work : Work
    renew : callable
        Reads the work again; if it raises, the old one goes on.
    options : Any
        Gunicorn's settings.
    """

    def __init__(self, work: Work, renew: Callable[[], Work], **options: Any) -> None:
        self.work, self._renew, self._options = work, renew, options
        super().__init__()

    def load_config(self) -> None:
        """Hand the settings to gunicorn; its own files are not read."""
        options = self._options | {"workers": self.work.workers, "threads": self.work.threads}
        for name, value in options.items():
            if name in self.cfg.settings:  # older versions lack the newest ones
                self.cfg.set(name, value)

    def load(self) -> Flask:
        """Make the application, in the worker; if its store is away, leave it to the next worker."""
        try:
            return self.work.make_app()
        except StoreError as error:  # gunicorn would end altogether: to it, this is no way to start
            logs.tell("store-unavailable", logging.ERROR, kind=logs.kind_of(error))
            time.sleep(_PAUSE)
            raise SystemExit(1) from error
        except Exception as error:  # gunicorn would print its message
            logs.tell_unexpected(error)
            raise SystemExit(Arbiter.WORKER_BOOT_ERROR) from error

    def renew(self) -> bool:
        """Read the work again; tell whether there is any to change to."""
        try:
            self.work = self._renew()
        except Exception as error:  # whatever it is, the old work is as good as before
            logs.tell("reload-failed", logging.ERROR, reason=_why(error))
            return False
        return True

    def run(self) -> None:
        """Serve."""
        _Master(self).run()


def _why(error: Exception) -> str:
    """Return what this project says of an error, or else its kind: another's text may hold an address."""
    own = isinstance(error, LdpError) and not (isinstance(error, StoreError) and error.__cause__)
    return str(error) if own else logs.kind_of(error)


class _Master(Arbiter):  # type: ignore[misc]
    """Gunicorn's master, which tells what it is told to do."""

    def handle_hup(self) -> None:
        if self.app.renew():
            super().handle_hup()
            logs.tell("reloaded", surveys=self.app.work.surveys, workers=self.app.work.workers)

    def handle_term(self) -> None:
        logs.tell("stopping")
        super().handle_term()

    def handle_int(self) -> None:
        logs.tell("stopping")
        super().handle_int()

    def handle_quit(self) -> None:
        logs.tell("stopping")
        super().handle_quit()


def require_addresses(addresses: Mapping[str, str]) -> None:
    """Check that this process can listen at addresses, before gunicorn tries to for seconds.

    Parameters
    ----------
    addresses : mapping of str to str
        HOST:PORT by the option that names it.

    Raises
    ------
    SettingsError
        With the option, the address, the reason and the fix.
    """
    with ExitStack() as listeners:  # all are open at once, so that two equal addresses are noticed
        for option, address in addresses.items():
            try:
                host, port = util.parse_address(address)
                family = socket.AF_INET6 if util.is_ipv6(host) else socket.AF_INET
                listener = listeners.enter_context(socket.socket(family))
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind((host, port))
                listener.listen()
            except RuntimeError as error:
                raise SettingsError(f"{option} {address}: write an IPv6 address as [::1]:8000") from error
            except OSError as error:
                raise SettingsError(
                    f"{option} {address}: cannot listen there: {_bind_reason(error)}"
                ) from error


def _bind_reason(error: OSError) -> str:
    if isinstance(error, socket.gaierror):
        return "this machine cannot resolve the host; name one of its own addresses"
    reasons = {
        errno.EADDRINUSE: "the port is in use; stop what listens on it, or choose another port",
        errno.EACCES: "this user may not use the port; choose one from 1024 on",
        errno.EADDRNOTAVAIL: "this machine does not have the address; name one of its own, or 0.0.0.0",
    }
    return reasons.get(error.errno or 0) or error.strerror or type(error).__name__


def serve(
    work: Work,
    renew: Callable[[], Work],
    bind: str,
    announce: Callable[[list[str]], None],
    operator_bind: str | None = None,
) -> None:
    """Serve until told to stop (SIGTERM, SIGINT).

    Parameters
    ----------
    work : Work
    renew : callable
        Reads the work again on SIGHUP; if it raises, the old one goes on.
    bind : str
        HOST:PORT; port 0 takes a free one.
    announce : callable
        Gets the addresses once the sockets listen, the operator's last.
    operator_bind : str, optional
        HOST:PORT of the operator's pages, if they have an address of their own.
    """

    def ready(master: Arbiter) -> None:
        logs.install_hooks()
        announce([str(listener) for listener in master.LISTENERS])
        logs.tell("started", surveys=work.surveys, workers=work.workers)

    logs.install()
    Server(
        work,
        renew,
        bind=[bind, operator_bind] if operator_bind else bind,
        worker_class=f"{Worker.__module__}.{Worker.__name__}",  # by name: older versions take no class
        worker_connections=CONNECTIONS,
        backlog=CONNECTIONS,
        keepalive=KEEPALIVE_SECONDS,
        forwarded_allow_ips="",
        accesslog=None,
        errorlog=None,  # what it says goes through logs.py
        loglevel="warning",
        control_socket_disable=True,
        proc_name="ldp-collector",
        post_worker_init=lambda worker: logs.tell("worker-started", pid=worker.pid),
        worker_exit=lambda _, worker: _let_go(worker),
        child_exit=lambda _, worker: logs.tell("worker-stopped", pid=worker.pid),
        when_ready=ready,
        on_exit=lambda _: logs.tell("stopped"),
    ).run()


def _let_go(worker: Any) -> None:
    """Write what a worker still holds back, and close its store."""
    app = getattr(worker, "wsgi", None)
    if isinstance(app, Flask):
        for intake in app.extensions["ldp"].intakes.values():
            intake.flush()
        app.extensions["ldp"].store.close()
