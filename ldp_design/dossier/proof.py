"""Builds the annex on epsilon: the guarantee, the formula for beliefs, and the exact proof."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from encoders.epsilon_proof import realised_epsilon
from encoders.survey.decimals import decimal_text
from ldp_aggregator.findings.bounds import factor_at_most
from ldp_aggregator.results.statements import describe_privacy
from ldp_design.authoring.overview import find_setting_warnings, report_bytes
from ldp_design.dossier.source import SURVEYS, DossierSource
from ldp_design.dossier.statement import Basis, DossierTable, Statement, assumed, computed, conditional


def build_proof(source: DossierSource) -> dict[str, Any]:
    """Return the guarantee in technical terms, the factors of several surveys, and the proof."""
    return {
        "statements": [*_describe_guarantee(source), *_list_warnings(source)],
        "factors": _build_factors(source),
        "proof": list(_describe_proof(source)),
        "questions": _build_questions(source),
    }


def _describe_guarantee(source: DossierSource) -> Iterator[Statement]:
    command = source.odds_command
    yield conditional(describe_privacy(source.epsilon, source.odds_factor()), command)
    yield conditional(
        "So a belief b in a statement about the person becomes at most bF / (1 - b + bF), where F is this "
        "factor. Percentages and factors are rounded up, to three digits or more.",
        command,
    )
    yield conditional(
        "If the answers of k people depend on each other, their reports together change the odds of the "
        "common fact by a factor of at most F^k. Epsilon of several surveys of one person adds up.",
        command,
    )
    yield assumed(
        "An application sets the limit on the sum over all surveys that it asks as max_total_epsilon."
    )
    yield assumed(
        "Nobody measures the computing time on the device itself: the client in Python does not take the "
        "same time for every answer."
    )


def _list_warnings(source: DossierSource) -> Iterator[Statement]:
    for each in find_setting_warnings(source.plan):
        message = each.message.rstrip(".")
        yield computed(f"{message[:1].upper()}{message[1:]}.", source.check_command)


def _build_factors(source: DossierSource) -> DossierTable:
    return DossierTable(
        caption="The factor of several surveys",
        head=("Surveys of this epsilon", "Total epsilon", "Odds change by a factor of at most"),
        rows=[
            (
                str(count),
                decimal_text(count * source.plan.epsilon),
                factor_at_most(source.odds_factor(count)),
            )
            for count in SURVEYS
        ],
        basis=Basis.COMPUTED,
        command=source.odds_command,
        numeric={1, 2},
    )


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


def _build_questions(source: DossierSource) -> DossierTable:
    plan = source.plan
    return DossierTable(
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
        note="Exact epsilon: the epsilon that the tables of the question spend, rounded up.",
    )
