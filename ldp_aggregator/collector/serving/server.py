"""Runs the collector under gunicorn: several workers, replaced on SIGHUP."""

from __future__ import annotations

import errno
import logging
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from flask import Flask
from gunicorn import util
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.workers.gthread import ThreadWorker

from encoders.build import find_build
from encoders.errors import LdpError
from encoders.server_sockets import MAX_CONNECTIONS, allow_connections, require_no_passed_sockets
from ldp_aggregator.collector.access_tokens import WARNING_DAYS
from ldp_aggregator.collector.auth import OPERATOR_ADDRESS
from ldp_aggregator.collector.errors import SettingsError
from ldp_aggregator.collector.serving import logs
from ldp_aggregator.collector.serving.traffic import Traffic
from ldp_aggregator.collector.settings import MAX_PROCESSES
from ldp_aggregator.collector.startup import PublishedSurveys
from ldp_aggregator.stores import StoreError, StoreFailure

KEEPALIVE_SECONDS = 5
_OPERATOR_THREADS = 2
"""Threads of each worker for the operator's separate address."""
_RETRY_SECONDS = 2.0
"""Pause after a worker that could not use the store, before the next one starts."""
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


class Server(BaseApplication):  # type: ignore[misc]
    """The collector as gunicorn's application, with gunicorn's settings as `options`; see :func:`serve`."""

    def __init__(
        self, published: PublishedSurveys, publish_again: Callable[[], PublishedSurveys], **options: Any
    ) -> None:
        self.published = published
        self._publish_again = publish_again
        self._options = options
        super().__init__()

    def load_config(self) -> None:
        settings = self.published.settings
        options = self._options | {"workers": settings.workers, "threads": settings.threads}
        for name, value in options.items():
            if name in self.cfg.settings:  # older versions of gunicorn lack some
                self.cfg.set(name, value)

    def load(self) -> Flask:
        """Make the application, in the worker; end the worker if its store cannot be used."""
        try:
            return self.published.make_app()
        except StoreError as error:  # else gunicorn would end: a worker that cannot boot ends the master
            logs.log_store_unavailable(error)
            time.sleep(_RETRY_SECONDS)
            raise SystemExit(1) from error
        except Exception as error:  # else gunicorn would print its message
            logs.log_unexpected_error(error)
            raise SystemExit(Arbiter.WORKER_BOOT_ERROR) from error

    def publish_again(self) -> bool:
        try:
            self.published = self._publish_again()
        except Exception as error:  # on any error, the old surveys are still served
            logs.log_event("reload-failed", logging.ERROR, reason=_error_reason(error))
            return False
        return True

    def log_surveys(self, event: str, **fields: Any) -> None:
        surveys = [plan.id for plan in self.published.plans]
        logs.log_event(event, surveys=surveys, workers=self.published.settings.workers, **fields)
        for error in self.published.damaged.values():
            logs.log_store_unavailable(error)
        for token in self.published.settings.tokens:
            if token.days_left <= WARNING_DAYS:
                expires = str(token.expires)
                logs.log_event("token-expires", logging.WARNING, token=token.name, expires=expires)

    def run(self) -> None:
        _Master(self).run()


def _error_reason(error: Exception) -> str:
    """Return the message of an LdpError, else the error's kind: other messages may contain an address."""
    if isinstance(error, StoreError) and error.__cause__:
        return logs.error_kind(error) if error.reason is StoreFailure.OTHER else error.reason
    return str(error) if isinstance(error, LdpError) else logs.error_kind(error)


class _Master(Arbiter):  # type: ignore[misc]
    def spawn_worker(self) -> int:
        """Start a worker; a signal to stop that it gets before it has its own handlers ends it at once."""
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
        try:
            return int(super().spawn_worker())
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)

    def kill_worker(self, pid: int, sig: int) -> None:
        if sig in _STOP_SIGNALS and pid in self.WORKERS:
            self.WORKERS[pid].asked_to_end = True
        super().kill_worker(pid, sig)

    def handle_hup(self) -> None:
        former = {plan.id for plan in self.app.published.plans}
        if self.app.publish_again():
            super().handle_hup()
            new = {plan.id: plan.digest for plan in self.app.published.plans if plan.id not in former}
            self.app.log_surveys("reloaded", new=new)

    def halt(self, reason: str | None = None, exit_status: int = 0) -> None:
        if reason is None:  # a signal
            logs.log_event("stopping")
        super().halt(reason, exit_status)


class _Threads(ThreadPoolExecutor):
    """A worker's threads. Those of the operator's separate address serve /metrics while all others wait."""

    def __init__(self, worker: _Worker) -> None:
        super().__init__(worker.cfg.threads)
        self._worker, self._for_operator = worker, ThreadPoolExecutor(_OPERATOR_THREADS)

    def submit(self, run: Callable[..., Any], /, connection: Any) -> Future[Any]:  # type: ignore[override]
        if connection.server == self._worker.operator_address:
            return self._for_operator.submit(run, connection)
        return super().submit(run, connection)


class _Worker(ThreadWorker):  # type: ignore[misc]
    """A worker that refuses new connections while it finishes requests; gunicorn's worker lets them wait."""

    asked_to_end = False
    traffic_row = 0
    operator_address: tuple[Any, ...] | None = None

    def get_thread_pool(self) -> ThreadPoolExecutor:
        return _Threads(self)

    def set_accept_enabled(self, enabled: bool) -> None:
        super().set_accept_enabled(enabled)
        if not (enabled or self.alive):
            for listener in self.sockets:
                listener.close()


def require_addresses(addresses: Mapping[str, str]) -> None:
    """Raise SettingsError unless this process can listen at the addresses; gunicorn would retry for seconds.

    `addresses` are HOST:PORT by option. The error has option, address, reason and fix. If systemd has passed
    sockets, LdpError is raised.
    """
    require_no_passed_sockets(" and ".join(addresses))
    with ExitStack() as listeners:  # all open at once: two equal addresses fail
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
    published: PublishedSurveys,
    publish_again: Callable[[], PublishedSurveys],
    print_addresses: Callable[[list[str]], None],
) -> None:
    """Serve until stopped (SIGTERM, SIGINT).

    `publish_again` reads settings and surveys again on SIGHUP; if it raises, the old ones are served.
    `print_addresses` is called when the sockets listen; the operator's address is last.
    """

    def when_ready(master: Arbiter) -> None:
        logs.install_exception_hooks()
        print_addresses([str(listener) for listener in master.LISTENERS])
        counts = dict(published.report_counts)
        build = vars(find_build())
        master.app.log_surveys("started", **build, reports=counts, new_store=published.new_store)

    def release_worker(_: Arbiter, worker: _Worker) -> None:
        traffic.release_row(worker.traffic_row, restart=not worker.asked_to_end)
        logs.log_event("worker-stopped", pid=worker.pid)

    logs.configure_logging()
    traffic = Traffic(rows=4 * MAX_PROCESSES)  # at a reload, former workers finish their requests
    Server(
        published,
        publish_again,
        bind=list(published.settings.addresses.values()),
        worker_class=_Worker,
        worker_connections=allow_connections(published.settings.threads),
        backlog=MAX_CONNECTIONS,
        keepalive=KEEPALIVE_SECONDS,
        forwarded_allow_ips="",
        accesslog=None,
        errorlog=None,  # logs.py handles its messages
        loglevel="warning",
        control_socket_disable=True,
        proc_name="ldp-collector",
        post_fork=lambda _master, _worker: _end_on_stop_signals(),
        pre_fork=lambda _master, worker: setattr(worker, "traffic_row", traffic.take_row()),
        post_worker_init=lambda worker: _start_worker(worker, traffic),
        worker_exit=lambda _, worker: _close_worker(worker),
        child_exit=release_worker,
        when_ready=when_ready,
        on_exit=lambda _: logs.log_event("stopped"),
    ).run()


def _end_on_stop_signals() -> None:
    """End this new worker on a signal to stop; the master's handlers, which it inherits, would ignore it."""
    for number in _STOP_SIGNALS:
        signal.signal(number, lambda *_: sys.exit(0))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)


def _start_worker(worker: _Worker, traffic: Traffic) -> None:
    if worker.sockets[1:]:
        worker.operator_address = worker.sockets[1].getsockname()
        worker.wsgi.config[OPERATOR_ADDRESS] = tuple(map(str, worker.operator_address[:2]))
    worker.wsgi.extensions["ldp"].traffic.use_row(traffic, worker.traffic_row)
    logs.log_event("worker-started", pid=worker.pid)


def _close_worker(worker: Any) -> None:
    app = getattr(worker, "wsgi", None)
    if isinstance(app, Flask):
        for intake in app.extensions["ldp"].intakes.values():
            intake.flush()
        app.extensions["ldp"].store.close()
