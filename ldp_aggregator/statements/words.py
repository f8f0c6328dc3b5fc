"""The words of all statements on results, see the folder `texts`."""

from __future__ import annotations

from ldp_aggregator.wording.texts import Texts

TEXTS = Texts("ldp_aggregator.statements")
