"""What is audited: anything that turns a row into the bytes that leave a device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import ldp_client
from encoders.randomness import SystemEntropy
from encoders.survey import Plan
from encoders.survey.enrolment import drawn_token
from ldp_client import Answer, Client, Journal, TransportError

_HOST = "http://audit.invalid/v1/surveys/"
_WAIT = 0.03

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
        return ldp_client.make_report(plan, row, label, token=_invitation(plan))

    def attempts(self, plan: Plan, row: Row, label: str) -> list[bytes]:
        """Let a client report into a failing network, and another one after a restart into a sound one."""
        network, journal, token = _Network(), Journal(":memory:"), _invitation(plan)
        for network.sound in (False, True):
            with Client(
                plan,
                _HOST + plan.id,
                journal=journal,
                transport=network,
                max_epsilon=float(plan.epsilon),
                token=token,
                strict=True,
            ) as client:
                client.grant()
                client.report(row, label)
                client.flush(_WAIT)  # tries again at once
        return network.bodies


def _invitation(plan: Plan) -> str | None:
    """Return a token for one person, where people are invited."""
    return drawn_token(plan, SystemEntropy()) if plan.by_invitation else None


class _Network:
    """Takes bodies down; answers only while it is sound."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.sound = False

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Answer:
        """Note the body."""
        self.bodies.append(body or b"")
        if not self.sound:
            raise TransportError("no network")
        return Answer(200, b'{"status": "recorded"}')
