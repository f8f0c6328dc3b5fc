"""Renders the dossier: one HTML file without scripts, other files or requests."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Template

from encoders import __version__
from ldp_aggregator.dossier.accuracy import build_accuracy
from ldp_aggregator.dossier.asked import build_declarations, build_questions, title_of
from ldp_aggregator.dossier.audit import build_audit
from ldp_aggregator.dossier.consent import build_consent, list_answers
from ldp_aggregator.dossier.data_flow import draw_flow, list_places
from ldp_aggregator.dossier.limits import list_not_covered, list_visible, list_withdrawal
from ldp_aggregator.dossier.privacy import build_privacy
from ldp_aggregator.dossier.sample_report import build_sample
from ldp_aggregator.dossier.source import DossierSource
from ldp_aggregator.dossier.statement import Basis
from ldp_aggregator.dossier.summary import build_summary
from ldp_aggregator.results.page.environment import load_template

SECTIONS = {
    "summary": "Summary for the board",
    "purpose": "Purpose, contact, approval, retention",
    "asked": "What is asked",
    "flow": "Data flow: who sees what",
    "sample": "Exactly what leaves the device",
    "visible": "What stays visible",
    "epsilon": "Epsilon as odds",
    "accuracy": "Accuracy to expect",
    "not-covered": "What is not covered",
    "withdrawal": "Retention and withdrawal",
    "audit": "The audit",
    "consent": "Draft of a consent text",
    "questions": "Questions that participants ask",
    "commands": "Commands that repeat the computations",
}
"""The sections by their anchors, in their order; their numbers are in sentences of the other modules."""


def render_dossier(source: DossierSource) -> bytes:
    """Return the dossier in UTF-8; the same source gives the same bytes."""
    return _load_template().render(build_view(source)).encode()


def build_view(source: DossierSource) -> dict[str, Any]:
    """Return what the template shows."""
    return {
        "sections": {
            anchor: f"{number}. {title}" for number, (anchor, title) in enumerate(SECTIONS.items(), 1)
        },
        "bases": {each.name.lower(): each.value for each in Basis},
        "title": title_of(source.plan),
        "survey": source.plan.id,
        "digest": source.plan.digest,
        "version": __version__,
        "file": source.file,
        "commands": list(source.commands.items()),
        "numbers": {command: number for number, command in enumerate(source.commands, 1)},
        "summary": build_summary(source),
        "declarations": build_declarations(source),
        "asked": build_questions(source),
        "flow": {"drawing": draw_flow(source), "places": list_places(source)},
        "sample": build_sample(source),
        "visible": list_visible(source),
        "privacy": build_privacy(source),
        "accuracy": build_accuracy(source),
        "not_covered": list_not_covered(source),
        "withdrawal": list_withdrawal(source),
        "audit": build_audit(source),
        "consent": build_consent(source),
        "answers": list_answers(source),
    }


@cache
def _load_template() -> Template:
    return load_template("ldp_aggregator.dossier", "dossier.html", "dossier.css")
