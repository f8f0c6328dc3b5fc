"""The devices that can be audited: anything that turns a row into the bytes that leave a device.

The audit needs a :class:`Device`: bodies from `report` and `attempts`. Where a device also has the method
`send` of :class:`RequestDevice`, the audit measures whole requests as well, and compares the reports of one
device to two surveys. The client of this project, :class:`PublicClient`, has all three methods. For any
other client the audit measures what its class here returns.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import ldp_client
from encoders.randomness import SystemEntropy
from encoders.survey import Plan
from encoders.survey.invitation import draw_invitation
from ldp_audit.people import Person
from ldp_audit.request_capture import HOST, Request, capture_requests
from ldp_client import Client, Journal, Response, TransportError

_URL = f"http://{HOST}/v1/surveys/"
_OFFLINE_SECONDS = 0.03
_TIMEOUT_SECONDS = 60.0

Row = Mapping[str, object]


class Reporter(Protocol):
    """Makes the report of one person."""

    def report(self, plan: Plan, row: Row, label: str) -> bytes:
        """Return what one person's device would send: one body, empty if it sends nothing."""
        ...


class Device(Reporter, Protocol):
    """A client, of this project or another, as an eavesdropper observes it."""

    def attempts(self, plan: Plan, row: Row, label: str) -> list[bytes]:
        """Return all that one person's device posts while the network fails and the app is restarted."""
        ...


@runtime_checkable
class RequestDevice(Protocol):
    """A device whose whole HTTP requests can be captured."""

    def send(self, plans: Sequence[Plan], row: Row, label: str) -> list[Request]:
        """Return all requests of one new device, on which the person answers these surveys in turn."""
        ...


class PublicClient:
    """The client of this project, through its public functions.

    Attributes
    ----------
    client_class : type of Client
        The class of the clients that `send` and `attempts` make.
    """

    client_class: type[Client] = Client

    def report(self, plan: Plan, row: Row, label: str) -> bytes:
        """Return the report that :func:`ldp_client.make_report` makes."""
        return ldp_client.make_report(plan, row, label, token=_draw_token(plan))

    def send(self, plans: Sequence[Plan], row: Row, label: str) -> list[Request]:
        """Return what HttpTransport writes for :meth:`ldp_client.Client.report`."""
        journal = _NewJournal(":memory:")
        with capture_requests() as requests:
            for plan in plans:
                with self._client(plan, journal, spread=0) as client:
                    client.grant()
                    client.report(row, label)
                    client.flush(_TIMEOUT_SECONDS)
        return requests

    def attempts(self, plan: Plan, row: Row, label: str) -> list[bytes]:
        """Let a client report into a failing network, and another one after a restart into a working one."""
        network, journal = _Network(), Journal(":memory:")
        token = _draw_token(plan)
        for network.works, seconds in ((False, _OFFLINE_SECONDS), (True, _TIMEOUT_SECONDS)):
            with self._client(plan, journal, transport=network, token=token) as client:
                client.grant()
                client.report(row, label)
                client.flush(seconds)  # tries again at once
                network.attempted.wait(_TIMEOUT_SECONDS)  # on a busy machine the first attempt takes its time
        return network.bodies

    def _client(self, plan: Plan, journal: Journal, **options: Any) -> Client:
        """Return a client of the device that this journal belongs to."""
        options = {"token": _draw_token(plan)} | options
        return self.client_class(
            plan,
            _URL + plan.id,
            journal=journal,
            max_epsilon=float(plan.epsilon),
            strict=True,
            **options,
        )


class RequestReporter:
    """Makes the reports of a device from the requests that it sends.

    Parameters
    ----------
    device : RequestDevice
    """

    def __init__(self, device: RequestDevice) -> None:
        self._device = device

    def report(self, plan: Plan, row: Row, label: str) -> bytes:
        """Return the body that is sent."""
        return request_body(self._device.send([plan], row, label))


def list_reporters(device: Device) -> dict[str, Reporter]:
    """Return the ways in which a device makes reports: by `report`, and by `send` if it has it."""
    return {"reports": device} | (
        {"requests": RequestReporter(device)} if isinstance(device, RequestDevice) else {}
    )


def request_body(requests: Sequence[Request]) -> bytes:
    """Return the body of the one request, empty if there are none or several."""
    return requests[0].body if len(requests) == 1 else b""


def join_requests(requests: Sequence[Request]) -> bytes:
    """Return all that a device sends, the body first: its bytes are then at the same places."""
    return b"".join(request.body + request.head for request in requests)


def collect_requests(
    device: RequestDevice, plan: Plan, people: Sequence[Person], count: int
) -> dict[str, list[list[Request]]]:
    """Return the requests of so many devices of each person."""
    return {
        person.name: [device.send([plan], person.row, person.label) for _ in range(count)]
        for person in people
    }


def _draw_token(plan: Plan) -> str | None:
    """Return a token for one person, where people are invited."""
    return draw_invitation(plan, SystemEntropy()) if plan.by_invitation else None


class _NewJournal(Journal):
    """The journal of a new device, in memory: a client that starts finds nothing to send."""

    def exists(self) -> bool:
        """Return False."""
        return False


class _Network:
    """A transport that records bodies, and responds only while it works."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.works = False
        self.attempted = threading.Event()

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        """Record the body."""
        self.bodies.append(body or b"")
        self.attempted.set()
        if not self.works:
            raise TransportError("no network")
        return Response(200, b'{"status": "recorded"}')
