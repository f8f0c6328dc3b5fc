"""Reads an audit of a survey's plan for the dossier."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from encoders.survey import Plan
from ldp_aggregator.privacy_statement import read_audit_document

_DATED = ("date", "audited_at", "client", "version")
"""Entries that an audit may have about its date and the version of the client."""


@dataclass(frozen=True, kw_only=True)
class AuditSummary:
    """An audit of a plan."""

    name: str
    """The name of its file."""
    passed: bool
    bound: float
    """The largest lower bound on epsilon of all questions and pairs of people."""
    trials: int
    """Number of messages of each made-up person."""
    faults: tuple[str, ...]
    notes: tuple[str, ...]
    """What this audit could not detect with its number of messages."""
    dated: tuple[tuple[str, str], ...]
    """What the file contains about its date and the version of the client."""


def read_audit_summary(path: Path, plan: Plan) -> AuditSummary:
    """Read what ``ldp-audit --json`` printed.

    Raises
    ------
    AuditError
        If the file is not an audit, or is the audit of another plan.
    """
    checked, document = read_audit_document(path, plan)
    return AuditSummary(
        name=displayable_name(path),
        passed=checked.passed,
        bound=checked.bound,
        trials=checked.trials,
        faults=_list_texts(document.get("faults")),
        notes=_list_texts(document.get("notes")),
        dated=tuple((key, str(document[key])) for key in _DATED if key in document),
    )


def displayable_name(path: Path) -> str:
    """Return the name of a file; bytes that are not UTF-8 become question marks."""
    return path.name.encode(errors="replace").decode()


def _list_texts(entry: Any) -> tuple[str, ...]:
    return tuple(map(str, entry)) if isinstance(entry, list) else ()
