"""The relay of a survey: an organisation that hides who sent which report, and the promise that follows.

The relay passes on batches of at least `batch` messages in random order. If at least the share `honest` of
each batch comes from people who do not help the collector, what a person sends is (epsilon, delta)-private
towards everybody but the relay (proofs: docs/shuffling.md). If relay and collector work together, the epsilon
of the survey still holds.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import floor
from typing import Any, Self

from encoders.canonical import decimal_text
from encoders.composition import Message, composed_delta
from encoders.epsilon_proof import MAX_EPSILON, MIN_EPSILON
from encoders.errors import PrivacyError, SurveyError, combine_errors
from encoders.shuffling import MAX_REPORTS, shuffled_delta

MIN_DELTA, MAX_DELTA = Decimal("1e-9"), Decimal("1e-5")
LAST_TIME = 2**33
ONE, ALL = "one", "all"
DECIMALS, TIMES = ("honest", "epsilon", "delta"), ("opens", "closes")
KEY_SUITE = bytes.fromhex("0020"), bytes.fromhex("00010001")
"""HPKE's X25519, before the public key, and HKDF-SHA256 with AES-128-GCM after it (RFC 9180)."""
LENGTH_BYTES, CODE_BYTES = 2, 16
SEAL_BYTES = 1 + 32 + 16
"""Bytes that a seal adds: the key's id, an ephemeral public key, and the tag of AES-GCM."""
MAX_ENVELOPE_BYTES = 60_000
"""The longest message of a person: browsers send at most 64 KiB while a page ends."""
_KEY_BYTES = 1 + 2 + 32 + 4
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_REST = "([a-z0-9-]{0,61}[a-z0-9])?"
"""The rest of a label. The last label begins with a letter, because other readers take 127.1 for a number."""
_SECURE = rf"https://({_BYTE}(\.{_BYTE}){{3}}|([a-z0-9]{_REST}\.)*[a-z]{_REST})"
_HOST = rf"{_SECURE}|http://(localhost|127(\.{_BYTE}){{3}})"
_URL = re.compile(rf"(?=.{{1,255}}$)({_HOST})(:(?P<port>[1-9][0-9]{{0,4}}))?/[a-z0-9][a-z0-9-]{{0,63}}")
"""The address of a survey at a relay. docs/wire-format.md has the rule, plan_entry.js the same expression."""
_MAX_PORT = 65_535
RELAY_REFUSES_TOKENS = (
    "a token names its holder to the organisation that gave it, which a relay cannot hide: delete [relay], "
    'or write enrolment = "open"'
)
_TIME = "2026-12-31T00:00:00Z"
_NETWORKS = 10


@dataclass(frozen=True, kw_only=True)
class Relay:
    """A relay and its promise, as a survey names them."""

    url: str
    batch: int
    """The smallest number of reports that the relay passes on together."""
    honest: Decimal
    """The share of each batch that comes from people who do not help the collector, at least."""
    epsilon: Decimal
    """Promised towards everybody but the relay."""
    delta: Decimal
    """Promised with this epsilon."""
    opens: int
    """When the relay begins to accept reports, in seconds since 1970 (UTC)."""
    closes: int
    """When the relay stops, and passes on what waits or deletes it, in seconds since 1970 (UTC)."""
    collector_key: str = ""
    """The public key for the inner seal, in base64; empty in a survey without keys yet."""
    relay_key: str = ""
    """The public key for the outer seal, in base64; empty in a survey without keys yet."""
    ask: str = ONE
    """"one": each person answers one question. "all": each answers all, and survey.epsilon is their sum."""

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read the plan's form; the caller compares the plan's bytes, so other spellings are refused."""
        decimals = {name: Decimal(document[name]) for name in DECIMALS}
        given = {"ask": ONE, **document}
        return cls(**{each.name: given[each.name] for each in fields(cls)} | decimals)

    def as_dict(self) -> dict[str, Any]:
        """Return the plan's form, in which `ask` is absent if it is "one"."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        if self.ask == ONE:
            del values["ask"]
        return {
            name: decimal_text(value) if isinstance(value, Decimal) else value
            for name, value in values.items()
        }

    @property
    def has_keys(self) -> bool:
        return bool(self.collector_key and self.relay_key)

    @property
    def asks_all(self) -> bool:
        return self.ask == ALL

    @property
    def honest_reports(self) -> int:
        """Number of honest messages in the smallest batch, in fractions: .29 x 100 is 29."""
        return floor(Fraction(self.honest) * self.batch)

    @property
    def messages_per_network(self) -> int:
        """How many messages of one network a relay takes by default: ten cannot break the promise."""
        return max((self.batch - self.honest_reports) // _NETWORKS, 1)

    def check(self, survey: str) -> None:
        """Raise SurveyError, with one of `problems` for each entry, unless all fit the survey's id."""
        faults = list(self._faults())
        if not faults and not self.url.endswith(f"/{survey}"):
            faults = [("url", f"must end with the survey's id: https://HOST/{survey}")]
        if errors := [SurveyError(why, f"relay.{name}") for name, why in faults]:
            raise combine_errors(errors)

    def _faults(self) -> Iterator[tuple[str, str]]:  # noqa: C901 - one line for each entry
        if not is_relay_url(self.url):
            yield "url", "needs the survey's address at the relay, https://HOST/ID: small letters, no final /"
        if not (type(self.batch) is int and 2 <= self.batch <= MAX_REPORTS):
            yield "batch", f"needs a number of messages from 2 to {MAX_REPORTS:,}"
        elif 0 < self.honest <= 1 and self.honest_reports < 1:
            yield "honest", "leaves no honest report in a batch: raise it, or the batch"
        if not 0 < self.honest <= 1:
            yield "honest", "needs a share of each batch, above 0 and at most 1, for example 0.73"
        if not MIN_EPSILON <= self.epsilon <= MAX_EPSILON:
            yield "epsilon", f"needs the promised epsilon, from {MIN_EPSILON} to {MAX_EPSILON}"
        if not MIN_DELTA <= self.delta <= MAX_DELTA:
            yield "delta", "needs the promised delta, from 1e-9 to 1e-5"
        times = [getattr(self, name) for name in TIMES]
        if not (all(type(each) is int for each in times) and 0 < self.opens < self.closes < LAST_TIME):
            yield "closes", f"needs a time after relay.opens, such as {_TIME}, both before the year 2242"
        for name in ("collector_key", "relay_key"):
            key = getattr(self, name)
            if key != "" and not is_key(key):
                yield name, f"needs a public key, as `ldp-{name.removesuffix('_key')} key` prints it"
        if self.relay_key != "" and self.collector_key == self.relay_key:
            yield "relay_key", "is the collector's key: the relay must have another one"
        if self.ask not in (ONE, ALL):
            yield "ask", 'must be "one" (the default) or "all": how many questions each person answers'

    def attained_delta(self, messages: Sequence[Message]) -> float:
        """Return an upper bound on the delta of sending one of the messages, or all of them: see `ask`."""
        people, epsilon = self.honest_reports, float(self.epsilon)
        if self.asks_all:
            return _composed_delta(tuple(messages), people, epsilon)
        return shuffled_delta(max(each.ratio for each in messages), people, epsilon)

    def require_promise(self, messages: Sequence[Message], *, part: float = 1.0) -> None:
        """Raise PrivacyError unless a `part` of the promised delta follows from the messages."""
        delta = self.attained_delta(messages)
        if delta > part * float(self.delta):
            raise PrivacyError(
                f"the promised epsilon {self.epsilon} does not hold with delta {self.delta:g}, but with "
                f"{delta:.3g}",
                "relay.epsilon",
            )


_composed_delta = lru_cache(maxsize=16)(composed_delta)
"""A process may read or compile the same survey many times."""


def is_key(text: object) -> bool:
    """Return whether a text is a public key: its id, and the key between the codes of the only suite."""
    try:
        key = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        return False
    before, after = KEY_SUITE
    is_suite = len(key) == _KEY_BYTES and key[1:3] == before and key[-4:] == after
    return is_suite and base64.b64encode(key).decode() == text


def is_relay_url(url: object) -> bool:
    """Return whether a value is the address of a survey at a relay that every reader understands alike."""
    found = _URL.fullmatch(url) if isinstance(url, str) else None
    return found is not None and int(found["port"] or 1) <= _MAX_PORT
