"""Findings on a curator's model: its promise, what it learnt, and how to cite it."""

from __future__ import annotations

from decimal import Decimal

from ldp_aggregator.curator_privacy import ADD_REMOVE, CuratorPrivacy
from ldp_aggregator.statements.privacy import list_beliefs
from ldp_aggregator.statements.words import TEXTS
from ldp_aggregator.wording.bounds import factor_at_most, format_amount
from ldp_aggregator.wording.finding import Finding

_MAX_FACTOR = Decimal("1e300")
"""Above this a double overflows, and beliefs are certain."""


def find_promise(privacy: CuratorPrivacy) -> list[Finding]:
    """Return findings on the promise of a curator: the guarantee and its limits."""
    factor = (Decimal(privacy.epsilon.numerator) / privacy.epsilon.denominator).exp()  # doubles end at e^709
    values = {
        "epsilon": format_amount(privacy.epsilon),
        "delta": format_amount(privacy.delta),
        "add_remove": privacy.adjacency == ADD_REMOVE,
        "factor": factor_at_most(factor),
        **list_beliefs(float(min(factor, _MAX_FACTOR))),
    }
    return TEXTS.section("curator", values)


def find_citation(survey: str, digest: str, privacy: CuratorPrivacy) -> list[Finding]:
    """Return the findings that say how to cite the model."""
    return TEXTS.section(
        "citation",
        {
            "curator": True,
            "classes": True,
            "survey": survey,
            "digest": digest,
            "epsilon": format_amount(privacy.epsilon),
            "delta": format_amount(privacy.delta),
            "adjacency": privacy.adjacency,
        },
    )
