"""Statements on fake reports: the results of the tests, and how far such reports could move estimates."""

from __future__ import annotations

import math
from collections.abc import Iterator

from encoders.explain.text import Counted
from ldp_aggregator.estimation.poisoning.influence import FAKE_SHARE
from ldp_aggregator.estimation.poisoning.question_check import SupportTests, Untested
from ldp_aggregator.estimation.poisoning.summary import PoisoningSummary
from ldp_aggregator.statements.words import TEXTS
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import Names, RoundShare

_ESTIMATES = {
    "frequencies": "P(value, {label})",
    "conditionals": "P(value | {label})",
    "prior": "P({label})",
    "shares": "P(value)",
    "means": "the means",
    "variances": "the variances",
    "missing": "P(missing | {label})",
}
"""What a reader sees instead of the names of :class:`Influence`."""


def find_poisoning(poisoning: PoisoningSummary, label: str) -> list[Statement]:
    """Return the result of the tests, the largest influence, and what the tests cannot show."""
    largest = poisoning.largest_influence
    values: dict[str, object] = {
        "alarm": poisoning.alarms,
        "questions": Counted(len(poisoning.questions), "question"),
        "tested": len(poisoning.questions) - len(poisoning.untested),
        "influence": largest,
    }
    if largest:
        check, influence = largest
        name, separator, feature = influence.estimate.partition(" of ")
        values |= {
            "fake_share": RoundShare(FAKE_SHARE),
            "question": check.question,
            "estimate": f"{_name_estimate(name, label)}{separator}{feature}",
            "stderrs": f"{influence.largest:#.3g}".rstrip("."),
        }
    return TEXTS.section("poisoning", values)


def _name_estimate(name: str, label: str) -> str:
    estimate = _ESTIMATES.get(name, name)
    if label:
        return estimate.format(label=label)
    return estimate.replace(", {label}", "").replace(" | {label}", "").removesuffix("s")


def find_alarms(poisoning: PoisoningSummary | None) -> Iterator[Statement]:
    """Yield one warning for each question with an alarm."""
    for check in poisoning.alarms if poisoning else ():
        assert isinstance(check.support, SupportTests)
        deviations = _describe_alarm(check.support)
        yield TEXTS.find("warnings.fake-reports", question=check.question, deviations=deviations)


def _describe_alarm(tests: SupportTests) -> Statement:
    parts = []
    if tests.sizes < tests.level:
        parts.append(TEXTS.find("poisoning-details.sizes", p_value=_power_above(tests.sizes)))
    if tests.pairs < tests.level:
        pairs = Names(
            f"{' with '.join(each.values)} ({each.reports:,.0f} times, expected {each.expected:,.0f})"
            for each in tests.suspicious_pairs
        )
        parts.append(TEXTS.find("poisoning-details.pairs", pairs=pairs, p_value=_power_above(tests.pairs)))
    if len(parts) == 1:
        return parts[0]
    return TEXTS.find("poisoning-details.both", sizes=parts[0], pairs=parts[1])


def _power_above(p_value: float) -> str:
    """Return the next power of ten above a p-value."""
    return f"1e{math.floor(math.log10(max(p_value, 1e-300))) + 1:d}"


def find_untested(poisoning: PoisoningSummary) -> list[Statement]:
    """Return each reason why questions cannot be tested, with these questions."""
    reasons: dict[object, list[str]] = {}
    for check in poisoning.untested:
        reasons.setdefault(check.support, []).append(check.question)
    return [
        TEXTS.find(
            "poisoning-details.untested",
            mechanism=reason == Untested.MECHANISM,
            questions=Names(dict.fromkeys(questions)),
        )
        for reason, questions in reasons.items()
    ]
