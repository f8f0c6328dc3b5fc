"""Renders a comparison as a page: one HTML file without scripts, other files or requests."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from jinja2 import Template
from markupsafe import Markup

from ldp_aggregator.render.html import load_template
from ldp_aggregator.render.text_table import PlainTable
from ldp_design.comparison.needed_trust import choose_targets, tabulate_targets
from ldp_design.comparison.people import NoiseLevels
from ldp_design.comparison.picture import draw_level_swatch, draw_picture, draw_swatch
from ldp_design.comparison.recommendation import recommend
from ldp_design.comparison.result import TrustComparison
from ldp_design.comparison.statements import (
    ADJACENCY_NOTE,
    LABELS_NOTE,
    UNCOVERED,
    describe_cost,
    describe_setting,
    describe_target,
)
from ldp_design.comparison.tables import explain_targets, list_accuracies
from ldp_design.comparison.trusts import LABELS
from ldp_design.comparison.unprotected import TITLES

_TERMS = {
    "Trust model": "Who sees true answers. local: nobody, each device randomises one answer. silo:N: each "
    "of N organisations sees its own rows, and sends counts with noise once. central: a curator sees all "
    "rows, and publishes a model with noise. none: no protection.",
    "Weakest trust model": "The one in which people must trust the fewest others: local before silo:N, more "
    "silos before fewer, then central.",
    "95% interval": "It contains the mean over all splits of rows like these in 19 of 20 comparisons. It "
    "allows for the rows that splits share. The intervals are not simultaneous.",
    "The epsilon that a trust model needs": "The accuracy is reached from it on. It is interpolated between "
    "the compared values in log epsilon. Beyond the smallest and the largest value nothing was measured.",
    "The people that local needs": "With as many people, the estimates of a local survey have the variance "
    "that they have at the larger epsilon. The number assumes that the same variance gives the same "
    "accuracy.",
}


def render_comparison(comparison: TrustComparison, levels: NoiseLevels | None, target: float | None) -> bytes:
    """Return the page in UTF-8; the same arguments give the same bytes.

    Parameters
    ----------
    comparison : TrustComparison
    levels : NoiseLevels, optional
        For the number of people that a local survey needs.
    target : float, optional
        The wanted accuracy.
    """
    plan = comparison.plan
    head, rows = list_accuracies(comparison, "±")
    return (
        _load_template()
        .render(
            title=plan.texts.about.get("title") if plan.texts else None,
            survey=plan.id,
            digest=plan.digest,
            uncovered=UNCOVERED,
            advice=recommend(comparison, target),
            setting=describe_setting(comparison),
            wanted=describe_target(comparison, target) if target else None,
            cost=describe_cost(comparison, levels),
            targets=_build_targets(comparison),
            targets_note=explain_targets(comparison),
            accuracies=PlainTable(
                caption="Accuracy in %, ± half of its 95% interval",
                head=head,
                rows=rows,
                numeric=set(range(3, len(head))),
            ),
            notes=list_notes(comparison),
            picture=draw_picture(comparison, target),
            keys=list(_list_keys(comparison, target)),
            terms=list(_TERMS.items()),
        )
        .encode()
    )


def list_notes(comparison: TrustComparison) -> list[str]:
    """Return what is below the table of accuracies."""
    return [ADJACENCY_NOTE, *([LABELS_NOTE] if comparison.find(LABELS) else [])]


def _build_targets(comparison: TrustComparison) -> PlainTable | None:
    targets = choose_targets(comparison.majority.high, comparison.ceiling.value)
    if not targets or not comparison.ranked:
        return None
    return PlainTable(
        caption="Weakest trust model at each epsilon",
        head=["accuracy", *(f"eps {epsilon:g}" for epsilon in comparison.epsilons)],
        rows=tabulate_targets(comparison, targets),
    )


def _list_keys(comparison: TrustComparison, target: float | None) -> Iterator[tuple[Markup, str]]:
    for place, curve in enumerate(comparison.curves):
        yield draw_swatch(place), f"{curve.trust.text}: {curve.trust.meaning}"
    yield draw_level_swatch("ceiling"), f"without protection: {TITLES[comparison.best_learner]}"
    yield draw_level_swatch("majority"), "always the most frequent class"
    if target:
        yield draw_level_swatch("target"), "the wanted accuracy"


@cache
def _load_template() -> Template:
    return load_template("ldp_design.comparison", "compare.html", "compare.css")
