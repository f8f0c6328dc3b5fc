"""The sections of the dossier: their anchors, order, titles and numbers."""

from __future__ import annotations

BOARD_SECTIONS = {
    "summary": "Summary for the board",
    "purpose": "Purpose, contact, approval, retention",
    "asked": "What is asked",
    "flow": "What happens to an answer, and who sees what",
    "visible": "What stays visible",
    "epsilon": "How much a report can reveal",
    "accuracy": "Can the survey reach its aim?",
    "not-covered": "What must be checked, and what is not protected",
    "withdrawal": "What is stored, and what can be taken back",
    "audit": "The audit",
    "consent": "Draft of a consent text",
    "questions": "Questions that participants ask",
    "checklist": "What the author must still state",
}
"""The sections of part I, for the board, by their anchors."""
ANNEX_SECTIONS = {
    "sample": "A report, byte by byte",
    "proof": "Epsilon and its proof",
    "margins": "The expected precision in detail",
    "audit-detail": "The audit in detail",
    "commands": "Commands that repeat the computations",
}
"""The sections of part II, the technical annex, by their anchors."""
SECTIONS = BOARD_SECTIONS | ANNEX_SECTIONS
"""All sections in their order."""


def section(anchor: str) -> str:
    """Return how a sentence names a section, for example "section 5"."""
    return f"section {list(SECTIONS).index(anchor) + 1}"
