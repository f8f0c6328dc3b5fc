"""Statements: what follows from results, each computed once and worded once, in a text file.

The facts of a text file are a dataclass. A text with few facts takes them as arguments.
"""

from __future__ import annotations

from ldp_aggregator.wording.statement import Texts

TEXTS = Texts("ldp_aggregator.statements")
