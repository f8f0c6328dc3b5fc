"""The devices that can be audited: objects that convert a row to the bytes that leave a device.

The audit needs a :class:`Device`. If it also has the method `send` of :class:`RequestDevice`, the audit
measures whole requests as well, and compares the reports of one device to two surveys. :class:`PublicClient`,
the client of this project, has all methods. To audit another client, write a class with these methods.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from encoders.randomness import SystemEntropy
from encoders.survey import Plan
from encoders.survey.invitation import draw_invitation
from ldp_audit.people import Person
from ldp_audit.request_capture import SURVEYS_URL, Request, capture_requests
from ldp_audit.series_audit import Bodies, History, Offer, row_of, simulate_clock
from ldp_client import Client, Journal, Response, State, TransportError, make_report

_OFFLINE_SECONDS = 0.03
_TIMEOUT_SECONDS = 60.0

Row = Mapping[str, object]


class Reporter(Protocol):
    def report(self, plan: Plan, row: Row, label: str | None) -> bytes:
        """Return the body that one person's device would send; empty if it sends nothing."""


class Device(Reporter, Protocol):
    """A client, of this project or of another, as an eavesdropper observes it."""

    def attempts(self, plan: Plan, row: Row, label: str | None) -> list[bytes]:
        """Return all bodies that a person's device posts while the network fails and the app is restarted."""


@runtime_checkable
class RequestDevice(Protocol):
    """A device whose whole HTTP requests can be captured."""

    def send(self, plans: Sequence[Plan], row: Row, label: str | None) -> list[Request]:
        """Return all requests of a new device on which the person answers the surveys of `plans` in turn."""


class PublicClient:
    """The client of this project, through its public functions."""

    client_class: type[Client] = Client

    def report(self, plan: Plan, row: Row, label: str | None) -> bytes:
        return make_report(plan, row, label, token=_draw_token(plan))

    def send(self, plans: Sequence[Plan], row: Row, label: str | None) -> list[Request]:
        """Return the requests that HttpTransport writes for :meth:`ldp_client.Client.report`."""
        journal = _NewJournal(":memory:")
        with capture_requests() as requests:
            for plan in plans:
                with self._client(plan, journal, spread=0) as client:
                    client.grant()
                    client.report(row, label)
                    client.flush(_TIMEOUT_SECONDS)
        return requests

    def attempts(self, plan: Plan, row: Row, label: str | None) -> list[bytes]:
        """Return the bodies that a client posts while the network fails, and after a restart."""
        network, journal = SimulatedNetwork(), Journal(":memory:")
        token = _draw_token(plan)
        for network.works, seconds in ((False, _OFFLINE_SECONDS), (True, _TIMEOUT_SECONDS)):
            with self._client(plan, journal, transport=network, token=token) as client:
                client.grant()
                client.report(row, label)
                client.flush(seconds)  # tries again at once
                network.attempted.wait(_TIMEOUT_SECONDS)  # on a busy machine the first attempt takes its time
        return network.bodies

    def series(self, plan: Plan, history: History) -> Bodies:
        """Return the bodies that a device sends in each wave, and when its clock was set back after all."""
        assert plan.waves is not None
        waves, journal, network = plan.waves.list, _NewJournal(":memory:"), SimulatedNetwork()
        network.works = True
        options = {"transport": network, "token": _draw_token(plan), "spread": 0}
        sent: Bodies = [[] for _ in waves]
        with simulate_clock() as clock:
            clock.now = waves[history.joins].opens - 1
            with self._client(plan, journal, **options) as client:
                client.grant()
            for wave, person in [*enumerate(history.people)] * 2:  # once more: the clock is set back
                if person is None:
                    continue
                clock.now, before = waves[wave].opens, len(network.bodies)
                with self._client(plan, journal, **options) as client:
                    client.withdraw()
                    client.grant()
                    if client.report(person.row, person.label).state is State.QUEUED:
                        client.flush(_TIMEOUT_SECONDS)
                sent[wave] += network.bodies[before:]
        return sent

    def standing(self, offers: Sequence[Offer], lifetime: float, person: Person, ends: int) -> Bodies:
        """Return the bodies that a device sends for each plan of a series; see :class:`StandingDevice`."""
        network, journal = SimulatedNetwork(offers), _NewJournal(":memory:")
        network.works = True
        sent: Bodies = [[] for _ in offers]
        for at, offer in [*enumerate(offers)] * 2:
            before, relay = len(network.bodies), offer.host if offer.plan.relay else None
            with self.client_class(
                offer.url,
                public_key=offer.public_key,
                relay=relay,
                journal=journal,
                transport=network,
                max_epsilon=32,
                max_local_epsilon=64,
                spread=0,
            ) as client:
                if at == 0 and not any(sent):
                    client.grant(series=True, lifetime_epsilon=lifetime)
                if at == ends:
                    client.withdraw()
                client.renew()
                if client.report(*row_of(offer, person)).state is State.QUEUED:
                    client.flush(_TIMEOUT_SECONDS)
            sent[at] += network.bodies[before:]
        return sent

    def _client(self, plan: Plan, journal: Journal, **options: Any) -> Client:
        options = {"token": _draw_token(plan)} | options
        return self.client_class(
            plan,
            SURVEYS_URL + plan.id,
            journal=journal,
            max_epsilon=float(plan.epsilon),
            strict=True,
            **options,
        )


@dataclass(frozen=True)
class RequestReporter:
    device: RequestDevice

    def report(self, plan: Plan, row: Row, label: str | None) -> bytes:
        return request_body(self.device.send([plan], row, label))


def list_reporters(device: Device) -> dict[str, Reporter]:
    """Return the ways in which a device makes reports, by name: `report`, and `send` if it has this."""
    return {"reports": device} | (
        {"requests": RequestReporter(device)} if isinstance(device, RequestDevice) else {}
    )


def request_body(requests: Sequence[Request]) -> bytes:
    """Return the body of the only request; empty if there is not exactly one request."""
    return requests[0].body if len(requests) == 1 else b""


def join_requests(requests: Sequence[Request]) -> bytes:
    """Return all bytes that a device sends, bodies first, so that their bytes have fixed positions."""
    return b"".join(request.body + request.head for request in requests)


def collect_requests(
    device: RequestDevice, plan: Plan, people: Sequence[Person], count: int
) -> dict[str, list[list[Request]]]:
    """Return the requests of `count` new devices of each person, by the person's name."""
    return {
        person.name: [device.send([plan], person.row, person.label) for _ in range(count)]
        for person in people
    }


def _draw_token(plan: Plan) -> str | None:
    return draw_invitation(plan, SystemEntropy()) if plan.by_invitation else None


class _NewJournal(Journal):
    """The journal of a new device, in memory; it has no queued reports when a client starts."""

    def exists(self) -> bool:
        return False


class SimulatedNetwork:
    """A transport that records bodies; while it works, it responds as a collector or relay of the offers."""

    def __init__(self, offers: Sequence[Offer] = ()) -> None:
        self.bodies: list[bytes] = []
        self.refused = 0
        self._pages = {f"{each.url}{end}": each.plan.json for each in offers for end in ("", "/plan")}
        self._pages |= {f"{each.url}/signature": each.signature.encode() for each in offers}
        self.works = False
        self.attempted = threading.Event()

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> Response:
        if method == "GET" and url in self._pages:
            return Response(200, self._pages[url])
        if method == "DELETE" and body in self.bodies:  # a withdrawal names what was sent, by its bytes
            return Response(204, b"")
        self.bodies.append(body or b"")
        self.attempted.set()
        if not self.works:
            self.refused += 1
            raise TransportError("no network")
        status = "recorded" if url.endswith("/reports") else "held"
        return Response(200 if status == "recorded" else 202, f'{{"status": "{status}"}}'.encode())
