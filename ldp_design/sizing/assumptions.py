"""Formats what a size assumes about the people: a pilot, the shares of the labels, or equal shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from encoders.survey import Plan
from ldp_aggregator.synthetic_people import SyntheticPopulation
from ldp_design.simulation.expected_totals import ExpectedTotals
from ldp_design.sizing.margins import compute_expected_margins
from ldp_design.sizing.size import LabelShares, Size

MAX_NAMES_LENGTH = 60
"""Longer lists of feature names are not printed, in characters."""
_UNIFORM_ASSUMPTION = (
    "Assumed: all {labels}values are equally frequent, and a number's standard deviation is a sixth of its "
    "range. --pilot model.json uses the estimates of a first round instead."
)
_RARE_LABEL = (
    "If a label is rarer than that, the same margins need many times as many people: about {times:.0f} "
    "times if its share is {share:.0%}. --label-shares {example} states the shares."
)
_RARE_SHARE = 0.1
"""The share of the example of a rare label; smaller if the survey has many labels."""
_MANY_PEOPLE = 10**9


def list_assumptions(size: Size) -> Iterator[str]:
    """Yield sentences on what a size assumes about the people."""
    if not size.pilot:
        yield from _assumptions_without_pilot(size)
        return
    yield f"Assumed: {size.pilot.assumption}"
    asked = {margin.name for margin in size.margins}
    noise = [name for name in size.pilot.noise if name in asked]
    if noise:
        names = ", ".join(noise)
        which = names if len(names) < MAX_NAMES_LENGTH else f"{len(noise)} features"
        yield f"The pilot's own estimates are mostly noise for {which}: what it assumes there is uncertain."


def make_rare_shares(labels: int) -> LabelShares:
    """Return shares of the labels of which the first is rare, and all others are equally frequent."""
    share = min(_RARE_SHARE, 1 / (2 * labels))
    return share, *[(1 - share) / (labels - 1)] * (labels - 1)


def _assumptions_without_pilot(size: Size) -> Iterator[str]:
    labels = size.plan.label.values
    if size.label_shares:
        yield f"Shares of the labels, as given: {_format_shares(labels, size.label_shares)}."
        yield _UNIFORM_ASSUMPTION.format(labels="")
        return
    yield _UNIFORM_ASSUMPTION.format(labels="labels and all ")
    share, others, *_ = make_rare_shares(len(labels))
    example = ",".join(
        f"{name}={value:.2g}" for name, value in zip(labels[:2], (share, others), strict=True)
    ) + (",..." if len(labels) > 2 else "")
    if times := _compute_rare_label_factor(size.plan):
        yield _RARE_LABEL.format(times=times, share=share, example=example)


def _compute_rare_label_factor(plan: Plan) -> float | None:
    """Return how many times as many people the widest margin needs if the first label is rare.

    With many people a margin is proportional to one over the root of their number. None if the survey asks
    about no feature.
    """
    k = len(plan.label.values)
    margins = []
    for prior in (np.full(k, 1 / k), np.array(make_rare_shares(k))):
        expected = ExpectedTotals(plan, SyntheticPopulation.uniform(plan, prior))
        found = compute_expected_margins(expected, _MANY_PEOPLE)[1:]
        if not found:
            return None
        margins.append(max(margin.share for margin in found))
    return (margins[1] / margins[0]) ** 2


def _format_shares(labels: Sequence[str], shares: Sequence[float]) -> str:
    return ", ".join(f"{name} {share:.3g}" for name, share in zip(labels, shares, strict=True))
