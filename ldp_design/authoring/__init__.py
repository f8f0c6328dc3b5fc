"""Tools for the author of a survey: drafts, overviews, sample rows, projections, signatures."""

from __future__ import annotations

from ldp_aggregator.wording.statement import Texts

TEXTS = Texts("ldp_design.authoring")
