"""Statements on privacy: what a report, a message of a silo or a model can reveal, and what was audited."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from types import SimpleNamespace
from typing import Self

from ldp_aggregator import privacy_statement
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.wording import values
from ldp_aggregator.wording.statement import Statement

_MAX_FACTOR = Decimal("1e300")
"""Above this a double overflows, and beliefs are certain."""


def update_belief(belief: float, odds_factor: float) -> float:
    """Return the largest probability that a belief can become if a report multiplies its odds by a factor."""
    odds = belief / (1 - belief) * odds_factor
    return odds / (1 + odds)


def update_beliefs(odds_factor: float) -> SimpleNamespace:
    beliefs = {"hundredth": 0.01, "tenth": 0.1, "half": 0.5, "nine_tenths": 0.9}
    return SimpleNamespace(
        **{name: values.ShareAtMost(update_belief(belief, odds_factor)) for name, belief in beliefs.items()}
    )


def _describe_report(epsilon: str, simulated: bool) -> SimpleNamespace:
    factor = math.exp(float(epsilon))
    return SimpleNamespace(
        epsilon=values.localise(epsilon),
        factor=values.FactorAtMost(factor),
        beliefs=update_beliefs(factor),
        simulated=simulated,
    )


def _describe_messages(silos: Sequence[privacy_statement.SiloPrivacy]) -> SimpleNamespace:
    rows = max(each.rows_per_person for each in silos)
    return SimpleNamespace(
        epsilon=values.localise(silos[0].epsilon),
        several=len(silos) > 1,
        epsilons=values.Names(f"{values.localise(each.epsilon)} ({each.survey})" for each in silos),
        factor=values.FactorAtMost(math.exp(max(float(each.epsilon) for each in silos))),
        one_row=rows == 1,
        rows_per_person=rows,
    )


def _describe_relay(relay: privacy_statement.RelayPrivacy) -> SimpleNamespace:
    return SimpleNamespace(
        epsilon=values.Number(relay.epsilon),
        delta=f"{relay.delta:.1g}",
        factor=values.FactorAtMost(math.exp(relay.epsilon)),
        batch=values.Count(relay.batch),
        honest_reports=values.Count(relay.honest_reports),
        broken_batches=values.Count(relay.broken_batches),
    )


def _describe_audit(passed: bool, trials: int) -> SimpleNamespace:
    return SimpleNamespace(passed=passed, trials=values.Count(trials))


@dataclass(frozen=True, kw_only=True)
class PrivacyFacts:
    report: SimpleNamespace | None = None
    asks_all: bool = False
    """Whether each person answered all questions."""
    belief_of_one: values.ShareAtMost | None = None
    """What a belief of 50% about something that one of these answers shows becomes."""
    spent: str = ""
    """The largest exact epsilon of a question, or the sum if each person answered all."""
    message: SimpleNamespace | None = None
    relay: SimpleNamespace | None = None
    audit: SimpleNamespace | None = None
    shuffled: SimpleNamespace | None = None

    @classmethod
    def of(cls, statement: privacy_statement.PrivacyStatement) -> Self:
        people, relay, audit = statement.people, statement.relay, statement.audit
        answers = [float(each.epsilon) for each in people.questions] if people and people.asks_all else []
        shuffled = statement.only_if_shuffled
        # with a relay, what shuffling gives is promised, and not a condition
        is_amplified = people and shuffled and not relay and shuffled.epsilon < float(people.epsilon)
        return cls(
            report=_describe_report(people.epsilon, statement.simulated) if people else None,
            asks_all=people is not None and people.asks_all,
            belief_of_one=values.ShareAtMost(update_belief(0.5, math.exp(max(answers)))) if answers else None,
            spent=format_epsilon(max(each.spent for each in statement.rounds)) if people else "",
            message=_describe_messages(statement.silos) if statement.silos else None,
            relay=_describe_relay(relay) if relay else None,
            audit=_describe_audit(audit.passed, audit.trials) if audit else None,
            shuffled=SimpleNamespace(epsilon=values.Number(shuffled.epsilon), delta=f"{shuffled.delta:.1g}")
            if shuffled and is_amplified
            else None,
        )


def find_privacy(statement: privacy_statement.PrivacyStatement) -> list[Statement]:
    return TEXTS.section("privacy", PrivacyFacts.of(statement))


def find_report_privacy(epsilon: str, asks_all: bool = False) -> Statement:
    """Return the guarantee for a person who sends a report, or with `asks_all` one to each question."""
    facts = PrivacyFacts(report=_describe_report(epsilon, simulated=False), asks_all=asks_all)
    return TEXTS.find("privacy.report", facts)


def find_audit(passed: bool, trials: int) -> Statement:
    return TEXTS.find("privacy.audit", PrivacyFacts(audit=_describe_audit(passed, trials)))


def format_epsilon(epsilon: Decimal) -> str:
    return values.localise(f"{epsilon.quantize(Decimal('0.0001'), ROUND_CEILING):f}")


def describe_promise(privacy: privacy_statement.CuratorPrivacy) -> SimpleNamespace:
    # an exact number, since doubles end at e^709
    factor = (Decimal(privacy.epsilon.numerator) / privacy.epsilon.denominator).exp()
    return SimpleNamespace(
        epsilon=values.format_amount(privacy.epsilon),
        delta=values.format_amount(privacy.delta),
        adjacency=privacy.adjacency,
        # whether neighbours differ by the presence of one person
        add_remove=privacy.adjacency == privacy_statement.ADD_REMOVE,
        factor=values.factor_at_most(factor),
        beliefs=update_beliefs(float(min(factor, _MAX_FACTOR))),
    )


def find_promise(privacy: privacy_statement.CuratorPrivacy) -> list[Statement]:
    return TEXTS.section("curator", describe_promise(privacy))
