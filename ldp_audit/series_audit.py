"""The series layer: what a device sends in all waves of a survey, under a simulated clock; silence included.

All other layers audit the report of one wave. A device is visited in each wave; so a plan of many waves is
audited with some of them, and as a whole by devices that are there in the last waves only. A relay is left
out: the layer audits the reports that would be sealed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Protocol, runtime_checkable
from unittest.mock import patch

import numpy as np

from encoders.canonical import dump_canonical_json
from encoders.errors import ReportError
from encoders.report import unpack
from encoders.survey import Plan
from encoders.survey.signature import ED25519, base64_text, signature_text, signed_message
from encoders.survey.waves import NOW, Series
from ldp_audit.blackbox import Messages, compare
from ldp_audit.homogeneity import min_p_value
from ldp_audit.people import Person
from ldp_audit.result import SERIES, BlackBoxResult, Check, format_p_value, measure_leak

MOST_VISITED = 12
"""Number of waves, at most, in which a device is visited."""
Bodies = list[list[bytes]]
"""The bodies that a device sends, by wave or by plan."""


@dataclass(frozen=True)
class History:
    """What one person's answers are in each wave, and when they take part."""

    name: str
    people: Sequence[Person | None]
    """The person with their answers in each wave; None if they do not open the application."""
    joins: int = 0
    """Index of the wave before which they agree."""


@runtime_checkable
class SeriesDevice(Protocol):
    """A device that takes part in all waves of a survey."""

    def series(self, plan: Plan, history: History) -> Bodies:
        """Return what a new device sends in each wave, and after the clock was set back.

        The person withdraws and agrees again between waves, and the application is started again.
        """


@contextmanager
def simulate_clock() -> Iterator[SimpleNamespace]:
    """Replace `time.time` for this process by a clock that shows `now`."""
    clock = SimpleNamespace(now=0.0)
    with patch.object(time, "time", lambda: clock.now):
        yield clock


def make_histories(plan: Plan, people: Sequence[Person]) -> list[History]:
    """Return people with constant and with changing answers, who miss waves, or join late."""
    assert plan.waves is not None
    count = len(plan.waves.list)
    half, one, other = count // 2, people[0], people[-1]
    return [
        History("the same answers", [one] * count),
        History("the same other answers", [other] * count),
        History("one change", [one] * half + [other] * (count - half)),
        History("a change in each wave", [(one, other)[wave % 2] for wave in range(count)]),
        History("a change at the end", [one] * (count - 1) + [other]),
        History("absent at first", [None] * half + [one] * (count - half)),
        History("joins late", [None] * half + [one] * (count - half), joins=half),
    ]


def check_series(
    plan: Plan, device: SeriesDevice, people: Sequence[Person], count: int, alpha: float
) -> tuple[list[BlackBoxResult], list[Check]]:
    """Check what `count` devices of each history send in all waves; `alpha` is the rate of false faults."""
    assert plan.waves is not None
    waves = plan.waves.list
    if len(waves) <= MOST_VISITED:
        leak, checks = _check_histories(plan, device, make_histories(plan, people), count, alpha)
        return [leak], checks
    places = np.linspace(0, len(waves) - 1, MOST_VISITED).astype(int)
    some = replace(plan, waves=replace(plan.waves, list=tuple(waves[place] for place in places)))
    first, checks = _check_histories(some, device, make_histories(some, people), count, alpha / 2)
    absent: list[Person | None] = [None] * (len(waves) - MOST_VISITED)
    late = [
        History(f"{name}, late", [*absent, *[each] * MOST_VISITED])
        for name, each in (("the same answers", people[0]), ("the same other answers", people[-1]))
    ]
    last, more = _check_histories(plan, device, late, 3 * count, alpha / 2)
    named = [replace(each, name=f"{each.name} ({MOST_VISITED} waves)") for each in checks]
    return [first, last], named + more


def _check_histories(
    plan: Plan, device: SeriesDevice, histories: Sequence[History], count: int, alpha: float
) -> tuple[BlackBoxResult, list[Check]]:
    sent = {at: [device.series(plan, each) for _ in range(count)] for at, each in enumerate(histories)}
    absent = [None in each.people for each in histories]
    always = [at for at, each in enumerate(histories) if all(absent) or not absent[at]]
    whole = {histories[at].name: _summarise(sent[at]) for at in always}
    leak = measure_leak(SERIES, whole, alpha / 2)
    series = [bodies for every in sent.values() for bodies in every]
    most = max(sum(map(len, bodies)) for bodies in series)
    wrong = sum(
        _wave_of(plan, body) != wave for each in series for wave, some in enumerate(each) for body in some
    )
    return leak, [
        Check(SERIES, "at most one report in all waves together", most < 2, f"at most {most}"),
        Check(SERIES, "a report names the wave in which it is sent", not wrong, f"{wrong:,} do not"),
        _check_waves(plan, histories, sent, alpha / 2),
    ]


def _check_waves(
    plan: Plan, histories: Sequence[History], sent: dict[int, list[Bodies]], alpha: float
) -> Check:
    """Test how often devices answer in each wave, or not at all, whatever the answers are."""
    p = 1.0
    for place, history in enumerate(histories):
        shares = np.array([each is not None for each in history.people], dtype=np.float64)
        if plan.waves and plan.waves.assign == NOW and not plan.by_invitation:
            shares[np.argmax(shares) + 1 :] = 0  # the first wave in which the person is there
        else:
            shares /= len(history.people)
        answered = np.array([[bool(bodies) for bodies in each] for each in sent[place]])
        counts = np.append(answered.sum(axis=0), (~answered.any(axis=1)).sum())
        expected = np.append(shares, 1 - shares.sum())
        certain = np.isclose(expected, 0) | np.isclose(expected, 1)
        if (counts[certain] != expected[certain].round() * len(sent[place])).any():
            p = 0.0
        elif not certain.all():
            p = min(p, min_p_value(counts[~certain], len(sent[place]), expected[~certain]))
    limit = alpha / (len(histories) * (len(histories[0].people) + 1))
    finding = f"{format_p_value(p, 2)} (fails below {limit:.1g})"
    return Check(SERIES, "which wave is answered does not depend on the answers", p >= limit, finding)


def _summarise(series: Sequence[Bodies]) -> Messages:
    """Return the number of reports, the first wave of a report, and the last byte sent in each wave."""
    found = []
    for bodies in series:
        first = next((wave for wave, some in enumerate(bodies, 1) if some), 0)
        last = (some[-1][-1] if some else 0 for some in bodies)
        count = min(sum(map(len, bodies)), 255)
        found.append(bytes([count, first >> 8, first & 255, *last]))
    return Messages.from_bytes(found)


def _wave_of(plan: Plan, body: bytes) -> int | None:
    """Return the index of the wave that a report names; None for other bytes."""
    try:
        return unpack(body).question // len(plan.questions)
    except ReportError:
        return None


# -- standing consent: the message is all that a device sends over several plans of one series -------


_HOST, _OTHER_HOST = "https://audit.example", "https://other.example"
_GOOD = 4
"""Plans that the consent covers, of which the epsilon for life allows the first two."""


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
    one, other = (Messages.from_bytes([_summarise_plans(each) for each in some]) for some in sent.values())
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


def _summarise_plans(bodies: Bodies) -> bytes:
    """Return the number of reports of each plan, and the last byte sent."""
    return bytes(each for some in bodies for each in (min(len(some), 255), some[-1][-1] if some else 0))
