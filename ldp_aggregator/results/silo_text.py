"""Sentences about silos that the card, the results page and `ldp-train` share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from encoders.survey.plan_checks import SILO
from ldp_aggregator.findings.bounds import factor_at_most

SILOS = "silos"
"""The entry of a privacy statement about silos, if people reported too."""

SILO_ERRORS = (
    "Standard errors cover the noise of the messages, and the sampling of the rows from a population, as if "
    "each row was a person drawn independently. They do not cover that silos differ from each other, or from "
    "organisations that did not report."
)
"""What the standard errors of estimates from silos cover."""

Json = Mapping[str, Any]


def find_silo_statement(privacy: Json) -> Json | None:
    """Return the part of a privacy statement that is about silos; None for people alone."""
    if privacy.get("trust") == SILO:
        return privacy
    found: Json | None = privacy.get(SILOS)
    return found


def name_counts(silos: Json | None) -> str:
    """Return what the numbers of a table of features count; `silos` is that entry of the estimates."""
    if not silos:
        return "reports"
    return "rows" if silos["people"] is None else "reports and rows"


def describe_sent(estimates: Json) -> str:
    """Return how many reports and messages of silos there are."""
    silos, reports = estimates.get("silos"), estimates["reports"]
    if not silos:
        return f"{reports:,} reports"
    messages = f"{count_messages(silos)} of silos"
    return messages if silos["people"] is None else f"{silos['people']:,} reports and {messages}"


def count_messages(silos: Json) -> str:
    """Return the number of messages as a text."""
    return f"{silos['messages']:,} message{'' if silos['messages'] == 1 else 's'}"


def describe_silo_data(silos: Json) -> str:
    """Return what silos sent; `silos` is the entry of that name of :meth:`Estimates.as_dict`."""
    messages = count_messages(silos)
    if not silos["messages"]:
        return f"Silos sent {messages}, so nothing is known about their rows."
    rows = f"{max(round(silos['rows']), 0):,} rows (+- {1.96 * silos['rows_stderr']:,.0f} by noise)"
    pooled = (
        f" They are pooled with {silos['people']:,} reports of people, weighted by precision: the estimates "
        "take both as samples of one population."
        if silos["people"] is not None
        else ""
    )
    return f"Silos sent {messages} about an estimated {rows}.{pooled}"


def describe_silo_privacy(statement: Json) -> Iterator[str]:
    """Yield sentences about the privacy of each message."""
    epsilon, rows = statement["epsilon"], statement["rows_per_person"]
    content = "one row" if rows == 1 else f"at most {rows:,} rows"
    factor = factor_at_most(math.exp(float(Decimal(epsilon))))
    yield (
        f"Each message of a silo is {epsilon}-differentially private against everybody, the collector "
        f"included: with and without the rows of one person ({content}), the probabilities of every message "
        f"differ by a factor of at most {factor} (e^epsilon). A change of their content is a removal and an "
        "addition, so it is protected with twice this epsilon."
    )
    yield (
        "The silo itself has the rows, and must protect them. The epsilons of a person add up over all "
        "messages that count them: of several silos, or of one silo in several epochs if a row was counted "
        "again."
    )


def describe_silo_influence(silos: Json, label: str, classes: Sequence[str]) -> str | None:
    """Return how far one lying silo can move the estimates; None without messages."""
    influence = silos["influence"]
    if influence is None:
        return None
    shares = ", ".join(
        f"{name} {format_share(each)}" for name, each in zip(classes, influence["conditionals"], strict=True)
    )
    extreme = max(*influence["prior_with_noise"], *influence["conditionals_with_noise"])
    pooled = ", before they are pooled with reports of people" if silos["people"] is not None else ""
    return (
        f"One further message of a silo that invents all of its {silos['rows_limit']:,} rows could move "
        f"P({label}) by at most {format_share(max(influence['prior']))}, and P(value | {label}), or a mean "
        f"as a share of its range, by at most: {shares}{pooled}. If it invents its noise too, and passes the "
        f"collector's checks, by at most {format_share(extreme)}."
    )


def format_share(share: float) -> str:
    """Return a bound on a share with three digits after the point, rounded up."""
    return f"{min(math.ceil(share * 1000) / 1000, 1.0):.3f}"
