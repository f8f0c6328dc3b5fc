"""Draws estimates with their intervals as small inline SVG images, which screen readers skip."""

from __future__ import annotations

import math
from dataclasses import dataclass

from markupsafe import Markup

from ldp_aggregator.wording.values import Format

COLOURS = 10
"""Number of colours of classes in style.css."""
_PARTS = 4
_AXIS_ENDS = (0.1, 0.2, 0.4, 0.6, 0.8)
_MIDDLE, _HEIGHT, _BAR_HEIGHT, _CAP = 11, 22, 12, 4


@dataclass(frozen=True)
class Axis:
    low: float
    high: float

    def place(self, number: float) -> str:
        """Return the position of a number as a percentage of the width; beyond the axis, its end."""
        share = (number - self.low) / (self.high - self.low)
        return f"{100 * min(max(share, 0.0), 1.0):.2f}%"

    def labels(self, write: Format) -> tuple[str, str, str]:
        return write(self.low), write((self.low + self.high) / 2), write(self.high)


def choose_share_axis(highest: float) -> Axis:
    """Return the axis of shares: from 0 to the first round number that is not below the highest end."""
    return Axis(0.0, next((end for end in _AXIS_ENDS if end >= highest), 1.0))


def choose_positive_axis(highest: float, maximum: float) -> Axis:
    """Return the axis of a number that is at least 0: to a number of one or two digits, at most `maximum`."""
    if not 0 < highest < maximum:
        return Axis(0.0, maximum)
    unit = 10.0 ** math.floor(math.log10(highest))
    return Axis(0.0, min(unit * math.ceil(2 * highest / unit) / 2, maximum))


@dataclass(frozen=True, kw_only=True)
class Mark:
    value: float
    single: tuple[float, float]
    simultaneous: tuple[float, float] | None = None
    """The low and high ends of the intervals."""
    colour: int = 0
    from_zero: bool = True
    """Whether it is drawn as a bar from the axis' low end; otherwise as a dot."""
    trend: tuple[float, float, float] | None = None
    """Where a dashed line through the rows enters the row, is in its middle, and leaves it."""


def draw_mark(axis: Axis, mark: Mark | None) -> Markup:
    """Return the image of one row; without a mark, the axis' lines alone."""
    parts = [_draw_line(f"{100 * part / _PARTS:.0f}%", "grid") for part in range(_PARTS + 1)]
    if mark:
        value, name = axis.place(mark.value), f"class-{mark.colour % COLOURS}"
        if mark.from_zero:
            top = _MIDDLE - _BAR_HEIGHT // 2
            parts.append(f'<rect class="bar {name}" x="0" y="{top}" width="{value}" height="{_BAR_HEIGHT}"/>')
        if mark.trend:
            first, middle, last = map(axis.place, mark.trend)
            parts.append(f'<line class="trend" x1="{first}" y1="-6" x2="{middle}" y2="{_MIDDLE}"/>')
            parts.append(f'<line class="trend" x1="{middle}" y1="{_MIDDLE}" x2="{last}" y2="{_HEIGHT + 6}"/>')
        if mark.simultaneous:
            parts.append(_draw_whisker(axis, mark.simultaneous, "wide"))
        parts.append(_draw_whisker(axis, mark.single, "single"))
        if not mark.from_zero:
            parts.append(f'<circle class="dot {name}" cx="{value}" cy="{_MIDDLE}" r="5"/>')
    size = f'width="100%" height="{_HEIGHT}"'
    return Markup(f'<svg class="chart" {size} aria-hidden="true" focusable="false">{"".join(parts)}</svg>')  # noqa: S704 - numbers and constants only


def _draw_whisker(axis: Axis, ends: tuple[float, float], name: str) -> str:
    low, high = (axis.place(end) for end in ends)
    line = f'<line class="{name}" x1="{low}" y1="{_MIDDLE}" x2="{high}" y2="{_MIDDLE}"/>'
    return line + "".join(
        f'<line class="{name}" x1="{end}" y1="{_MIDDLE - _CAP}" x2="{end}" y2="{_MIDDLE + _CAP}"/>'
        for end in (low, high)
    )


def _draw_line(x: str, name: str) -> str:
    return f'<line class="{name}" x1="{x}" y1="0" x2="{x}" y2="{_HEIGHT}"/>'
