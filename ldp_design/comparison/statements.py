"""States what a comparison found, in words of texts/, for a terminal and the page; numbers have intervals."""

from __future__ import annotations

import math
from decimal import Decimal
from types import SimpleNamespace

from encoders.canonical import decimal_text
from encoders.survey.compiled_plan import CENTRAL, LOCAL, SILO
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.prediction import NAIVE_BAYES
from ldp_aggregator.render.document import PlainTable
from ldp_aggregator.wording.statement import Statement, Texts
from ldp_aggregator.wording.values import Count, Number, Points, RoundShare, SignedPoints
from ldp_design.authoring.overview import DEFAULT_MAX_EPSILON
from ldp_design.comparison.learners import LEARNERS
from ldp_design.comparison.trust_comparison import (
    Candidate,
    Crossing,
    Mean,
    NeededTrust,
    NoiseLevels,
    TrustComparison,
    choose_targets,
)
from ldp_design.comparison.trusts import LABELS, RELAY, RELAY_DELTA, RELAY_HONEST, Trust

TEXTS = Texts("ldp_design.comparison")
ACCEPTED_LOSS = 0.05
"""If no accuracy is wanted, the recommendation is for this much less than without protection."""


def state_comparison(
    comparison: TrustComparison, levels: NoiseLevels | None, target: float | None, sign: str = "±"
) -> SimpleNamespace:
    """Return the statements of a comparison; `sign` is between an accuracy and half of its interval."""
    best_learner = TEXTS.find(f"names.{comparison.best_learner}")
    trust_models = "; ".join(f"{each.trust.text}, {explain_trust(each.trust)}" for each in comparison.ranked)
    facts = SimpleNamespace(
        splits=comparison.splits,
        training_rows=Count(comparison.training_rows),
        test_rows=Count(comparison.test_rows),
        learners=len(LEARNERS),
        best_learner=best_learner,
        ceiling=comparison.ceiling,
        # the accuracy of always guessing the most frequent class
        majority=comparison.majority,
        has_labels=bool(comparison.find(LABELS)),
        # the epsilons of all that a device sends to relays; empty without relays
        relayed=_list_sent(comparison),
        asks_all=any(each.asks_all for each in comparison.trusts),
        relay_delta=f"{RELAY_DELTA:g}",
        relay_honest=RoundShare(RELAY_HONEST),
    )
    return SimpleNamespace(
        best_learner=best_learner,
        uncovered=TEXTS.find("comparison.uncovered"),
        setting=TEXTS.find("comparison.setting", facts),
        recommendation=recommend(comparison, target),
        # a heading, and the trust models that the wanted accuracy needs; empty if none is wanted
        wanted=describe_target(comparison, target) if target else [],
        targets=_tabulate_targets(comparison),
        targets_legend=TEXTS.find("comparison.targets-legend", trust_models=trust_models),
        # a heading, and what local costs instead of a curator; empty unless both are compared
        cost=describe_cost(comparison, levels),
        accuracies=_tabulate_accuracies(comparison, sign),
        notes=TEXTS.section("notes", facts),
    )


def explain_trust(trust: Trust) -> Statement:
    """Return the statement that says who sees which rows under a trust model."""
    return TEXTS.find(f"names.{trust.name}", silos=Count(trust.silos), batch=Count(trust.batch))


def _list_sent(comparison: TrustComparison) -> str:
    lists: dict[str, list[str]] = {}
    for (trust, _), epsilon in comparison.sent.items():
        lists.setdefault(trust.text, []).append(str(Number(epsilon)))
    return "; ".join(f"{', '.join(epsilons)} for {name}" for name, epsilons in lists.items())


def recommend(comparison: TrustComparison, target: float | None) -> list[Statement]:
    """Return the weakest trust model that reaches the accuracy at a usual epsilon, and how to ask for it."""
    wanted = target or comparison.ceiling.value - ACCEPTED_LOSS
    needed = comparison.find_needed_trusts(wanted)
    is_decided = comparison.majority.high < wanted <= comparison.ceiling.high
    accepted = [each for each in needed if is_decided and each.epsilon <= DEFAULT_MAX_EPSILON]
    sure = [each.reaches for each in accepted if each.reaches]
    possible = [candidate for each in accepted for candidate in each.may_reach]
    larger = [each.reaches for each in needed if each.reaches]
    best: Candidate | None = None
    if sure:
        best = min(sure, key=lambda each: each.trust.rank)
    elif possible:
        best = max(possible, key=lambda each: each.accuracy.value)
    elif larger:
        best = larger[0]
    weaker = [each.trust for each in possible if best and each.trust.rank < best.trust.rank]
    return TEXTS.section(
        "recommendation",
        nothing_ranked=not comparison.ranked,
        # whether even the accuracy without protection is lower than wanted
        out_of_reach=comparison.ceiling.high < wanted,
        guessing_reaches=comparison.majority.low >= wanted,
        guessing_may_reach=comparison.majority.high >= wanted,
        is_recommended=bool(sure),
        # whether a trust model may reach it, with an epsilon that clients accept
        is_possible=bool(possible),
        # whether one reaches it with a larger epsilon
        larger_reaches=bool(larger),
        is_wanted=bool(target),
        wanted=Number(100 * wanted),
        # the accepted loss in percentage points, if no accuracy is wanted
        loss=Number(100 * ACCEPTED_LOSS),
        limit=DEFAULT_MAX_EPSILON,
        ceiling=comparison.ceiling,
        majority=comparison.majority,
        is_weakest=bool(best and best.trust == comparison.ranked[0].trust),
        # trust models that need less trust and may reach the accuracy
        others=" or ".join(dict.fromkeys(each.text for each in weaker)),
        best=_describe_candidate(comparison, best) if best else None,
    )


def _describe_candidate(comparison: TrustComparison, candidate: Candidate) -> SimpleNamespace:
    """Return the facts about a trust model at an epsilon; for silos, replacing a row is two changes."""
    kind, exact = candidate.trust.kind, Decimal(repr(candidate.epsilon))
    rows_per_person = comparison.plan.rows_per_person if isinstance(comparison.plan, SiloPlan) else 1
    return SimpleNamespace(
        trust=candidate.trust.text,
        meaning=explain_trust(candidate.trust),
        epsilon=Number(candidate.epsilon),
        accuracy=candidate.accuracy,
        is_local=kind == LOCAL,
        is_silo=kind == SILO,
        is_relay=kind == RELAY,
        epsilon_to_write=decimal_text(exact / 2 if kind == SILO else exact),
        asks_all=candidate.trust.asks_all,
        local_epsilon=decimal_text(comparison.sent.get((candidate.trust, candidate.epsilon), exact)),
        batch=Count(candidate.trust.batch),
        several_rows=rows_per_person > 1,
        rows_per_person=rows_per_person,
    )


def describe_target(comparison: TrustComparison, target: float) -> list[Statement]:
    """State the weakest trust model for an accuracy at each epsilon, and the epsilon that each one needs."""
    wanted, labels = Number(100 * target), comparison.find(LABELS)
    found = [TEXTS.find("needed.heading", wanted=wanted)]
    found += [
        TEXTS.find(
            "needed.trust",
            reached=bool(each.reaches),
            possible=", ".join(f"{other.trust.text} {other.accuracy}" for other in each.may_reach),
            best=_describe_candidate(comparison, each.reaches or each.best),
        )
        for each in comparison.find_needed_trusts(target)
    ] or [TEXTS.find("needed.unranked")]
    crossings = [
        TEXTS.find(
            "needed.crossing",
            is_labels=curve is labels,
            trust=curve.trust.text,
            needed_epsilon=crossing,
            is_repeated=crossing.is_repeated,
        )
        for curve in [*comparison.ranked, *([labels] if labels else [])]
        for crossing in [comparison.find_crossing(curve.accuracies - target)]
    ]
    if crossings:
        joined = "; ".join(map(str, crossings))
        found.append(TEXTS.find("needed.crossings", wanted=wanted, crossings=joined))
    return found


def describe_cost(comparison: TrustComparison, levels: NoiseLevels | None) -> list[Statement]:
    """State what a local survey needs for the accuracy of a curator; empty unless both are compared."""
    local, central = comparison.local, comparison.find(CENTRAL)
    if local is None or central is None:
        return []
    naive_bayes = comparison.ceilings[NAIVE_BAYES]
    curator, found, is_limited = central.trust.text, [], False
    for index, epsilon in enumerate(comparison.epsilons):
        # The splits are paired: the accuracies of one split are subtracted from each other.
        gap = comparison.average(local.accuracies[index] - central.accuracies[index])
        crossing = comparison.find_crossing(local.accuracies - central.accuracies[index])
        exceeds_naive_bayes = comparison.average(naive_bayes - central.accuracies[index]).high < 0
        is_beyond = gap.high < 0 and math.isinf(crossing.value) and exceeds_naive_bayes
        is_limited |= is_beyond
        people = levels.write_people(epsilon, crossing) if levels else ""
        facts = _describe_gap(gap, curator, epsilon, crossing, is_beyond=is_beyond, people=people)
        found.append(TEXTS.find("cost.gap", facts))
    heading = TEXTS.find("cost.heading", curator=curator, people=Count(comparison.training_rows))
    limit = TEXTS.find("cost.limit", curator=curator, naive_bayes=comparison.average(naive_bayes))
    return [heading, *found, *([limit] if is_limited else [])]


def _describe_gap(
    gap: Mean, curator: str, epsilon: float, crossing: Crossing, *, is_beyond: bool, people: str
) -> SimpleNamespace:
    is_unclear = gap.low <= 0 <= gap.high
    sign, points = (-1, Points) if gap.high < 0 else (1, SignedPoints if is_unclear else Points)
    low, high = sorted((sign * gap.low, sign * gap.high))
    return SimpleNamespace(
        epsilon=Number(epsilon),
        curator=curator,
        is_unclear=is_unclear,
        is_better=gap.low > 0,
        points=points(sign * gap.value),
        low=points(low),
        # the difference of the accuracies with its interval; a clear one is written without its sign
        high=points(high),
        # whether local probably cannot match the curator
        is_beyond=is_beyond,
        needed_epsilon=crossing,
        is_repeated=crossing.is_repeated,
        # whether the needed epsilon is beyond the tested ones
        is_bound=crossing.value in (0, math.inf),
        # who would match the curator at this epsilon; empty if this is unknown
        needed_people=people,
    )


def describe_cell(needed: NeededTrust) -> str:
    """Return a cell such as "silo:10 (local?)" if the weaker local survey may do too; "-" for none."""
    sure = needed.reaches.trust.text if needed.reaches else "-"
    possible = ", ".join(f"{each.trust.text}?" for each in needed.may_reach)
    return f"{sure} ({possible})" if possible else sure


def _tabulate_targets(comparison: TrustComparison) -> PlainTable | None:
    targets = choose_targets(comparison.majority.high, comparison.ceiling.value)
    if not targets or not comparison.ranked:
        return None
    return PlainTable(
        caption=str(TEXTS.find("comparison.targets-caption")),
        head=["accuracy", *_name_epsilons(comparison)],
        rows=[
            [f"{Number(100 * target)}%", *map(describe_cell, comparison.find_needed_trusts(target))]
            for target in targets
        ],
    )


def _tabulate_accuracies(comparison: TrustComparison, sign: str) -> PlainTable:
    """Return accuracies in % with half of their intervals."""

    def write(accuracies: FloatArray) -> str:
        mean = comparison.average(accuracies)
        return f"{100 * mean.value:.1f} {sign} {100 * (mean.high - mean.value):.1f}"

    rows: list[list[str]] = []
    for curve in comparison.list_lines():
        cells = list(map(write, curve.accuracies)) * (len(comparison.epsilons) // len(curve.accuracies))
        learners = ", ".join(dict.fromkeys(curve.learners))
        rows.append([curve.trust.text, learners, curve.trust.adjacency or "none", *cells])
    head = ["trust model", "learner", "adjacency", *_name_epsilons(comparison)]
    return PlainTable(
        caption=str(TEXTS.find("comparison.accuracies-caption", sign=sign)),
        head=head,
        rows=rows,
        numeric=set(range(3, len(head))),
    )


def _name_epsilons(comparison: TrustComparison) -> list[str]:
    return [f"eps {Number(each)}" for each in comparison.epsilons]
