"""The audit of standing consent: the message is all that a device sends over several plans of one series."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Protocol, runtime_checkable

from encoders.canonical import dump_canonical_json
from encoders.survey import Plan
from encoders.survey.signature import ED25519, base64_text, signature_text, signed_message
from encoders.survey.waves import Series
from ldp_audit.blackbox import Messages, compare
from ldp_audit.people import Person
from ldp_audit.result import SERIES, Check

_HOST, _OTHER_HOST = "https://audit.example", "https://other.example"
_GOOD = 4
"""Plans that the consent covers, of which the epsilon for life allows the first two."""
Bodies = list[list[bytes]]
"""The bodies that a device sends, by plan."""


@dataclass(frozen=True)
class Offer:
    """A signed plan of a series, as it is offered to a device that agreed to an earlier one."""

    plan: Plan
    host: str
    """The origin to which reports are sent: a collector, or a relay."""
    public_key: str
    signature: str
    change: str = ""
    """What the agreed plan did not show; empty if nothing."""

    @property
    def url(self) -> str:
        """The survey's address."""
        relay = self.plan.relay
        return relay.url if relay else f"{self.host}/v1/surveys/{self.plan.id}"


@runtime_checkable
class StandingDevice(Protocol):
    """A device that agrees to a series once."""

    def standing(self, offers: Sequence[Offer], lifetime: float, person: Person, ends: int) -> Bodies:
        """Return what a new device sends for each plan.

        The person agrees to the series of the first plan, and answers each, twice. The application is
        restarted between two plans. They withdraw before the plan with the index `ends`.
        """


class _Author:
    """Signs plans with one key."""

    def __init__(self) -> None:
        self._key = ED25519.load().Ed25519PrivateKey.generate()
        self.public_key = base64_text(self._key.public_key().public_bytes_raw())

    def offer(self, plan: Plan, number: int, change: str = "", host: str = _HOST) -> Offer:
        """Return a plan of the author's series under an id of its own."""
        survey = f"series-{number}"
        relay = plan.relay and replace(plan.relay, url=f"{host}/{survey}")
        series = Series("audit", self.public_key)
        plan = replace(plan, id=survey, family="", relay=relay, series=series, texts_digest="", texts=None)
        signature = signature_text(self._key.sign(signed_message(plan.json)))
        return Offer(plan, host, self.public_key, signature, change)


def check_standing(
    plan: Plan, device: StandingDevice, people: Sequence[Person], count: int, alpha: float
) -> list[Check]:
    """Check what `count` devices of the first and the last person send for a series of plans like this."""
    plan, author = replace(plan, waves=None), _Author()
    offers = [author.offer(plan, 0), *_bad_offers(plan, author)]
    offers += [author.offer(plan, number) for number in range(len(offers), len(offers) + _GOOD - 1)]
    epsilon, pair = float(plan.epsilon), (people[0], people[-1])
    lifetime, never = 2.5 * epsilon, len(offers)
    sent = {
        each.name: [device.standing(offers, lifetime, each, never) for _ in range(count)] for each in pair
    }
    series = [bodies for some in sent.values() for bodies in some]
    answered = {
        each.change for bodies in series for each, some in zip(offers, bodies, strict=True) if some
    } - {""}
    most = max(sum(map(len, bodies)) for bodies in series) * epsilon
    good = [offers[0], *offers[1 - _GOOD :]]
    ended, whole = ([device.standing(good, 10 * epsilon, each, end) for each in pair] for end in (2, never))
    one, other = (Messages.from_bytes([_summarise(each) for each in some]) for some in sent.values())
    leak = compare((pair[0].name, pair[1].name), one, other, alpha)
    often = max(len(some) for bodies in (*series, *whole) for some in bodies)
    return [
        Check(SERIES, "what was not shown is asked again", not answered, ", ".join(sorted(answered)) or "-"),
        Check(SERIES, "all plans spend at most the epsilon for life", most <= lifetime, f"{most:g}"),
        Check(SERIES, "one report for each plan", often < 2, f"at most {often}"),
        Check(SERIES, "plans that were shown are answered", all(each[-3] for each in series), "-"),
        Check(SERIES, "nothing is sent after a withdrawal", not any(map(any, (e[2:] for e in ended))), "-"),
        Check(
            SERIES,
            "all that is sent reveals at most the epsilon for life",
            leak.epsilon_lower_bound <= lifetime,
            f"at least {leak.epsilon_lower_bound:.2f}",
        ),
    ]


def _bad_offers(plan: Plan, author: _Author) -> Iterator[Offer]:
    yield author.offer(replace(plan, epsilon=plan.epsilon + Decimal("0.001")), 1, "a larger epsilon")
    yield _Author().offer(plan, 2, "another key")
    yield author.offer(plan, 3, "another recipient", _OTHER_HOST)
    document = json.loads(plan.json)
    for entry in (*document["features"], document.get("label", {})):
        if values := entry.get("values"):
            values[-1] += "+"
            yield author.offer(Plan.from_json(dump_canonical_json(document)), 4, "another value")
            return


def row_of(offer: Offer, person: Person) -> tuple[Mapping[str, object], str | None]:
    """Return a person's row and label, in the values of an offered plan."""
    row, label = dict(person.row), person.label
    for each in offer.plan.entries:
        values = [str(value) for value in getattr(each, "values", ())]
        if f"{row[each.name]}+" in values:
            row[each.name] = f"{row[each.name]}+"
    return row, f"{label}+" if f"{label}+" in offer.plan.row_label.values else label


def _summarise(bodies: Bodies) -> bytes:
    """Return the number of reports of each plan, and the last byte sent."""
    return bytes(each for some in bodies for each in (min(len(some), 255), some[-1][-1] if some else 0))
