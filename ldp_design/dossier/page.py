"""Renders the dossier: one HTML file without scripts, other files or requests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Template

from encoders import __version__
from ldp_aggregator.render.html import load_template
from ldp_design.dossier.asked import build_declarations, build_questions, title_of
from ldp_design.dossier.audit import build_audit, build_audit_detail
from ldp_design.dossier.checklist import list_missing_facts
from ldp_design.dossier.conditions import list_conditions, list_not_protected
from ldp_design.dossier.consent import build_consent
from ldp_design.dossier.data_flow import describe_message, draw_flow, list_places, list_stations
from ldp_design.dossier.margins import build_margins
from ldp_design.dossier.participant import list_answers
from ldp_design.dossier.precision import build_precision
from ldp_design.dossier.privacy import build_privacy
from ldp_design.dossier.proof import build_proof
from ldp_design.dossier.sample_report import build_sample
from ldp_design.dossier.sections import ANNEX_SECTIONS, BOARD_SECTIONS, section
from ldp_design.dossier.source import DossierSource, PlanSource
from ldp_design.dossier.statement import Basis, find_common_mark
from ldp_design.dossier.storage import list_storage, list_withdrawal
from ldp_design.dossier.summary import build_summary
from ldp_design.dossier.visible import list_visible


def render_dossier(source: DossierSource) -> bytes:
    """Return the dossier in UTF-8; the same source gives the same bytes."""
    return _load_template().render(build_view(source)).encode()


def build_frame(source: PlanSource, board: Mapping[str, str], annex: Mapping[str, str]) -> dict[str, Any]:
    """Return what the template shows around the sections of both parts."""
    numbered = enumerate([*board.items(), *annex.items()], 1)
    return {
        "sections": {anchor: f"{number}. {title}" for number, (anchor, title) in numbered},
        "parts": {"board": list(board), "annex": list(annex)},
        "common_mark": find_common_mark,
        "bases": {each.name.lower(): each.value for each in Basis},
        "title": title_of(source.plan),
        "survey": source.plan.id,
        "digest": source.plan.digest,
        "version": __version__,
        "file": source.file,
        "commands": list(source.commands.items()),
        "numbers": {command: number for number, command in enumerate(source.commands, 1)},
    }


def build_view(source: DossierSource) -> dict[str, Any]:
    """Return what the template shows."""
    stations = list_stations(source)
    return build_frame(source, BOARD_SECTIONS, ANNEX_SECTIONS) | {
        "section": section,
        "programs": "the application and the collector",
        "summary": build_summary(source),
        "declarations": build_declarations(source),
        "asked": build_questions(source),
        "flow": {
            "drawing": draw_flow(stations),
            "places": list_places(stations),
            "message": describe_message(source),
        },
        "visible": list_visible(source),
        "privacy": build_privacy(source),
        "precision": build_precision(source),
        "conditions": list_conditions(source),
        "not_protected": list_not_protected(),
        "storage": list_storage(source),
        "withdrawal": list_withdrawal(source),
        "audit": build_audit(source),
        "consent": build_consent(source),
        "answers": list_answers(source),
        "checklist": list(list_missing_facts(source)),
        "sample": build_sample(source),
        "proof": build_proof(source),
        "margins": build_margins(source),
        "audit_detail": build_audit_detail(source),
    }


@cache
def _load_template() -> Template:
    return load_template("ldp_design.dossier", "dossier.html", "dossier.css")
