"""Builds the section on how much a report can reveal: beliefs, dependent people, and several surveys."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from encoders.survey.decimals import decimal_text
from ldp_design.dossier.sections import section
from ldp_design.dossier.source import BELIEFS, SURVEYS, DossierSource, PlanSource
from ldp_design.dossier.statement import Basis, DossierTable, Statement, assumed, computed, conditional

WEAK_EPSILON = Decimal(4)
"""From this epsilon on, one report can be nearly as good as the answer itself."""
_HARM = "a disclosed answer could harm a person, for example in court or at work"
_RATINGS = (
    (Decimal("0.5"), f"strict: ldp-bayes recommends 0.5 if {_HARM}"),
    (
        Decimal(1),
        (
            f"moderate: ldp-bayes recommends 1 in general, and the stricter 0.5 if {_HARM}. The board "
            "should ask which of the two applies here"
        ),
    ),
    (
        Decimal(2),
        (
            "lax: ldp-bayes recommends 1, and up to 2 only if the survey cannot reach enough people at 1 and "
            "people would accept what a report can reveal"
        ),
    ),
)
"""The recommendation of docs/size-and-epsilon.md, by the largest epsilon to which it applies."""
_VERY_LAX = (
    "very lax: ldp-bayes recommends at most 2, and devices refuse more unless their application allows it"
)


def rate_epsilon(epsilon: Decimal) -> str:
    """Return how strict an epsilon is by the recommendation of ldp-bayes."""
    return next((rating for largest, rating in _RATINGS if epsilon <= largest), _VERY_LAX)


def build_privacy(source: DossierSource) -> dict[str, Any]:
    """Return how much a report can reveal, and what several people or surveys add up to."""
    return {
        "statements": list(_describe_limit(source)),
        "beliefs": _build_beliefs(source),
        "people": list(_describe_dependence(source)),
        "several": list(_describe_several(source)),
        "sums": build_sums(source),
    }


def describe_rating(source: DossierSource) -> Statement:
    """Return the privacy limit, and how strict it is."""
    rating = rate_epsilon(source.plan.epsilon)
    text = f"Privacy limit (epsilon): {source.epsilon}; smaller protects better. This is {rating}."
    return computed(text, source.check_command)


def describe_examples(source: DossierSource) -> Statement:
    """Return what a report makes of three beliefs."""
    return conditional(
        "What the limit means: suppose somebody sees a report and knows whose it is. If they believed "
        f"before that something about this person is true with a probability of 10%, it is at most "
        f"{source.belief_after(0.1)} afterwards; 50% becomes at most {source.belief_after(0.5)}, and 90% at "
        f"most {source.belief_after(0.9)}.",
        source.odds_command,
    )


def warn_of_weak_epsilon(source: DossierSource) -> Iterator[Statement]:
    """Yield a warning if one report can be nearly as good as the answer itself."""
    if source.plan.epsilon >= WEAK_EPSILON:
        text = "At this privacy limit one report can be nearly as good as the answer itself."
        yield computed(text, source.odds_command)


def _describe_limit(source: DossierSource) -> Iterator[Statement]:
    yield describe_rating(source)
    yield from warn_of_weak_epsilon(source)
    yield assumed(
        "The limit holds for every report of every person, against anybody who sees it, whatever they knew "
        "before and whatever they compute later. It also holds for the totals, estimates and models that are "
        "made from reports, except for what is true of a whole group: that can be learned from the results "
        "without a person's own report."
    )


def _build_beliefs(source: DossierSource) -> DossierTable:
    return DossierTable(
        caption="What one report of this survey can change at most",
        head=("Somebody believes a statement about the person, before", "After the report, at most"),
        rows=[(f"{belief:.0%}", source.belief_after(belief)) for belief in BELIEFS],
        basis=Basis.CONDITIONAL,
        command=source.odds_command,
        numeric={1},
        note="Assumption: the person sends one report, and nobody whose answers depend on theirs sends one.",
    )


def _describe_dependence(source: DossierSource) -> Iterator[Statement]:
    yield conditional(
        "If the answers of two people always agree, for example about an infection that partners share, then "
        "their two reports together reveal as much about this fact as two reports of one person. A belief of "
        f"50% becomes at most {source.belief_after(0.5, 2)}, and one of 10% at most "
        f"{source.belief_after(0.1, 2)}.",
        source.odds_command,
    )


def _describe_several(source: DossierSource) -> Iterator[Statement]:
    yield assumed(
        "What several surveys reveal about a person adds up, also if they are surveys of other "
        "organisations. The table shows it for surveys with the limit of this one."
    )
    yield assumed(
        f"A device answers one round of this survey series ({source.plan.family}). A further round adds "
        "nothing if it names the same series in its survey file, and if it comes from the same internet "
        "address, or from the same author whose signature the application checks. Otherwise it adds up "
        "like any other survey."
    )
    yield assumed(
        "An application can limit the total over all surveys that it asks. By default it sets no limit "
        f"({section('not-covered')})."
    )
    counted = ", although the collector counts only one of them" if source.plan.by_invitation else ""
    yield assumed(
        "A person who reinstalls the application, restores an old backup or uses two devices may send two "
        f"reports. They are then protected as little as after two surveys{counted}."
    )


def build_sums(source: PlanSource) -> DossierTable:
    """Return what several reports with this epsilon add up to."""
    return DossierTable(
        caption="What several surveys add up to",
        head=(
            "Surveys",
            "Total epsilon",
            *(f"A belief of {belief:.0%} becomes at most" for belief in BELIEFS),
        ),
        rows=[
            (
                str(count),
                decimal_text(count * source.plan.epsilon),
                *(source.belief_after(belief, count) for belief in BELIEFS),
            )
            for count in SURVEYS
        ],
        basis=Basis.CONDITIONAL,
        command=source.odds_command,
        numeric=set(range(1, 2 + len(BELIEFS))),
        note=f"Assumption: each survey has the privacy limit {source.epsilon}.",
    )
