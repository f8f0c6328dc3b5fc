"""What is audited: anything that turns a row into the bytes that leave a device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import ldp_client
from encoders.survey import Plan
from ldp_client import Answer, Client, Journal, TransportError

_HOST = "http://audit.invalid/v1/surveys/"
_TRIES = 3
_WAIT = 5.0

Row = Mapping[str, object]


class Device(Protocol):
    """A client, ours or another, as the world outside sees it."""

    def report(self, plan: Plan, row: Row, label: str) -> bytes:
        """Return what one person's device would send: one body, empty if it sends nothing."""
        ...

    def attempts(self, plan: Plan, row: Row, label: str) -> list[bytes]:
        """Return all that one person's device posts while the network fails and the app is restarted."""
        ...


class PublicClient:
    """The client of this project, through its public functions."""

    def report(self, plan: Plan, row: Row, label: str) -> bytes:
        """Return the report that :func:`ldp_client.make_report` makes."""
        return ldp_client.make_report(plan, row, label)

    def attempts(self, plan: Plan, row: Row, label: str) -> list[bytes]:
        """Let clients report into a failing network: twice by one, once more after a restart."""
        network, journal = _FailingNetwork(), Journal(":memory:")
        for tries in (2, 1):
            with Client(
                plan,
                _HOST + plan.id,
                journal=journal,
                transport=network,
                max_epsilon=float(plan.epsilon),
                strict=True,
            ) as client:
                for _ in range(tries):
                    client.report(row, label)
                    client.flush(_WAIT)
        return network.bodies


class _FailingNetwork:
    """Takes a few bodies without an answer; then it answers, so that senders stop."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Answer:
        """Note the body."""
        self.bodies.append(body or b"")
        if len(self.bodies) < _TRIES:
            raise TransportError("no network")
        return Answer(200, b'{"status": "recorded"}')
