"""The trust models that a comparison runs: who sees true answers, and what epsilon is about."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal

from encoders.errors import LdpError
from encoders.survey import Survey
from encoders.survey.compiled_plan import CENTRAL, LOCAL, SILO
from encoders.survey.plan_checks import MAX_SUM
from encoders.survey.relay import ALL, ONE, Relay
from encoders.survey.relay_promise import EQUAL, largest_epsilon
from ldp_aggregator.privacy_statement import REPLACE
from ldp_central.learner import AUTO, LEARNERS
from ldp_design.authoring.relay_overview import MAX_LOCAL_EPSILON

NONE, LABELS, RELAY = "none", "labels", "relay"
REPLACE_LABEL = "replace-label"
"""The adjacency of `labels`: two neighbours differ in one label; all features are in the clear."""
EXAMPLE = "none,central,labels,silo:10,local"
MAX_SILOS = 10_000
RELAY_HONEST, RELAY_DELTA = Decimal("0.73"), Decimal("1e-6")
"""What is assumed of every batch of a relay, and its delta."""

_CENTRAL = re.compile(rf"{CENTRAL}(?::({'|'.join(LEARNERS)}))?")
_NUMBERED = re.compile(rf"({SILO}|{RELAY}):([1-9][0-9]{{0,8}})(:{ALL})?")
_RANKS = {LOCAL: 0, RELAY: 1, SILO: 2, CENTRAL: 3, NONE: 4}


class TrustComparisonError(LdpError):
    """A comparison that cannot be run."""


@dataclass(frozen=True, kw_only=True)
class Trust:
    text: str
    """Its name for :func:`parse_trust`, for example "silo:10"."""
    kind: str
    """One of "none", "central", "labels", "silo", "relay" or "local"."""
    learner: str = AUTO
    """The learner of a curator: "auto", "nb", "linear" or "tree"."""
    silos: int = 0
    batch: int = 0
    asks_all: bool = False

    @property
    def name(self) -> str:
        return f"{self.kind}-all" if self.asks_all else self.kind

    @property
    def adjacency(self) -> str | None:
        """What two neighbours differ in: "replace" a row, "replace-label" a label; None without a promise."""
        return {NONE: None, LABELS: REPLACE_LABEL}.get(self.kind, REPLACE)

    @property
    def is_ranked(self) -> bool:
        """Whether it protects whole rows or nothing; only such trust models can be weaker than another."""
        return self.kind in _RANKS

    @property
    def rank(self) -> tuple[int, bool, int]:
        """A key that sorts ranked trust models, the weakest first: there the fewest see the fewest rows."""
        return _RANKS[self.kind], self.asks_all, -self.silos - self.batch

    def ask(self, survey: Survey, epsilon: Decimal) -> Survey:
        """Return the survey that people answer, if this epsilon is promised.

        Of a relay, its epsilon is the largest that keeps the promise. If each person answers one question, it
        is at most the largest that clients accept by default, unless a larger one is promised.
        """
        survey = replace(survey, epsilon=epsilon, relay=None, divide=EQUAL)
        if self.kind != RELAY:
            return survey
        promise = Relay(
            url=f"https://relay.example/{survey.id}",
            batch=self.batch,
            honest=RELAY_HONEST,
            epsilon=epsilon,
            delta=RELAY_DELTA,
            opens=1,
            closes=2,
            ask=ALL if self.asks_all else ONE,
        )
        if self.asks_all:
            return replace(survey, relay=promise, epsilon=MAX_SUM).fit_promise()
        return replace(survey, epsilon=max(epsilon, min(largest_epsilon(promise, []), MAX_LOCAL_EPSILON)))


def parse_trust(text: str) -> Trust:
    """Return none, central, central:LEARNER, labels, silo:N, relay:N, relay:N:all or local.

    Raises TrustComparisonError if there is no such trust model.
    """
    if text in (NONE, LABELS, LOCAL):
        return Trust(text=text, kind=text)
    if match := _CENTRAL.fullmatch(text):
        return Trust(text=text, kind=CENTRAL, learner=match[1] or AUTO)
    match = _NUMBERED.fullmatch(text)
    if match and match[1] == RELAY and int(match[2]) > 1:
        return Trust(text=text, kind=RELAY, batch=int(match[2]), asks_all=bool(match[3]))
    if match and match[1] == SILO and not match[3] and int(match[2]) <= MAX_SILOS:
        return Trust(text=text, kind=SILO, silos=int(match[2]))
    learners = ", ".join(f"{CENTRAL}:{each}" for each in LEARNERS[1:])
    raise TrustComparisonError(
        f"{text!r} is not a trust model: choose among none, central, {learners}, labels, silo:N with N from "
        f"1 to {MAX_SILOS:,}, relay:N and relay:N:all with N from 2, and local, for example {EXAMPLE}"
    )
