"""What is audited: anything that turns a row into the bytes that leave a device.

A :class:`Device` is all that the audit needs: bodies from `report` and `attempts`. Where a device also has
the method `send` of :class:`Sending`, the audit measures whole requests as well, and compares the reports
of one device to two surveys. The client of this project has all three methods. For any other client the
audit measures what its class here returns, and says that requests were not measured if `send` is absent.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import ldp_client
from encoders.randomness import SystemEntropy
from encoders.survey import Plan
from encoders.survey.invitation import draw_invitation
from ldp_audit.people import Case
from ldp_audit.request_capture import HOST, Request, captured
from ldp_client import Client, Journal, Response, TransportError

_URL = f"http://{HOST}/v1/surveys/"
_WAIT = 0.03
_PATIENCE = 60.0

Row = Mapping[str, object]


class Reporting(Protocol):
    """Whatever makes reports."""

    def report(self, plan: Plan, row: Row, label: str) -> bytes:
        """Return what one person's device would send: one body, empty if it sends nothing."""
        ...


class Device(Reporting, Protocol):
    """A client, ours or another, as the world outside sees it."""

    def attempts(self, plan: Plan, row: Row, label: str) -> list[bytes]:
        """Return all that one person's device posts while the network fails and the app is restarted."""
        ...


@runtime_checkable
class Sending(Protocol):
    """A device whose whole requests can be captured."""

    def send(self, plans: Sequence[Plan], row: Row, label: str) -> list[Request]:
        """Return all requests of one new device, on which the person answers these surveys in turn."""
        ...


class PublicClient:
    """The client of this project, through its public functions.

    Attributes
    ----------
    client_class : type of Client
        What `send` and `attempts` make clients of.
    """

    client_class = Client

    def report(self, plan: Plan, row: Row, label: str) -> bytes:
        """Return the report that :func:`ldp_client.make_report` makes."""
        return ldp_client.make_report(plan, row, label, token=_invitation(plan))

    def send(self, plans: Sequence[Plan], row: Row, label: str) -> list[Request]:
        """Return what HttpTransport writes for :meth:`ldp_client.Client.report`."""
        journal = _NewJournal(":memory:")
        with captured() as requests:
            for plan in plans:
                with self._client(plan, journal, spread=0) as client:
                    client.grant()
                    client.report(row, label)
                    client.flush(_PATIENCE)
        return requests

    def attempts(self, plan: Plan, row: Row, label: str) -> list[bytes]:
        """Let a client report into a failing network, and another one after a restart into a sound one."""
        network, journal = _Network(), Journal(":memory:")
        token = _invitation(plan)
        for network.sound, seconds in ((False, _WAIT), (True, _PATIENCE)):
            with self._client(plan, journal, transport=network, token=token) as client:
                client.grant()
                client.report(row, label)
                client.flush(seconds)  # tries again at once
                network.tried.wait(_PATIENCE)  # on a busy machine the first attempt takes its time
        return network.bodies

    def _client(self, plan: Plan, journal: Journal, **options: Any) -> Client:
        """Return a client of the device that this journal belongs to."""
        options = {"token": _invitation(plan)} | options
        return self.client_class(
            plan,
            _URL + plan.id,
            journal=journal,
            max_epsilon=float(plan.epsilon),
            strict=True,
            **options,
        )


class Sent:
    """Makes the reports that a device really sends.

    Parameters
    ----------
    device : Sending
    """

    def __init__(self, device: Sending) -> None:
        self._device = device

    def report(self, plan: Plan, row: Row, label: str) -> bytes:
        """Return the body that is sent."""
        return body_of(self._device.send([plan], row, label))


def ways_of(device: Device) -> dict[str, Reporting]:
    """Return the ways in which a device makes reports: by `report`, and by `send` if it has that."""
    return {"reports": device} | ({"requests": Sent(device)} if isinstance(device, Sending) else {})


def body_of(requests: Sequence[Request]) -> bytes:
    """Return the body of the one request, nothing if there are none or several."""
    return requests[0].body if len(requests) == 1 else b""


def whole_of(requests: Sequence[Request]) -> bytes:
    """Return all that a device sends, the body first: its bytes are then at the same places."""
    return b"".join(request.body + request.head for request in requests)


def requests_of(
    device: Sending, plan: Plan, people: Sequence[Case], count: int
) -> dict[str, list[list[Request]]]:
    """Return the requests of so many devices of each person."""
    return {case.name: [device.send([plan], case.row, case.label) for _ in range(count)] for case in people}


def _invitation(plan: Plan) -> str | None:
    """Return a token for one person, where people are invited."""
    return draw_invitation(plan, SystemEntropy()) if plan.by_invitation else None


class _NewJournal(Journal):
    """The journal of a new device, in memory: a client that starts finds nothing to send."""

    def exists(self) -> bool:
        """Return False."""
        return False


class _Network:
    """Takes bodies down; answers only while it is sound."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.sound = False
        self.tried = threading.Event()

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        """Note the body."""
        self.bodies.append(body or b"")
        self.tried.set()
        if not self.sound:
            raise TransportError("no network")
        return Response(200, b'{"status": "recorded"}')
