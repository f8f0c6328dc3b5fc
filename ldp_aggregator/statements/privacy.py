"""Statements on privacy: what a report or a message of a silo can reveal, and what was audited."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import ROUND_CEILING, Decimal

from ldp_aggregator.privacy_statement import PrivacyStatement
from ldp_aggregator.statements.words import TEXTS
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import Count, FactorAtMost, Names, Number, ShareAtMost


def update_belief(belief: float, odds_factor: float) -> float:
    """Return the largest probability that a belief can become if a report multiplies its odds by a factor."""
    odds = belief / (1 - belief) * odds_factor
    return odds / (1 + odds)


def list_beliefs(odds_factor: float) -> Mapping[str, ShareAtMost]:
    """Return the largest values that beliefs of 1%, 10% and 50% can reach, by the name of the hole."""
    beliefs = {"hundredth": 0.01, "tenth": 0.1, "half": 0.5}
    return {
        f"belief_{name}": ShareAtMost(update_belief(belief, odds_factor)) for name, belief in beliefs.items()
    }


def find_privacy(statement: PrivacyStatement) -> list[Statement]:
    """Return the statements that explain the privacy statement of results."""
    return TEXTS.section("privacy", dict(_list_values(statement)))


def find_report_privacy(epsilon: str, simulated: bool = False) -> Statement:
    """Return the statement that explains the guarantee of this epsilon to the person who sends a report."""
    factor = FactorAtMost(math.exp(float(epsilon)))
    return TEXTS.find("privacy.report", people=True, simulated=simulated, epsilon=epsilon, factor=factor)


def find_audit(passed: bool, trials: int) -> Statement:
    """Return the result of an audit, which compared this many messages of each made-up person."""
    return TEXTS.find("privacy.audit", audited=True, passed=passed, trials=Count(trials))


def _list_values(statement: PrivacyStatement) -> Iterator[tuple[str, object]]:
    people, silos, audit, shuffled = (
        statement.people,
        statement.silos,
        statement.audit,
        statement.only_if_shuffled,
    )
    yield from {"people": people, "silos": silos, "simulated": statement.simulated}.items()
    yield from {"audited": audit, "passed": audit and audit.passed}.items()
    if people:
        factor = math.exp(float(people.epsilon))
        yield from {"epsilon": people.epsilon, "factor": FactorAtMost(factor), **list_beliefs(factor)}.items()
        spent = max(each.spent for each in statement.rounds)
        yield "spent", format_epsilon(spent)
    if silos:
        rows = max(each.rows_per_person for each in silos)
        yield "several", len(silos) > 1
        yield "silo_epsilon", silos[0].epsilon
        yield "silo_epsilons", Names(f"{each.epsilon} ({each.survey})" for each in silos)
        yield "silo_factor", FactorAtMost(math.exp(max(float(each.epsilon) for each in silos)))
        yield from {"one_row": rows == 1, "rows_per_person": rows}.items()
    if audit:
        yield "trials", Count(audit.trials)
    relay = statement.relay
    yield "relay", relay
    yield "broken_batches", relay and relay.broken_batches and Count(relay.broken_batches)
    if relay:
        yield from {"batch": Count(relay.batch), "honest_reports": Count(relay.honest_reports)}.items()
        yield "relay_factor", FactorAtMost(math.exp(relay.epsilon))
        yield from {"relay_epsilon": Number(relay.epsilon), "relay_delta": f"{relay.delta:.1g}"}.items()
    # with a relay, what shuffling gives is promised, and not a condition
    is_amplified = bool(shuffled and people and not relay and shuffled.epsilon < float(people.epsilon))
    yield "shuffled", is_amplified
    if shuffled:
        yield from {"central_epsilon": Number(shuffled.epsilon), "delta": f"{shuffled.delta:.1g}"}.items()


def format_epsilon(epsilon: Decimal) -> str:
    """Return an exact epsilon, rounded up to four decimals."""
    return f"{epsilon.quantize(Decimal('0.0001'), ROUND_CEILING):f}"
