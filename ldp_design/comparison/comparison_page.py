"""Renders a comparison as a page: one HTML file without scripts, other files or requests."""

from __future__ import annotations

from encoders.survey.display_texts import display_texts
from ldp_aggregator.render.html import load_template
from ldp_design.comparison.findings import TEXTS, explain_trust, state_findings
from ldp_design.comparison.noise_levels import NoiseLevels
from ldp_design.comparison.picture import draw_level_swatch, draw_picture, draw_swatch
from ldp_design.comparison.trust_comparison import TrustComparison


def render_comparison(comparison: TrustComparison, levels: NoiseLevels | None, target: float | None) -> bytes:
    """Return the page in UTF-8; the same arguments, those of :func:`state_findings`, give the same bytes."""
    plan = comparison.plan
    page = load_template("ldp_design.comparison", "compare.html", "compare.css")
    return page.render(
        title=display_texts(plan).about.get("title"),
        survey=plan.id,
        digest=plan.digest,
        found=state_findings(comparison, levels, target),
        picture=draw_picture(comparison, target),
        trusts=[(curve.trust.text, explain_trust(curve.trust)) for curve in comparison.curves],
        is_wanted=bool(target),
        draw_swatch=draw_swatch,
        draw_level_swatch=draw_level_swatch,
        terms=TEXTS.section("terms", {}),
    ).encode()
