"""Draws the estimates of several waves with their intervals, and the smoothed trend as a dashed line.

The image is inline SVG without text, like those of :mod:`interval`; it has the width of its cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from ldp_aggregator.render.interval import Axis

_HEIGHT, _TOP, _CAP = 96, 6, 3


@dataclass(frozen=True, kw_only=True)
class WaveMark:
    """One wave."""

    place: float
    """Where it is, from 0 (the first wave) to 1."""
    value: float
    single: tuple[float, float]
    simultaneous: tuple[float, float]
    smooth: float
    """The smoothed trend."""
    unfinished: bool


def draw_trend(axis: Axis, marks: Sequence[WaveMark]) -> Markup:
    """Return the image of one figure; `axis` is vertical."""
    parts = [
        f'<line class="grid" x1="0" y1="{y:g}" x2="100%" y2="{y:g}"/>'
        for y in (_place(axis, end) for end in (axis.low, (axis.low + axis.high) / 2, axis.high))
    ]
    for one, other in pairwise(marks):
        ends = (_x(one), _place(axis, one.smooth), _x(other), _place(axis, other.smooth))
        parts.append('<line class="smooth" x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}"/>'.format(*ends))
    for mark in marks:
        whiskers = _draw_whisker(axis, mark.simultaneous, "wide") + _draw_whisker(axis, mark.single, "single")
        kind = "dot open" if mark.unfinished else "dot class-0"
        dot = f'<circle class="{kind}" cx="0" cy="{_place(axis, mark.value):.1f}" r="4"/>'
        # the origin of the inner image is at the wave, so that caps have a fixed width
        parts.append(f'<svg x="{_x(mark)}" overflow="visible">{whiskers}{dot}</svg>')
    size = f'width="100%" height="{_HEIGHT}"'
    return Markup(f'<svg class="chart" {size} aria-hidden="true" focusable="false">{"".join(parts)}</svg>')  # noqa: S704 - numbers and constants only


def _x(mark: WaveMark) -> str:
    return f"{2 + 96 * mark.place:.2f}%"


def _place(axis: Axis, number: float) -> float:
    share = (number - axis.low) / (axis.high - axis.low)
    return _HEIGHT - _TOP - (_HEIGHT - 2 * _TOP) * min(max(share, 0.0), 1.0)


def _draw_whisker(axis: Axis, ends: tuple[float, float], name: str) -> str:
    low, high = (f"{_place(axis, end):.1f}" for end in ends)
    return f'<line class="{name}" x1="0" y1="{low}" x2="0" y2="{high}"/>' + "".join(
        f'<line class="{name}" x1="-{_CAP}" y1="{end}" x2="{_CAP}" y2="{end}"/>' for end in (low, high)
    )
