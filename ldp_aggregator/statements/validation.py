"""Findings on a validation round: the accuracy of a model, and which features it keeps."""

from __future__ import annotations

from collections.abc import Mapping

from encoders.explain.text import Counted
from ldp_aggregator.estimation import Estimates
from ldp_aggregator.statements.rules import is_known
from ldp_aggregator.statements.words import TEXTS
from ldp_aggregator.wording.finding import Finding
from ldp_aggregator.wording.values import Count, Names, Share


def find_validation(validation: Estimates, rejected: Mapping[str, int]) -> list[Finding]:
    """Return the findings about the results of a validation round.

    Parameters
    ----------
    validation : Estimates
        Of the round.
    rejected : mapping from str to int
        Numbers of its rejected reports by reason.
    """
    result = validation.validation_result
    assert result is not None
    accuracy, low, high = (
        min(max(float(each), 0.0), 1.0)
        for each in (result.accuracy.value, result.accuracy.low, result.accuracy.high)
    )
    names = result.selected_features
    return TEXTS.section(
        "validation",
        {
            "survey": validation.survey,
            "reports": Counted(validation.reports, "device"),
            "rejected": rejected,
            "rejected_count": Count(sum(rejected.values())),
            "reasons": Names(f"{Count(count)} {reason}" for reason, count in sorted(rejected.items())),
            "known": is_known(low, high, stderr=float(result.accuracy.stderr)),
            "features": len(result.features),
            "accuracy": Share(accuracy),
            "low": Share(low),
            "high": Share(high),
            "selected": 0 if result.selected is None else len(names),
            "names": Names(names),
        },
    )
