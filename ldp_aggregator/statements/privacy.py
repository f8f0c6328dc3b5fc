"""Statements on privacy: what a report, a message of a silo or a model can reveal, and what was audited."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Self

from ldp_aggregator.privacy_statement import (
    ADD_REMOVE,
    CuratorPrivacy,
    PrivacyStatement,
    RelayPrivacy,
    SiloPrivacy,
)
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import (
    Count,
    FactorAtMost,
    Names,
    Number,
    ShareAtMost,
    factor_at_most,
    format_amount,
)

_MAX_FACTOR = Decimal("1e300")
"""Above this a double overflows, and beliefs are certain."""


def update_belief(belief: float, odds_factor: float) -> float:
    """Return the largest probability that a belief can become if a report multiplies its odds by a factor."""
    odds = belief / (1 - belief) * odds_factor
    return odds / (1 + odds)


@dataclass(frozen=True, kw_only=True)
class BeliefFacts:
    """The largest values that beliefs of 1%, 10%, 50% and 90% can reach."""

    hundredth: ShareAtMost
    tenth: ShareAtMost
    half: ShareAtMost
    nine_tenths: ShareAtMost

    @classmethod
    def after(cls, odds_factor: float) -> Self:
        """Update the beliefs by a factor of their odds."""
        return cls(
            hundredth=ShareAtMost(update_belief(0.01, odds_factor)),
            tenth=ShareAtMost(update_belief(0.1, odds_factor)),
            half=ShareAtMost(update_belief(0.5, odds_factor)),
            nine_tenths=ShareAtMost(update_belief(0.9, odds_factor)),
        )


@dataclass(frozen=True, kw_only=True)
class ReportFacts:
    """What one report of a person reveals."""

    epsilon: str
    factor: FactorAtMost
    """Of odds."""
    beliefs: BeliefFacts
    simulated: bool

    @classmethod
    def of(cls, epsilon: str, simulated: bool) -> Self:
        """Return the facts about a report with this epsilon."""
        factor = math.exp(float(epsilon))
        beliefs = BeliefFacts.after(factor)
        return cls(epsilon=epsilon, factor=FactorAtMost(factor), beliefs=beliefs, simulated=simulated)


@dataclass(frozen=True, kw_only=True)
class MessageFacts:
    """What one message of a silo reveals."""

    epsilon: str
    """Of the first survey."""
    several: bool
    """Whether there are several surveys."""
    epsilons: Names
    """Of each survey."""
    factor: FactorAtMost
    """Of the largest epsilon."""
    one_row: bool
    rows_per_person: int

    @classmethod
    def of(cls, silos: Sequence[SiloPrivacy]) -> Self:
        """Return the facts about the messages to surveys of silos."""
        rows = max(each.rows_per_person for each in silos)
        return cls(
            epsilon=silos[0].epsilon,
            several=len(silos) > 1,
            epsilons=Names(f"{each.epsilon} ({each.survey})" for each in silos),
            factor=FactorAtMost(math.exp(max(float(each.epsilon) for each in silos))),
            one_row=rows == 1,
            rows_per_person=rows,
        )


@dataclass(frozen=True, kw_only=True)
class RelayFacts:
    """What a survey promises towards everybody but its relay."""

    epsilon: Number
    delta: str
    factor: FactorAtMost
    batch: Count
    honest_reports: Count
    broken_batches: Count

    @classmethod
    def of(cls, relay: RelayPrivacy) -> Self:
        """Return the facts about a relay's promise."""
        return cls(
            epsilon=Number(relay.epsilon),
            delta=f"{relay.delta:.1g}",
            factor=FactorAtMost(math.exp(relay.epsilon)),
            batch=Count(relay.batch),
            honest_reports=Count(relay.honest_reports),
            broken_batches=Count(relay.broken_batches),
        )


@dataclass(frozen=True, kw_only=True)
class AuditFacts:
    """The result of an audit."""

    passed: bool
    trials: Count
    """Messages of each made-up person that it compared."""


@dataclass(frozen=True, kw_only=True)
class ShuffledFacts:
    """What holds if reports were shuffled."""

    epsilon: Number
    delta: str


@dataclass(frozen=True, kw_only=True)
class PrivacyFacts:
    """The facts of privacy.md."""

    report: ReportFacts | None = None
    asks_all: bool = False
    """Whether each person answered all questions."""
    belief_of_one: ShareAtMost | None = None
    """What a belief of 50% about something that one of these answers shows becomes."""
    spent: str = ""
    """The largest exact epsilon of a question, or the sum if each person answered all."""
    message: MessageFacts | None = None
    relay: RelayFacts | None = None
    audit: AuditFacts | None = None
    shuffled: ShuffledFacts | None = None

    @classmethod
    def of(cls, statement: PrivacyStatement) -> Self:
        """Return the facts of a privacy statement."""
        people, relay, audit = statement.people, statement.relay, statement.audit
        answers = [float(each.epsilon) for each in people.questions] if people and people.asks_all else []
        shuffled = statement.only_if_shuffled
        # with a relay, what shuffling gives is promised, and not a condition
        is_amplified = people and shuffled and not relay and shuffled.epsilon < float(people.epsilon)
        return cls(
            report=ReportFacts.of(people.epsilon, statement.simulated) if people else None,
            asks_all=people is not None and people.asks_all,
            belief_of_one=ShareAtMost(update_belief(0.5, math.exp(max(answers)))) if answers else None,
            spent=format_epsilon(max(each.spent for each in statement.rounds)) if people else "",
            message=MessageFacts.of(statement.silos) if statement.silos else None,
            relay=RelayFacts.of(relay) if relay else None,
            audit=AuditFacts(passed=audit.passed, trials=Count(audit.trials)) if audit else None,
            shuffled=ShuffledFacts(epsilon=Number(shuffled.epsilon), delta=f"{shuffled.delta:.1g}")
            if shuffled and is_amplified
            else None,
        )


def find_privacy(statement: PrivacyStatement) -> list[Statement]:
    """Return the statements that explain the privacy statement of results."""
    return TEXTS.section("privacy", PrivacyFacts.of(statement))


def find_report_privacy(epsilon: str, asks_all: bool = False) -> Statement:
    """Return the statement that explains the guarantee of this epsilon to the person who sends a report.

    `asks_all` says that the person sends a report to each question, and that this is the epsilon of all.
    """
    facts = PrivacyFacts(report=ReportFacts.of(epsilon, simulated=False), asks_all=asks_all)
    return TEXTS.find("privacy.report", facts)


def find_audit(passed: bool, trials: int) -> Statement:
    """Return the result of an audit, which compared this many messages of each made-up person."""
    return TEXTS.find("privacy.audit", PrivacyFacts(audit=AuditFacts(passed=passed, trials=Count(trials))))


def format_epsilon(epsilon: Decimal) -> str:
    """Return an exact epsilon, rounded up to four decimals."""
    return f"{epsilon.quantize(Decimal('0.0001'), ROUND_CEILING):f}"


@dataclass(frozen=True, kw_only=True)
class PromiseFacts:
    """The promise of a curator: the facts of curator.md."""

    epsilon: str
    delta: str
    adjacency: str
    add_remove: bool
    """Whether neighbours differ by the presence of one person."""
    factor: str
    beliefs: BeliefFacts

    @classmethod
    def of(cls, privacy: CuratorPrivacy) -> Self:
        """Return the facts of a promise."""
        # an exact number, since doubles end at e^709
        factor = (Decimal(privacy.epsilon.numerator) / privacy.epsilon.denominator).exp()
        return cls(
            epsilon=format_amount(privacy.epsilon),
            delta=format_amount(privacy.delta),
            adjacency=privacy.adjacency,
            add_remove=privacy.adjacency == ADD_REMOVE,
            factor=factor_at_most(factor),
            beliefs=BeliefFacts.after(float(min(factor, _MAX_FACTOR))),
        )


def find_promise(privacy: CuratorPrivacy) -> list[Statement]:
    """Return statements on the promise of a curator: the guarantee and its limits."""
    return TEXTS.section("curator", PromiseFacts.of(privacy))
