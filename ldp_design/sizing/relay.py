"""What the relay of a survey changes about its size: the people that it saves, and whether enough come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from encoders.survey import Survey
from ldp_aggregator.synthetic_people import SyntheticPopulation
from ldp_design.simulation.expected_totals import ExpectedTotals
from ldp_design.sizing.margins import Margin, find_users_for_margin
from ldp_design.sizing.sample_size import SizeError


@dataclass(frozen=True, kw_only=True)
class RelaySize:
    """A survey with a relay, compared with one of the same promise without."""

    batch: int
    promised_epsilon: float
    users_without: int | None
    """How many people would be needed without a relay for the same margins, if the promised epsilon were the
    local one; None if no number is enough."""
    too_few: float
    """The probability that fewer people than a batch answer, if each decides independently."""

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison for JSON."""
        return asdict(self)


def size_relay(
    survey: Survey, population: SyntheticPopulation, users: int, margins: Sequence[Margin]
) -> RelaySize | None:
    """Return the comparison; None for a survey without a relay.

    Parameters
    ----------
    survey : Survey
    population : SyntheticPopulation
        The assumed population.
    users : int
        Number of people who are expected to answer.
    margins : sequence of Margin
        The margins to expect with the relay.
    """
    if survey.relay is None:
        return None
    from scipy.special import pdtr  # late: seldom needed

    plan = replace(survey, relay=None, epsilon=survey.relay.epsilon).compile()
    try:
        widest = max(each.share for each in margins)
        without = find_users_for_margin(ExpectedTotals(plan, population), widest, survey.tables)
    except SizeError:
        without = None
    return RelaySize(
        batch=survey.relay.batch,
        promised_epsilon=float(survey.relay.epsilon),
        users_without=without,
        too_few=float(pdtr(survey.relay.batch - 1, users)),
    )
