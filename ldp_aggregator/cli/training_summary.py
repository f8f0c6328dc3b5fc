"""The summary that ldp-train prints: data, estimates, validation, checks, privacy and warnings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ldp_aggregator.codec import to_json
from ldp_aggregator.render.document import Note, Section
from ldp_aggregator.render.terminal import write_document
from ldp_aggregator.results import Results
from ldp_aggregator.statements import TEXTS
from ldp_aggregator.statements.rules import UNKNOWN_SHARE
from ldp_aggregator.statements.warnings import find_warnings
from ldp_aggregator.views.estimate_rows import DEVIATION, EstimateRow, build_table
from ldp_aggregator.views.feature_sections import build_classes, build_features, build_shares
from ldp_aggregator.views.sections import (
    build_data,
    build_fake_reports,
    build_model,
    build_privacy,
    build_validation,
    build_warnings,
    drop_empty,
    list_mechanisms,
)
from ldp_aggregator.views.table_sections import build_tables
from ldp_aggregator.wording.values import RoundShare

_ALL_ROWS = "--csv FILE writes all of them, with raw estimates and intervals"


def format_summary(results: Results) -> str:
    """Return the summary of a training."""
    table = build_table(results.estimates, results.plan)
    unknown = {"unknown_share": RoundShare(UNKNOWN_SHARE)}
    sections = [
        _append(build_shares(results, table), Note(TEXTS.find("tables.terminal-shares", **unknown))),
        build_tables(results, table),
        _append(build_data(results), *_explain_features(results)),
        *(_build_class_sections(results, table, unknown) if results.estimates.has_label else []),
        build_validation(results),
        build_fake_reports(results),
        build_privacy(results),
        build_model(results),
        build_warnings(results),
    ]
    return write_document(drop_empty(sections), _ALL_ROWS)


def dump_summary(results: Results) -> str:
    """Return what the summary shows as JSON."""
    document = {
        "survey": results.plan.id,
        "plan_digest": results.plan.digest,
        "privacy": to_json(results.privacy),
        "estimates": results.estimates.as_dict(),
        "warnings": list(map(str, find_warnings(results.estimates))),
    }
    return json.dumps(document, allow_nan=False)


def _explain_features(results: Results) -> list[Note]:
    label = results.plan.label
    relevance = [Note(TEXTS.find("tables.terminal-relevance", label=label.name))] if label.exists else []
    return [*relevance, *list_mechanisms(results)]


def _build_class_sections(
    results: Results, table: Sequence[EstimateRow], unknown: Mapping[str, object]
) -> list[Section]:
    legend = [TEXTS.find("tables.terminal", **unknown)]
    if any(row.statistic == DEVIATION for row in table):
        legend.append(TEXTS.find("tables.terminal-deviation"))
    return [
        _append(build_classes(results, table), Note(TEXTS.find("tables.terminal-prior"))),
        _append(build_features(results, table), *map(Note, legend)),
    ]


def _append(section: Section, *notes: Note) -> Section:
    return replace(section, parts=[*section.parts, *notes])


def format_rejection_counts(rejections: Mapping[str, int]) -> str:
    """Return the numbers of rejected reports by reason."""
    return ", ".join(f"{count} {reason}" for reason, count in sorted(rejections.items()))
