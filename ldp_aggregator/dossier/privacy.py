"""Builds the section on epsilon: odds and beliefs, several surveys, and the exact proof."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from encoders.epsilon_proof import realised_epsilon
from ldp_aggregator.authoring.overview import report_bytes
from ldp_aggregator.dossier.source import SURVEYS, DossierSource
from ldp_aggregator.dossier.statement import Basis, Statement, Table, assumed, computed
from ldp_aggregator.results.statements import BELIEFS, describe_privacy

WEAK_EPSILON = Decimal(4)
"""From this epsilon on, one report can be nearly as good as the answer itself."""
_HUGE = 1e12


def build_privacy(source: DossierSource) -> dict[str, Any]:
    """Return what epsilon means, what several surveys add up to, and how it is proved."""
    return {
        "statements": list(_describe_epsilon(source)),
        "beliefs": _build_beliefs(source),
        "several": list(_describe_several(source)),
        "sums": _build_sums(source),
        "proof": list(_describe_proof(source)),
        "questions": _build_questions(source),
    }


def _describe_epsilon(source: DossierSource) -> Iterator[Statement]:
    command = source.check_command
    yield computed(describe_privacy(source.epsilon, source.odds_factor()), command)
    yield assumed(
        "This holds for every person and every report, against anybody who sees it, whatever they know "
        "already and whatever they compute later. It also holds for everything that is made from reports: "
        "totals, estimates and models."
    )
    yield computed(
        "So a belief b in a statement about the person becomes at most bF / (1 - b + bF), where F is this "
        "factor. Percentages in this document are rounded to one decimal.",
        source.odds_command,
    )
    yield from warn_of_weak_epsilon(source)


def warn_of_weak_epsilon(source: DossierSource) -> Iterator[Statement]:
    """Yield a warning if one report can be nearly as good as the answer itself."""
    if source.plan.epsilon >= WEAK_EPSILON:
        text = "At this epsilon one report can be nearly as good as the answer itself."
        yield computed(text, source.odds_command)


def _build_beliefs(source: DossierSource) -> Table:
    return Table(
        caption="What one report of this survey can change at most",
        head=("Belief in a statement about a person, before", "After the report, at most"),
        rows=[(f"{belief:.0%}", source.belief_after(belief)) for belief in BELIEFS],
        basis=Basis.COMPUTED,
        command=source.odds_command,
        numeric={1},
    )


def _describe_several(source: DossierSource) -> Iterator[Statement]:
    plan = source.plan
    yield assumed(
        "Epsilon adds up over all surveys that a person answers, also those of other collectors. The table "
        "shows the sum for surveys of this epsilon."
    )
    yield assumed(
        f"A device answers one survey of the family {plan.family}. So further rounds of this survey add "
        "nothing for a person, if they are in this family."
    )
    yield assumed(
        "An application can set max_total_epsilon, a limit on the sum over all surveys that it asks. By "
        "default there is none, and the survey file cannot show which limit the application sets."
    )
    yield assumed(
        "A person who reinstalls the application, restores an old backup or uses two devices may answer "
        "twice, "
        + (
            "and both reports are sent, although the invitation counts once."
            if plan.by_invitation
            else "and then spends epsilon twice."
        )
    )


def _build_sums(source: DossierSource) -> Table:
    head = ("Surveys of this epsilon", "Total epsilon", "Odds change by a factor of at most")
    return Table(
        caption="What several surveys add up to",
        head=(*head, *(f"A belief of {belief:.0%} becomes at most" for belief in BELIEFS)),
        rows=[
            (
                str(count),
                f"{(count * source.plan.epsilon).normalize():f}",
                _format_factor(source.odds_factor(count)),
                *(source.belief_after(belief, count) for belief in BELIEFS),
            )
            for count in SURVEYS
        ],
        basis=Basis.COMPUTED,
        command=source.odds_command,
        numeric=set(range(1, 3 + len(BELIEFS))),
    )


def _format_factor(factor: float) -> str:
    """Return a factor with three digits, without an exponent unless it is huge."""
    rounded = float(f"{factor:.3g}")
    return f"{rounded:,.0f}" if 1000 <= rounded < _HUGE else f"{rounded:.3g}"


def _describe_proof(source: DossierSource) -> Iterator[Statement]:
    yield computed(
        "The bound is proved, not estimated. Devices draw from tables of whole numbers. For each question "
        "the largest ratio between the probabilities of any report for two people is an exact fraction, "
        f"which is compared with e^{source.epsilon} without rounding in favour of the survey.",
        source.check_command,
    )
    yield assumed(
        "The author's tool, the collector and each device repeat this proof, and refuse a survey that "
        "exceeds its epsilon. No floating-point number takes part once the question is drawn."
    )
    yield computed(
        "The last column of the table is the exact epsilon that the tables of a question spend, rounded up.",
        source.check_command,
    )


def _build_questions(source: DossierSource) -> Table:
    plan = source.plan
    return Table(
        caption="The questions that a device may be asked, and the exact epsilon of each",
        head=("Question", "Asked with probability", "Mechanism", "Report", "Exact epsilon"),
        rows=[
            (
                question.name,
                f"{plan.question_probability(question):.1%}",
                question.mechanism.name,
                f"{report_bytes(plan, question)} bytes",
                f"{realised_epsilon(question.mechanism.ratio):f}",
            )
            for question in plan.questions
        ],
        basis=Basis.COMPUTED,
        command=source.check_command,
        numeric={1, 3, 4},
    )
