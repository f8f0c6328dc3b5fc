"""Statements on the data: what was sent and rejected, and what a validation round found."""

from __future__ import annotations

from collections.abc import Mapping

from encoders.explain.text import Counted
from ldp_aggregator.estimation import Estimates
from ldp_aggregator.estimation.intervals import Z95
from ldp_aggregator.estimation.silo_influence import SiloSummary
from ldp_aggregator.privacy_statement import PrivacyStatement
from ldp_aggregator.statements.rules import is_known
from ldp_aggregator.statements.words import TEXTS
from ldp_aggregator.wording.bounds import format_share
from ldp_aggregator.wording.statement import Statement
from ldp_aggregator.wording.values import Count, Names, Share


def count_sent(estimates: Estimates) -> dict[str, object]:
    """Return the numbers of reports and messages, by the names of holes."""
    silos = estimates.silos
    messages = silos.messages if silos else 0
    return {
        "reports": Counted(estimates.reports - messages, "report"),
        "messages": Counted(messages, "message"),
        "one_report": estimates.reports - messages == 1,
        "silos": silos,
        "pooled": silos is not None and silos.people is not None,
        "answered": Count(estimates.reports - messages),
        "people": silos is None or silos.people is not None,
        "has_messages": messages > 0,
        "has_reports": estimates.reports > messages,
        "empty": not estimates.reports,
    }


def find_data(estimates: Estimates, privacy: PrivacyStatement, *, validation: bool) -> list[Statement]:
    """Return statements on the data of people and silos; `validation` is true for a validation round."""
    silos, rejected = estimates.silos, privacy.rejected
    values = count_sent(estimates) | {
        "simulated": privacy.simulated,
        "silos_simulated": any(each.simulated for each in privacy.silos),
        "several": silos and silos.surveys > 1,
        "validation": validation,
        "rejected": rejected,
        "rejected_count": Count(sum(rejected.values())),
        "reasons": Names(f"{Count(count)} {reason}" for reason, count in sorted(rejected.items())),
    }
    if silos:
        values["surveys"] = Count(silos.surveys)
        values["rows"] = Counted(max(round(silos.rows), 0), "row")
        values["rows_margin"] = f"{Z95 * silos.rows_stderr:,.0f}"
    return TEXTS.section("data", values)


def find_silos(silos: SiloSummary, label: str, classes: tuple[str, ...]) -> list[Statement]:
    """Return statements on the errors of estimates from silos, and on the influence of one lying silo."""
    values: dict[str, object] = {"influence": silos.influence, "pooled": silos.pooled, "label": label}
    if silos.influence:
        moves = silos.influence
        pairs = zip(classes, moves.conditionals.tolist(), strict=True)
        extreme = max([*moves.conditionals_with_noise, *(moves.prior_with_noise if label else ())])
        values |= {
            "rows_limit": Counted(silos.rows_limit, "row"),
            "prior": format_share(moves.prior.max()),
            "conditionals": ", ".join(f"{name} {format_share(move)}".strip() for name, move in pairs),
            "with_noise": format_share(extreme),
        }
    return TEXTS.section("silos", values)


def find_validation(validation: Estimates, rejected: Mapping[str, int]) -> list[Statement]:
    """Return the statements about the results of a validation round.

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
