"""Builds the section on the audit of the plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ldp_aggregator.dossier.audit_file import AuditSummary
from ldp_aggregator.dossier.source import DossierSource
from ldp_aggregator.dossier.statement import Statement, assumed, computed
from ldp_aggregator.results.statements import describe_audit

_BLIND_SPOTS = (
    (
        "A leak of a few percent of epsilon: with 20,000 messages an epsilon that is overspent by 10% is not "
        "detected."
    ),
    "A leak for rare values or combinations of values, which the audit does not compare.",
    "An answer that is hidden in the report's id, or encrypted with a key.",
    "Noise from a generator that was seeded where the audit cannot look.",
    "Addresses, encryption, the moment of sending, files, logs, and other connections of the application.",
    "A client that recognises the audit, and an application that sends the answers elsewhere.",
    "People who send no report because they cannot answer.",
)


def build_audit(source: DossierSource) -> dict[str, Any]:
    """Return the result of the audit, and what no audit detects."""
    statements = list(_describe(source, source.audit)) if source.audit else [describe_missing(source)]
    return {
        "statements": statements,
        "blind_spots": [assumed(text) for text in _BLIND_SPOTS],
    }


def describe_missing(source: DossierSource) -> Statement:
    """Return that no audit was given, with the command that makes one."""
    text = f"No audit was given. This command makes one: {source.audit_command}"
    return computed(text, source.dossier_command)


def describe_result(source: DossierSource, audit: AuditSummary) -> Statement:
    """Return whether the audit passed, and its lower bound."""
    return computed(
        f"{describe_audit(audit.passed)} Its lower bound on epsilon is {audit.bound:.4f}; the survey states "
        f"{source.epsilon}.",
        source.audit_command,
    )


def _describe(source: DossierSource, audit: AuditSummary) -> Iterator[Statement]:
    command = source.audit_command
    yield describe_result(source, audit)
    yield computed(
        "The bound is a lower bound: the messages show that epsilon is at least this large. It does not show "
        "that epsilon is no larger. The proof in section 7 gives the upper bound for the tables; the audit "
        "shows whether the installed client behaves like them.",
        command,
    )
    yield computed(
        f"The audit compared {audit.trials:,} messages of each made-up person. It is of exactly this plan: "
        f"the digests are equal ({source.plan.digest}).",
        command,
    )
    yield from (computed(f"Fault: {each}", command) for each in audit.faults)
    yield from (computed(f"Note: {each}", command) for each in audit.notes)
    if audit.dated:
        facts = "; ".join(f"{key}: {value}" for key, value in audit.dated)
        yield computed(f"Date and version as the file {audit.name} states them: {facts}.", command)
    else:
        yield assumed(
            f"The file {audit.name} contains neither its date nor the version of the client. File both "
            "beside it. Another version of the client needs an audit of its own."
        )
