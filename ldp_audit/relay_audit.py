"""The relay layer: what a relay, its collector and a watcher of the device see of sealed messages.

The auditor puts two keys of its own in the plan, so that it can open the messages. All other layers audit the
same survey without its relay: what is inside a sealed message is the report that they measure.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np
from scipy.stats import hypergeom

from encoders.errors import LdpError, Reason, ReportError
from encoders.report import Report
from encoders.survey import Plan
from encoders.survey.randomise import read_report
from encoders.survey.sealing import SealError, column_bytes, outer_bytes
from encoders.survey.unsealing import PrivateKey, make_private_key, open_inner, open_outer
from ldp_audit.device import SimulatedNetwork
from ldp_audit.homogeneity import min_p_value
from ldp_audit.people import Person
from ldp_audit.request_capture import Request, capture_requests, check_requests
from ldp_audit.result import RELAY, Check
from ldp_client import Client, Journal

_HOST = "127.0.0.1"
_HELD = b'{"status": "held"}'
_SECONDS = 60.0


@dataclass(frozen=True)
class _AuditedRelay:
    plan: Plan
    collector: PrivateKey
    relay: PrivateKey

    @classmethod
    def of(cls, plan: Plan) -> _AuditedRelay:
        """Return a copy of a survey with new keys, at an address of this machine."""
        assert plan.relay is not None
        collector, relay = make_private_key(), make_private_key()
        changed = replace(
            plan.relay,
            url=f"http://{_HOST}/{plan.id}",
            collector_key=collector.public_key,
            relay_key=relay.public_key,
        )
        return cls(replace(plan, relay=changed), collector, relay)

    @property
    def starts(self) -> list[int]:
        """Where the messages of the columns begin in an envelope, and where the last one ends."""
        return list(accumulate(column_bytes(self.plan), initial=0))

    def cut(self, envelope: bytes) -> list[bytes]:
        return [envelope[start:end] for start, end in pairwise(self.starts)]

    def client(self, journal: Journal, **options: object) -> Client:
        assert self.plan.relay is not None
        return Client(
            self.plan,
            self.plan.relay.url,
            relay=f"http://{_HOST}",
            max_epsilon=float(self.plan.relay.epsilon),
            max_local_epsilon=float(self.plan.epsilon),
            journal=journal,
            spread=0,
            strict=True,
            **options,  # type: ignore[arg-type]
        )


def check_relay(plan: Plan, people: Sequence[Person], count: int, alpha: float) -> list[Check]:
    """Check the requests of `count` devices of each person; `alpha` is the rate of false faults."""
    audited = _AuditedRelay.of(plan)
    sent = {person.name: [_send(audited, person) for _ in range(count)] for person in people}
    messages = [request.body for devices in sent.values() for requests in devices for request in requests]
    sizes = sorted(set(map(len, messages)))
    is_one_size = sizes == [outer_bytes(audited.plan)]
    inner = _open(audited, messages)
    opened = {
        name: _open(audited, [each.body for one in devices for each in one]) for name, devices in sent.items()
    }
    return [
        replace(check_requests(sent), layer=RELAY),
        _check_paths(audited.plan, [each for devices in sent.values() for one in devices for each in one]),
        Check(RELAY, "all messages have one length", is_one_size, f"{', '.join(map(str, sizes))} bytes"),
        _check_bytes(audited, messages, inner, alpha / 2),
        *_check_opened(audited, opened, messages, alpha / 2),
        _check_attempts(audited, people),
    ]


def _send(audited: _AuditedRelay, person: Person) -> list[Request]:
    journal = Journal(":memory:")
    captured = capture_requests(_HOST, b"HTTP/1.1 202 Accepted", _HELD)
    with captured as requests, audited.client(journal) as client:
        client.grant()
        client.report(person.row, person.label)
        client.flush(_SECONDS)
        client.flush(_SECONDS)  # nothing follows
    return requests


def _check_paths(plan: Plan, requests: Sequence[Request]) -> Check:
    line = f"POST /{plan.id}/{plan.digest} HTTP/1.1\r\n".encode()
    good = sum(request.head.startswith(line) for request in requests)
    finding = f"{good:,} of {len(requests):,} requests"
    return Check(RELAY, "devices post to the relay only, under the digest", good == len(requests), finding)


def _open(audited: _AuditedRelay, messages: Sequence[bytes]) -> list[bytes]:
    try:
        return [open_outer(audited.plan, each, audited.relay) for each in messages]
    except SealError:
        return []


def _check_bytes(
    audited: _AuditedRelay, messages: Sequence[bytes], inner: Sequence[bytes], alpha: float
) -> Check:
    """Test each byte of all seals, except the keys' ids, against uniform ones; no message may repeat."""
    name = "messages are random bytes, but for the keys' ids"
    if not inner:
        return Check(RELAY, name, None, "not tested: the relay cannot open them")
    columns = [each for envelope in inner for each in audited.cut(envelope)]
    p, positions = 1.0, 0
    for layer, starts, key in (
        (messages, [0], audited.relay),
        (inner, audited.starts[:-1], audited.collector),
    ):
        data = np.frombuffer(b"".join(layer), np.uint8).reshape(len(layer), -1)
        if set(data[:, starts].ravel().tolist()) != {base64.b64decode(key.public_key)[0]}:
            return Check(RELAY, name, False, "a message names another key")
        # the last byte of an ephemeral key is below 128
        bytes_of = np.delete(data, [start + place for start in starts for place in (0, 32)], axis=1).T
        counted = [np.bincount(each, minlength=256) for each in bytes_of]
        counts = np.array([[np.min(found), np.max(found)] for found in counted])
        p, positions = min(p, min_p_value(counts, len(layer), 1 / 256)), positions + len(bytes_of)
    if len(set(messages)) < len(messages) or len({each[1:33] for each in columns}) < len(columns):
        return Check(RELAY, name, False, "a message or an ephemeral key repeats")
    limit = alpha / (256 * positions)
    finding = f"{len(messages):,} messages, p = {p:.2g} (fails below {limit:.1g})"
    return Check(RELAY, name, p >= limit, finding)


def _open_reports(audited: _AuditedRelay, inner: Sequence[bytes]) -> list[list[Report]]:
    """Return the reports of each device, by column; raise LdpError if a message does not have one each."""
    plan, found = audited.plan, []
    for envelope in inner:
        opened = [
            read_report(plan, open_inner(plan, each, audited.collector, column))
            for column, each in enumerate(audited.cut(envelope))
        ]
        if plan.asks_all and [each.question for each in opened] != list(range(len(opened))):
            raise ReportError(Reason.WRONG_QUESTION)
        found.append(opened)
    return found


def _check_opened(
    audited: _AuditedRelay, inner: dict[str, list[bytes]], messages: Sequence[bytes], alpha: float
) -> list[Check]:
    name = "relay and collector open each message, and find one report of this plan"
    try:
        reports = {person: _open_reports(audited, sent) for person, sent in inner.items()}
    except LdpError as error:
        return [Check(RELAY, name, False, error.reason)]
    count = sum(map(len, reports.values()))
    opened = Check(RELAY, name, count == len(messages), f"{count:,} of {len(messages):,} messages")
    return [opened, _check_columns(list(reports.values()), alpha)] if audited.plan.asks_all else [opened]


def _check_columns(reports: Sequence[list[list[Report]]], alpha: float) -> Check:
    """Test whether the noise and the ids of two answers of one person are independent, given the row.

    Two bits of each payload are compared with two bits of the payload in each other column, and a bit of each
    byte of the ids with that of the same byte, by Fisher's exact test.
    """
    name, p, tests = "the answers of one person have independent noise and ids", 1.0, 0
    for devices in reports:
        payloads = np.array(
            [[[each.payload[0] & 1, each.payload[0] >> 1 & 1] for each in one] for one in devices]
        )
        ids = np.array([[[byte & 1 for byte in each.id] for each in one] for one in devices])
        groups = [payloads.reshape(len(devices), -1), *np.moveaxis(ids, 2, 0)]
        for bits, width in zip(groups, (2, *(1 for _ in groups[1:])), strict=True):
            both, ones = bits.T @ bits, bits.sum(axis=0)
            one, other = np.triu_indices(len(ones), 1)
            apart = one // width != other // width
            parts = both[one, other][apart], len(devices), ones[one][apart], ones[other][apart]
            tails = np.minimum(hypergeom.cdf(*parts), hypergeom.sf(parts[0] - 1, *parts[1:]))
            p, tests = min(p, 2 * float(tails.min())), tests + len(tails)
    limit = alpha / tests
    return Check(RELAY, name, p >= limit, f"{tests:,} pairs, p = {p:.2g} (fails below {limit:.1g})")


def _check_attempts(audited: _AuditedRelay, people: Sequence[Person]) -> Check:
    """Check that a device sends the same bytes while the network fails, and after a restart."""
    name = "a retry sends the same message, and none follows a 202"
    for person in people:
        network, journal = SimulatedNetwork(), Journal(":memory:")
        for network.works in (False, True, True):
            with audited.client(journal, transport=network) as client:
                client.grant()
                client.report(person.row, person.label)
                client.flush(_SECONDS if network.works else 0.03)
        after = network.bodies[network.refused :]
        if not network.refused or len(set(network.bodies)) != 1 or len(after) != 1:
            different = len(set(network.bodies))
            finding = f"({person.name}) sent {len(network.bodies)} times, {different} different messages"
            return Check(RELAY, name, False, finding)
    return Check(RELAY, name, True, f"{len(people)} people")
