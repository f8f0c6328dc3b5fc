"""Statements: what follows from results, each computed once and worded once, in a text file."""

from __future__ import annotations

from ldp_aggregator.wording.statement import Texts

TEXTS = Texts("ldp_aggregator.statements")
