"""Renders a comparison as a page: one HTML file with a picture, without scripts, other files or requests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from encoders.survey.display_texts import display_texts
from ldp_aggregator.render.html import load_template
from ldp_design.comparison.statements import TEXTS, explain_trust, state_comparison
from ldp_design.comparison.trust_comparison import Mean, NoiseLevels, TrustComparison

# -- the picture ------------------------------------------------------------------------------------


_WIDTH, _HEIGHT = 480, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 466, 14, 284
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
_MAX_TICKS = 10
_SHIFT, _CAP, _SIZE = 3.0, 3, 4.5
"""Lines are shifted sideways by this, so that their intervals do not hide each other."""
COLOURS = 7
_SHAPES: Sequence[Callable[[float, float], str]] = (
    lambda x, y: f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_SIZE}"/>',
    lambda x, y: f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>',
    lambda x, y: f'<path d="M{x:.1f} {y - 5.5:.1f}l5.5 9.5h-11z"/>',
    lambda x, y: f'<path d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z"/>',
)


@dataclass(frozen=True)
class Scale:
    """The axes: log epsilon from left to right, accuracy from bottom to top."""

    epsilons: tuple[float, ...]
    low: float
    high: float

    def x(self, epsilon: float) -> float:
        first, last = math.log(self.epsilons[0]), math.log(self.epsilons[-1])
        share = (math.log(epsilon) - first) / (last - first) if last > first else 0.5
        return _LEFT + 22 + share * (_RIGHT - _LEFT - 44)

    def y(self, accuracy: float) -> float:
        """Return the vertical position of an accuracy; outside the axis, its end."""
        share = (min(max(accuracy, self.low), self.high) - self.low) / (self.high - self.low)
        return _BOTTOM - share * (_BOTTOM - _TOP)


def draw_picture(comparison: TrustComparison, target: float | None = None) -> Markup:
    means = [[comparison.average(each) for each in curve.accuracies] for curve in comparison.curves]
    ends = [end for line in means for mean in line for end in (mean.low, mean.high)]
    levels = [comparison.ceiling.value, comparison.majority.value, *([target] if target else [])]
    lowest, highest = max(min(*ends, *levels), 0.0), min(max(*ends, *levels), 1.0)
    step = next((each for each in _STEPS if (highest - lowest) / each <= _MAX_TICKS - 2), _STEPS[-1])
    low = step * math.floor(lowest / step + 1e-9)
    high = max(step * math.ceil(highest / step - 1e-9), low + step)
    scale = Scale(comparison.epsilons, low, high)
    parts = [*_draw_axes(scale, step)]
    parts += _draw_level(scale, comparison.ceiling.value, "ceiling")
    parts += _draw_level(scale, comparison.majority.value, "majority")
    parts += _draw_level(scale, target, "target") if target else []
    for index, line in enumerate(means):
        parts += _draw_line(scale, index, line, _SHIFT * (index - (len(means) - 1) / 2))
    names = ", ".join(curve.trust.text for curve in comparison.curves)
    return Markup(  # noqa: S704 - numbers, constants and escaped names
        f'<svg class="curves" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="Accuracy against epsilon of {escape(names)}">{"".join(parts)}</svg>'
    )


def draw_swatch(index: int) -> Markup:
    """Return the line and the mark of a curve, for the legend."""
    return Markup(  # noqa: S704 - numbers and constants
        f'<svg class="swatch" viewBox="0 0 30 14" width="30" height="14" aria-hidden="true">'
        f'<g class="line-{index % COLOURS}"><path class="line" d="M1 7h28"/>{_draw_mark(index, 15, 7)}</g>'
        "</svg>"
    )


def draw_level_swatch(name: str) -> Markup:
    """Return the line of a level, for the legend: "ceiling", "majority" or "target"."""
    return Markup(  # noqa: S704 - constants
        f'<svg class="swatch" viewBox="0 0 30 14" width="30" height="14" aria-hidden="true">'
        f'<path class="level {name}" d="M1 7h28"/></svg>'
    )


def _draw_axes(scale: Scale, step: float) -> Iterator[str]:
    for tick in range(round((scale.high - scale.low) / step) + 1):
        accuracy = scale.low + tick * step
        y = scale.y(accuracy)
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{_RIGHT}"/>'
        yield f'<text x="{_LEFT - 7}" y="{y + 5:.1f}" text-anchor="end">{100 * accuracy:.0f}%</text>'
    free = -math.inf
    for epsilon in scale.epsilons:
        x, text = scale.x(epsilon), f"{epsilon:g}"
        yield f'<path class="grid" d="M{x:.1f} {_BOTTOM}v5"/>'
        if x - 4 * len(text) >= free:
            yield f'<text x="{x:.1f}" y="{_BOTTOM + 20}" text-anchor="middle">{text}</text>'
            free = x + 4 * len(text) + 6
    middle = (_LEFT + _RIGHT) / 2
    yield f'<text x="{middle}" y="{_HEIGHT - 5}" text-anchor="middle">epsilon (log scale)</text>'


def _draw_level(scale: Scale, accuracy: float, name: str) -> Iterator[str]:
    yield f'<path class="level {name}" d="M{_LEFT} {scale.y(accuracy):.1f}H{_RIGHT}"/>'


def _draw_line(scale: Scale, index: int, means: Sequence[Mean], shift: float) -> Iterator[str]:
    points = [(scale.x(each) + shift, mean) for each, mean in zip(scale.epsilons, means, strict=True)]
    path = "L".join(f"{x:.1f} {scale.y(mean.value):.1f}" for x, mean in points)
    yield f'<g class="line-{index % COLOURS}"><path class="line" d="M{path}"/>'
    for x, mean in points:
        low, high = scale.y(mean.low), scale.y(mean.high)
        ends = "".join(f"M{x - _CAP:.1f} {y:.1f}h{2 * _CAP}" for y in (low, high))
        yield f'<path class="interval" d="M{x:.1f} {low:.1f}V{high:.1f}{ends}"/>'
        yield _draw_mark(index, x, scale.y(mean.value))
    yield "</g>"


def _draw_mark(index: int, x: float, y: float) -> str:
    return _SHAPES[index % len(_SHAPES)](x, y)


# -- the page ---------------------------------------------------------------------------------------


def render_comparison(comparison: TrustComparison, levels: NoiseLevels | None, target: float | None) -> bytes:
    """Return the page in UTF-8; the arguments of :func:`state_comparison` give the same bytes."""
    plan = comparison.plan
    page = load_template("ldp_design.comparison", "compare.html", "compare.css")
    return page.render(
        title=display_texts(plan).about.get("title"),
        survey=plan.id,
        digest=plan.digest,
        found=state_comparison(comparison, levels, target),
        picture=draw_picture(comparison, target),
        trusts=[(curve.trust.text, explain_trust(curve.trust)) for curve in comparison.curves],
        is_wanted=bool(target),
        draw_swatch=draw_swatch,
        draw_level_swatch=draw_level_swatch,
        terms=TEXTS.section("terms"),
    ).encode()
