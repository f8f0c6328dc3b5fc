"""The clients that share one sender."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ldp_client.policy import ClientPolicy
from ldp_client.receipt import Receipt
from ldp_client.survey_identity import SurveyIdentity
from ldp_client.transport import Transport

MAX_CLIENTS_PER_SURVEY = 20
"""The latest clients of a survey that a sender keeps: an application may never close its clients."""


class SenderClient(Protocol):
    identity: SurveyIdentity
    transport: Transport
    spread: float
    policy: ClientPolicy

    def handle_outcome(self, receipt: Receipt) -> None:
        """Receive the outcome of the survey's report."""


class SenderClients:
    """The clients of a sender, by survey; iterates over those that are open.

    `last_transport` is that of the client that was added last; it sends reports of surveys without an open
    client.
    """

    def __init__(self) -> None:
        self._open: dict[str, list[SenderClient]] = {}
        self._last_closed: list[SenderClient] = []
        self.last_transport: Transport | None = None

    def __iter__(self) -> Iterator[SenderClient]:
        return iter([client for clients in self._open.values() for client in clients])

    def add(self, client: SenderClient) -> None:
        """Add a client unless it is open already; keep the newest MAX_CLIENTS_PER_SURVEY of its survey."""
        clients = self._open.setdefault(client.identity.survey, [])
        if client not in clients:
            clients.append(client)
            del clients[:-MAX_CLIENTS_PER_SURVEY]
        self.last_transport = client.transport

    def close(self, client: SenderClient) -> None:
        """Remove a client if it is open. If its survey has no other open client, its policy still applies."""
        clients = self._open.get(client.identity.survey, [])
        if client in clients:
            clients.remove(client)
            others = [each for each in self._last_closed if not each.identity.matches(client.identity)]
            self._last_closed = [*others, client]

    def find(self, survey: SurveyIdentity) -> list[SenderClient]:
        """Return the open clients of a survey, or else the one that was closed last."""
        clients = [each for each in self._open.get(survey.survey, ()) if each.identity.matches(survey)]
        return clients or [each for each in self._last_closed if each.identity.matches(survey)]
