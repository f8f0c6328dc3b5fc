"""Explains to a person what a relay changes: who sees what, and what the batch hides."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal

from encoders.explain.text import wrap_text
from encoders.survey.plan import Plan

_TWO_DIGITS = Context(prec=2, rounding=ROUND_CEILING)


def describe_relay(plan: Plan) -> list[str]:
    """Return the lines that a person reads about the relay; none for a survey without one."""
    relay = plan.relay
    if relay is None:
        return []
    return wrap_text(
        "The report goes through a relay, which cannot read it. The relay knows that you take part; the "
        "collector cannot see who sent which report. What the collector sees changes the odds of any two "
        f"answers of yours by at most {_factor(relay.epsilon)} times, with a remainder of at most 1 in "
        f"{math.floor(1 / relay.delta):,}, if at least {relay.honest_reports:,} of the {relay.batch:,} "
        "reports that leave together come from people who do not help it. If relay and collector work "
        f"together, by at most {_factor(plan.epsilon)} times."
    )


def _factor(epsilon: Decimal) -> str:
    """Return e^epsilon with two digits, rounded up."""
    return format(_TWO_DIGITS.plus(epsilon.exp()), "f")
