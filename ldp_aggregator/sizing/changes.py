"""What to change of a survey of which some feature is noise, in plain words."""

from __future__ import annotations

from collections.abc import Iterator

from encoders.explain.text import wrap_text
from encoders.text_table import format_table
from ldp_aggregator.authoring.overview import DEFAULT_MAX_EPSILON
from ldp_aggregator.sizing.size import Size

NAMES = 60
"""Longer lists of features are left out."""


def epsilon_of(size: Size) -> str:
    """Return the survey's epsilon as it is written."""
    return f"{size.survey.epsilon.normalize():f}"


def changes(size: Size) -> Iterator[str]:
    """Say which change is enough by itself, and apart from these which is not."""
    enough, vain = list(_remedies(size)), list(_vain(size))
    if enough:
        yield "Any one of these makes every feature useful:"
        yield from format_table(enough, "<<")
    if vain:
        yield from wrap_text(f"Not enough by themselves: {', '.join(vain)}.")


def _remedies(size: Size) -> Iterator[list[str]]:
    found = size.remedies
    assert found is not None
    if found.users is not None:
        yield ["  more people", f"{found.users:,} instead of {size.users:,}"]
    if found.told is not None:
        said = "none" if size.survey.users is None else f"{size.survey.users:,}"
        yield ["  users in [survey]", f"{found.told:,} instead of {said}: the label is asked for alone less"]
    if found.epsilon is not None:
        yield ["  a larger epsilon", f"{found.epsilon:f} instead of {epsilon_of(size)}"]
    if found.features is not None:
        named = ", ".join(found.features)
        kept = f": {named}" if len(named) < NAMES else ""
        yield ["  fewer features", f"{len(found.features)} instead of {len(size.margins) - 1}{kept}"]
    if found.values is not None:
        yield ["  fewer values or bins", f"at most {found.values} for each feature, a missing answer aside"]


def _vain(size: Size) -> Iterator[str]:
    """Name the changes of which none is enough."""
    found = size.remedies
    assert found is not None
    if found.users is None:
        yield "more people"
    if found.epsilon is None and size.survey.epsilon < DEFAULT_MAX_EPSILON:
        yield f"an epsilon up to {DEFAULT_MAX_EPSILON}, the most that clients grant by default"
    if found.features is None and len(size.margins) > 2:
        yield "fewer features"
    if found.values is None and any(each.values for each in size.margins[1:]):
        yield "fewer values or bins"
